"""The statements of the plugin, one `.sql` file each, named after what they do.

A line that ends in `-- embedding` is left out where PostgreSQL has no pgvector. A line
`-- include: name` stands for the text of that file, a part that statements share.
"""

import re
from functools import cache
from importlib import resources

_MARK = "-- embedding"
_INCLUDE = re.compile(r"^-- include: (\w+)$", re.MULTILINE)


@cache
def load(name: str, *, embedding: bool = True) -> str:
    """The text of `name.sql`, with or without what needs pgvector."""
    text = (resources.files(__name__) / f"{name}.sql").read_text("utf-8")
    text = _INCLUDE.sub(lambda line: load(line[1], embedding=embedding), text)
    if embedding:
        return text
    return "\n".join(line for line in text.splitlines() if not line.endswith(_MARK))
