"""The statements of the plugin; a line that ends in `-- embedding` needs pgvector."""

from functools import cache

from postgres.statements import Statements

_STATEMENTS = Statements(__name__)


@cache
def load(name: str, *, embedding: bool = True) -> str:
    """The text of `name.sql`, with or without what needs pgvector."""
    return _STATEMENTS.load(name, leave_out=None if embedding else "embedding")
