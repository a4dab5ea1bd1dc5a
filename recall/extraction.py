"""Preferences, decisions and habits that people state about themselves.

Part of recall's public library; the rules are in `language`.
"""

from language import facts
from language.facts import Fact, Speaker
from language.redaction import redact
from recall.turn import without_block

__all__ = ["Fact", "extract_facts_from_text", "redact"]


def extract_facts_from_text(text: str, speaker: Speaker = "user") -> list[Fact]:
    """The facts that the speaker states; never from a memory block, and it never raises."""
    said = without_block(text) if isinstance(text, str) else ""
    return facts.extract_facts_from_text(said, speaker)
