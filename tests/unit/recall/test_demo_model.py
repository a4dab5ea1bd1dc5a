"""The demo's scripted model answers what any client may send, as a real one would."""

from collections.abc import Iterator

import httpx
import pytest

from demo.model import scripted_model


@pytest.fixture(scope="module")
def model() -> Iterator[httpx.Client]:
    with scripted_model() as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b"", b"{", b'{"messages": []}', b'{"messages": "hello"}', b"[" * 100_000]
)
def test_a_request_without_messages_is_refused(model: httpx.Client, body: bytes) -> None:
    answer = model.post("/chat/completions", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("content", ["Tea?", [{"type": "text", "text": "Tea?"}, {"type": "image"}]])
def test_a_question_is_answered_from_the_memory_block(model: httpx.Client, content: object) -> None:
    messages = [
        {"role": "system", "content": "- I like tea"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "user", "content": content},
    ]
    answer = model.post("/chat/completions", json={"messages": messages}).json()
    assert answer["choices"][0]["message"]["content"] == "You told me: I like tea."
