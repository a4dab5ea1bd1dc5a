"""What the server uses if a fast component is missing."""

import logging
from typing import Any

import pytest

from serving import service
from serving.protocol import Protocol


def test_the_fast_parts_are_used() -> None:
    assert service._http(Protocol) is Protocol
    assert service._loop() == "uvloop"


def test_a_missing_fast_part_is_logged_as_an_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(_: str) -> Any:
        return None

    monkeypatch.setattr(service, "find_spec", missing)
    assert (service._http(Protocol), service._loop()) == ("h11", "asyncio")
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.ERROR]
    assert "httptools is not installed" in caplog.text
    assert "uvloop is not installed" in caplog.text
