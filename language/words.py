"""Word lists, written as plain text."""


def words(text: str) -> frozenset[str]:
    """The set of words in a text."""
    return frozenset(text.split())
