"""The short way through the rules of an add never differs from the long one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import wire
from gateway.additions import plain_addition, read_addition
from gateway.errors import BadRequest

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1,
    1.0,
    2.5,
    "",
    " ",
    ".",
    "..",
    "a\x00b",
    "a\nb",
    "\ud800",
    "ü",
    "😀",
    "5",
    "user",
    "resource:x",
    "memory_edit:x",
    "chat:1",
    "x" * 256,
    "x" * 257,
    "a/b",
    wire.YEAR_10000 - 1,
    wire.YEAR_10000,
    [],
    {},
    [{"type": "text", "text": "tea"}],
    [{"type": "image"}, "x"],
]
odd = st.sampled_from(ODD) | st.text(max_size=5)
MESSAGE: dict[str, Any] = {
    "sender_id": "ann",
    "role": "user",
    "timestamp": 1_700_000_000_000,
    "content": "tea",
}
BODY: dict[str, Any] = {"user_id": "ann", "session_id": "chat:1", "messages": [MESSAGE]}


def changed(fields: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The fields, of which some are missing or odd, and others are there too."""
    names = st.sampled_from([*fields, "app_id", "project_id", "unknown"])
    missing = st.lists(names, max_size=1)
    others = st.dictionaries(names, odd, max_size=2)
    return st.builds(
        lambda drop, more: {k: v for k, v in {**fields, **more}.items() if k not in drop},
        missing,
        others,
    )


def bodies() -> st.SearchStrategy[dict[str, Any]]:
    messages = st.lists(st.just(MESSAGE) | changed(MESSAGE) | odd, max_size=3)
    return st.builds(lambda body, it: {**body, "messages": it}, changed(BODY), messages) | changed(
        BODY
    )


def judged(fields: dict[str, Any]) -> Any:
    """What the rules make of the fields; None if they refuse them."""
    try:
        asked = wire.read(wire.AddRequest, fields)
    except BadRequest:
        return None
    messages = [(it.role, it.sender_id, it.timestamp, it.content) for it in asked.messages]
    return asked.app_id, asked.project_id, asked.session_id, messages


@given(bodies())
def test_what_is_plain_is_what_the_rules_make_of_it(fields: dict[str, Any]) -> None:
    plain = plain_addition(fields)
    assert plain is None or plain == judged(fields)


@given(bodies())
def test_what_is_read_is_what_the_rules_make_of_it(fields: dict[str, Any]) -> None:
    try:
        read = read_addition(fields)
    except BadRequest:
        read = None
    assert read == judged(fields)


@pytest.mark.parametrize("content", ["tea", "", "Grüße 😀", "two\nlines"])
@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_usual_messages_are_plain(role: str, content: str) -> None:
    message = {**MESSAGE, "role": role, "content": content}
    plain = plain_addition({**BODY, "app_id": "my-app", "messages": [message] * 500})
    assert plain is not None
    assert plain.messages[499] == (role, "ann", 1_700_000_000_000, content)
