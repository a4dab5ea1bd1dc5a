"""What a worker remembers of the messages it has added."""

from datetime import UTC, datetime

import pytest

from gateway import recent
from gateway.names import SessionName
from gateway.recent import Added, Recent

TEA, COFFEE = (SessionName("ann", "default", "default", name) for name in ("tea", "coffee"))


def added(content: str) -> Added:
    return Added(content.encode(), "user", "ann", 1_780_000_000_123, content)


def test_messages_are_remembered_once_and_in_order() -> None:
    it = Recent()
    it.remember(TEA, [added("one"), added("two")])
    it.remember(COFFEE, [added("other")])
    it.remember(TEA, [added("three")])
    assert [one.content for one in it.forget(TEA)] == ["one", "two", "three"]
    assert it.forget(TEA) == []
    assert it.forget(COFFEE) == [added("other")]


def test_the_oldest_session_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "_MOST_CHARACTERS", 3000)
    it = Recent()
    it.remember(TEA, [added("a" * 900)])
    it.remember(COFFEE, [added("b" * 900)])
    it.remember(COFFEE, [added("c" * 900)])
    assert it.forget(TEA) == []
    assert len(it.forget(COFFEE)) == 2
    it.remember(TEA, [added("d" * 5000)])
    assert it.forget(TEA) == []
    it.remember(TEA, [added("e" * 900), added("f" * 900)])
    assert len(it.forget(TEA)) == 2


def test_a_message_has_its_time_to_the_millisecond() -> None:
    sent_at = datetime(2026, 5, 28, 20, 26, 40, 123_000, tzinfo=UTC)
    assert added("tea").message().sent_at == sent_at
