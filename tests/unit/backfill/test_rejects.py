"""The file of rejected rows, and what must not be in it."""

from pathlib import Path

import pytest

from backfill.rejects import Rejects, refusal
from tests.unit.backfill.rows import row


def test_there_is_a_file_once_something_was_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Rejects(None, show_content=False) as rejects:
        assert list(tmp_path.iterdir()) == []
        rejects.add(row(), "blank content")
        assert rejects.path is not None
        assert rejects.path.parent == tmp_path
        assert b"blank content" in rejects.path.read_bytes()
        assert b"sky" not in rejects.path.read_bytes()


def test_a_file_that_was_asked_for_is_there_and_empty(tmp_path: Path) -> None:
    path = tmp_path / "rejects.ndjson"
    path.write_text("of an earlier run")
    with Rejects(path, show_content=False):
        pass
    assert path.read_text() == ""


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("content: must not be blank", True),
        ("bad content: my secret is swordfish", False),
        ("near 'is swordfish, k'", False),
    ],
)
def test_a_message_that_quotes_the_content_is_not_shown(message: str, shown: bool) -> None:
    reason = refusal(400, message, "my secret is swordfish, keep it")
    assert (message in reason) is shown
    assert reason.startswith("refused by the plugin: 400")


def test_short_content_is_not_quoted_either() -> None:
    assert "fish" not in refusal(400, "what is fish", " fish ")
