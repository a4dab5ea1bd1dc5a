"""The maps in ARCHITECTURE.md name every module, and only modules that exist."""

import re
from collections.abc import Iterator

import pytest

from tests.unit.test_rooms import MAY_IMPORT, ROOT, modules

PAGE = (ROOT / "ARCHITECTURE.md").read_text()


def mapped(page: str) -> Iterator[tuple[str, bool]]:
    """Each path that a table names, and whether that is in a column of modules.

    A bare name belongs to the room that is named before it in the row, else to the section's.
    """
    section, has_modules = None, False
    for line in page.splitlines():
        if line.startswith("## "):
            rooms = [name for name in re.findall(r"`(\w+)`", line) if name in MAY_IMPORT]
            section = rooms[0] if len(rooms) == 1 else None
        if not line.startswith("|"):
            has_modules = False
            continue
        first, *others = line.strip("|").split("|")
        if first.strip() == "Module":
            has_modules = True
        room = section
        for cell in (first, *others):
            for name in re.findall(r"`([\w./]+)`", cell):
                head, dot, module = name.partition(".")
                if "/" in name:
                    path = name
                elif dot and head in MAY_IMPORT:
                    room, path = head, f"{head}/{module}.py"
                else:
                    path = f"{room}/{name}" if dot else f"{room}/{name}.py"
                yield path, has_modules and cell is first


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_every_module_of_a_room_is_in_its_map(room: str) -> None:
    named = {path for path, _ in mapped(PAGE)} - {f"{room}/"}
    for module in modules(room):
        path = module.relative_to(ROOT)
        if not path.stem.startswith("__"):
            assert named & {str(path), f"{path.parent}/"}, f"{path} is not in ARCHITECTURE.md"


def test_every_module_in_a_map_exists() -> None:
    named = {path for path, is_module in mapped(PAGE) if is_module}
    assert len(named) > 200
    assert sorted(path for path in named if not (ROOT / path).exists()) == []
