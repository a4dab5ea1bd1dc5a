"""JSON objects in a temporary file, one per line, because they may not fit in memory."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson


class Lines:
    """Appends to the file and reads it from the start; readers do not move the writer."""

    def __init__(self) -> None:
        self._file = tempfile.NamedTemporaryFile()  # noqa: SIM115 - closed by `close`

    def add(self, line: dict[str, Any]) -> None:
        """Append one object."""
        self._file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Everything added so far; each reader has its own position."""
        self._file.flush()
        with Path(self._file.name).open("rb") as reader:
            for line in reader:
                yield orjson.loads(line)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()
