"""Preferences, decisions and habits that people state about themselves.

Part of recall's public library; the rules are in `language`.
"""

from language.facts import Fact, extract_facts_from_text
from language.redaction import redact

__all__ = ["Fact", "extract_facts_from_text", "redact"]
