"""What was said is read from answers of any shape."""

import json

import pytest

from recall.answers import answer_text
from recall.injection import Format

_STREAMS: list[tuple[Format, str, dict[str, object], dict[str, object]]] = [
    (
        "messages",
        "index",
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "tea"}},
        {"type": "message_stop"},
    ),
    (
        "responses",
        "output_index",
        {"type": "response.output_text.delta", "delta": "tea", "content_index": 0},
        {"type": "response.completed"},
    ),
]


@pytest.mark.parametrize("index", [0, None, "0", {}, []])
@pytest.mark.parametrize(("format_", "name", "delta", "end"), _STREAMS)
def test_parts_of_a_stream_may_be_numbered_in_any_way(
    format_: Format, name: str, delta: dict[str, object], end: dict[str, object], index: object
) -> None:
    events = [delta | {name: index}, end]
    body = b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)
    assert answer_text(body, format_, content_type="text/event-stream", encoding="") == "tea"
