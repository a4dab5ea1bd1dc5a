"""What people say about themselves: statements of preference, decision and habit.

The rules are those of `language`; this is where recall's users find them.
"""

from language.facts import Fact, extract_facts_from_text
from language.redaction import redact

__all__ = ["Fact", "extract_facts_from_text", "redact"]
