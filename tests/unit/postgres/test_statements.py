"""Statements are read from the `.sql` files of a package."""

from pathlib import Path

import pytest

from postgres.statements import Statements


def test_an_upgrade_in_place_does_not_change_the_statements_of_a_running_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "upgraded_statements"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "find.sql").write_text("SELECT\n-- include: columns\nFROM memories")
    (package / "columns.sql").write_text("    old -- mark\n    , id")
    monkeypatch.syspath_prepend(tmp_path)
    statements = Statements("upgraded_statements")
    (package / "find.sql").write_text("SELECT new")
    (package / "columns.sql").unlink()
    assert statements.load("find") == "SELECT\n    old -- mark\n    , id\nFROM memories"
    assert statements.load("find", leave_out="mark") == "SELECT\n    , id\nFROM memories"
