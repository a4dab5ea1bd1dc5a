"""The statements of the session store, one `.sql` file each, named after what they do."""

from functools import cache
from importlib import resources


@cache
def load(name: str) -> str:
    """The text of `name.sql`."""
    return (resources.files(__name__) / f"{name}.sql").read_text("utf-8")
