"""The management token that a server keeps in its data directory."""

from pathlib import Path

import pytest

from recall.access import management_token
from serving.errors import ServiceError


def test_the_token_is_made_once(tmp_path: Path) -> None:
    token, is_new = management_token(tmp_path / "data")
    assert is_new
    assert management_token(tmp_path / "data") == (token, False)


def test_a_data_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ServiceError, match=r"file/data .*--data-dir"):
        management_token(tmp_path / "file" / "data")
