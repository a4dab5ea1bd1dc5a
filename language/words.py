"""Lists of words, written as people read them."""


def words(text: str) -> frozenset[str]:
    """The words of a text, each once."""
    return frozenset(text.split())
