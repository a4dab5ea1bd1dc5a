"""The statements of a service, one `.sql` file each, named after what they do.

A line `-- include: name` is replaced by the text of that file, which several statements share.
Lines that end in `-- some-mark` can be left out by naming the mark.
"""

import re
from functools import cache
from importlib import resources

_INCLUDE = re.compile(r"^-- include: (\w+)$", re.MULTILINE)


class Statements:
    """The `.sql` files of a package, all read at once.

    So an upgrade in place does not give a server that is still running a statement of the new
    release.
    """

    def __init__(self, package: str) -> None:
        self._texts = {
            file.name.removesuffix(".sql"): file.read_text("utf-8")
            for file in resources.files(package).iterdir()
            if file.name.endswith(".sql")
        }
        self.load = cache(self._load)

    def _load(self, name: str, *, leave_out: str | None = None) -> str:
        """The text of `name.sql`, without the lines that end in `-- ` and the mark."""
        text = _INCLUDE.sub(
            lambda line: self._load(line[1], leave_out=leave_out), self._texts[name]
        )
        if leave_out is None:
            return text
        mark = f"-- {leave_out}"
        return "\n".join(line for line in text.splitlines() if not line.endswith(mark))
