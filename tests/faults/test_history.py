"""The checker works: each history here is wrong in one place."""

from typing import Any

import pytest

from tests.faults.atomic_register import AtomicRegister
from tests.faults.history import History, marks

NS = "workspace:1"


def row(value: str, memory_id: str = "1", **changed: Any) -> dict[str, Any]:
    return {"id": memory_id, "namespace": NS, "content": value, **marks(value), **changed}


@pytest.fixture
def history() -> History:
    """One memory `1`, written as `a` and acknowledged."""
    made = History()
    change = made.write_begins("1", "a", NS, "1")
    made.write_ends(change, "acknowledged", "1")
    return made


def read(history: History, *rows: dict[str, Any]) -> None:
    start = history.called("search", 0.0, "acknowledged")
    end = history.called("search", start, "acknowledged")
    history.saw(rows, start, end, whole=NS)


def test_a_correct_history_has_no_contradiction(history: History) -> None:
    read(history, row("a"))
    change = history.write_begins("1", "b", NS, "1")
    history.write_ends(change, "acknowledged", "1")
    read(history, row("b"))
    history.forget_begins(["1"])
    history.forget_ends(["1"], "acknowledged")
    read(history)
    assert history.contradictions() == []


def test_a_lost_write_is_found(history: History) -> None:
    read(history)
    assert [c.split(" (")[0] for c in history.contradictions()] == [
        "1 lost: absent after it was acknowledged or seen"
    ]


def test_a_write_that_was_seen_and_then_lost_is_found_though_it_was_never_acknowledged() -> None:
    history = History()
    change = history.write_begins("1", "a", NS, "1")
    history.write_ends(change, "unavailable")
    read(history, row("a"))
    assert history.contradictions() == []
    read(history)
    assert "1 lost" in history.contradictions()[0]


def test_a_duplicated_row_is_found(history: History) -> None:
    read(history, row("a"), row("a", memory_id="2"))
    assert "1 doubled: it is 1 and 2" in history.contradictions()
    assert "1 doubled: twice in one answer" in history.contradictions()


def test_a_write_without_an_id_that_landed_twice_is_found_across_answers() -> None:
    history = History()
    change = history.write_begins("a", "a", NS, None)
    history.write_ends(change, "reset")
    read(history, row("a", memory_id="7"))
    read(history, row("a", memory_id="8"))
    assert "a doubled: it is 7 and 8" in history.contradictions()


def test_a_stale_read_is_found(history: History) -> None:
    change = history.write_begins("1", "b", NS, "1")
    history.write_ends(change, "acknowledged", "1")
    read(history, row("a"))
    assert "1 went back in time" in history.contradictions()[0]


def test_a_read_that_goes_back_behind_another_read_is_found(history: History) -> None:
    change = history.write_begins("1", "b", NS, "1")
    history.write_ends(change, "late")
    read(history, row("b"))
    read(history, row("a"))
    assert "1 went back in time" in history.contradictions()[0]


def test_an_acknowledged_update_that_never_showed_is_found(history: History) -> None:
    read(history, row("a"))
    change = history.write_begins("1", "b", NS, "1")
    history.write_ends(change, "acknowledged", "1")
    read(history, row("a"))
    assert "1 went back in time" in history.contradictions()[0]


def test_a_forgotten_memory_that_comes_back_is_found(history: History) -> None:
    history.forget_begins(["1"])
    history.forget_ends(["1"], "acknowledged")
    read(history, row("a"))
    assert "1 came back" in history.contradictions()[0]


@pytest.mark.parametrize("outcome", ["unavailable", "reset", "late"])
def test_a_write_of_unknown_outcome_may_be_there_or_not(outcome: Any) -> None:
    for there in (True, False):
        history = History()
        change = history.write_begins("1", "a", NS, "1")
        history.write_ends(change, outcome)
        read(history, *([row("a")] if there else []))
        assert history.contradictions() == []


def test_what_may_never_have_been_there_can_be_forgotten() -> None:
    history = History()
    change = history.write_begins("1", "a", NS, "1")
    history.write_ends(change, "reset")
    read(history)
    history.forget_begins(["1"])
    history.forget_ends(["1"], "acknowledged")
    read(history)
    assert history.contradictions() == []


def test_half_a_write_is_found(history: History) -> None:
    read(history, row("a", propagation={"of": "b"}))
    assert history.contradictions() == ["1 half: a with parts of another"]


def test_a_row_that_nobody_wrote_is_found(history: History) -> None:
    read(history, row("a"), row("x", memory_id="9"))
    assert history.contradictions() == ["9 made up: no write of x was taken"]


def test_a_refused_write_that_was_stored_is_found(history: History) -> None:
    change = history.write_begins("2", "b", NS, "2")
    history.write_ends(change, "refused")
    read(history, row("a"), row("b", memory_id="2"))
    assert history.contradictions() == ["2 made up: no write of b was taken"]


def test_a_client_that_waited_past_its_timeout_and_a_wrong_answer_are_found() -> None:
    history = History()
    history.called("write", 0.0, "late")
    history.called("search", 0.0, "unavailable", "500 internal")
    assert "write waited" in history.contradictions()[0]
    assert history.contradictions()[1] == "search was answered wrongly: 500 internal"


def test_concurrent_writes_may_be_seen_in_any_order_but_only_in_one() -> None:
    register = AtomicRegister("k")
    for value in ("a", "b"):
        register.write_begins(value, 0.0)
        register.write_ends(value, 10.0)
    register.seen("a", 11.0, 12.0)
    assert list(register.contradictions()) == []
    register.seen("b", 13.0, 14.0)
    assert "went back in time" in next(register.contradictions())


def test_the_repeat_of_a_write_of_unknown_outcome_is_the_same_write() -> None:
    register = AtomicRegister("k")
    register.write_begins("a", 0.0)
    register.write_begins("a", 5.0)
    register.write_ends("a", 6.0)
    register.seen("a", 1.0, 2.0)
    register.seen("a", 7.0, 8.0)
    assert list(register.contradictions()) == []
    register.seen(None, 9.0, 10.0)
    assert "lost" in next(register.contradictions())
