"""Ruling 7: JSON nested over 64 levels is refused by the name of its field."""

import pytest

from conversations.errors import BadRequest
from conversations.exact import load_body


def nested(opening: bytes, closing: bytes, levels: int) -> bytes:
    return opening * levels + b"1" + closing * levels


@pytest.mark.parametrize("levels", [65, 900])
@pytest.mark.parametrize(
    ("opening", "closing", "within", "field"),
    [
        (b'{"newMessage":', b"}", b'{"newMessage":{"newMessage":%b}}', "newMessage.newMessage"),
        (b'{"newMessage":', b"}", b'{"messages":[{"newMessage":%b}]}', "messages[0].newMessage"),
        (b'[{"messages":', b"}]", b'{"messages":[{"messages":%b}]}', "messages[0].messages[0]"),
        (b'[{"messages":', b"}]", b'{"newMessage":{"messages":%b}}', "newMessage.messages[0]"),
    ],
)
def test_levels_count_whatever_the_fields_are_called(
    opening: bytes, closing: bytes, within: bytes, field: str, levels: int
) -> None:
    levels //= opening.count(b"[") + opening.count(b"{")
    body = within % nested(opening, closing, levels + 1)
    with pytest.raises(BadRequest, match="64 levels") as refused:
        load_body(body)
    assert refused.value.details == {"field": field}


@pytest.mark.parametrize("within", [b'{"newMessage":{"x":%b}}', b'{"messages":[{"x":%b}]}'])
def test_a_field_of_a_message_may_have_64_levels(within: bytes) -> None:
    load_body(within % nested(b'{"newMessage":', b"}", 64))
    with pytest.raises(BadRequest, match="64 levels"):
        load_body(within % nested(b'{"newMessage":', b"}", 65))


@pytest.mark.parametrize("levels", [66, 500, 1000, 5000, 100_000])
@pytest.mark.parametrize(
    ("within", "field"),
    [
        (b'{"content":"x","metadata":%b}', "metadata"),
        (b'{"metadata":%b,"content":"x"}', "metadata"),
        (b'{"a":{"b":["}\\"",1]},"c" : %b}', "c"),
    ],
)
def test_a_field_is_named_however_deep_it_is(within: bytes, field: str, levels: int) -> None:
    with pytest.raises(BadRequest, match="nested") as refused:
        load_body(within % nested(b'{"a":', b"}", levels))
    assert refused.value.details == {"field": field}


def test_a_body_that_is_no_object_is_named_as_a_whole() -> None:
    for body in (b"[" * 5000, nested(b"[", b"]", 5000)):
        with pytest.raises(BadRequest, match="nested") as refused:
            load_body(body)
        assert refused.value.details == {"field": "body"}
