"""The language model against a scripted server: its facts, or nothing."""

import json
import threading
from typing import Any

import pytest

from language.llm import FactFinder
from tests.integration.language.scripted import scripted

pytestmark = pytest.mark.anyio


async def ask(finder: FactFinder, text: str) -> list[str] | None:
    try:
        return await finder.find_facts(text)
    finally:
        await finder.aclose()


def says(content: object) -> object:
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


async def test_the_facts_of_the_model_are_returned() -> None:
    facts = ["The user lives in Graz.", "The user likes tea."]
    with scripted(lambda _: says(json.dumps({"facts": facts}))) as server:
        finder = FactFinder(server.url, "some-model", "canary-key")
        assert await ask(finder, "User: I live in Graz and like tea.") == facts
    path, key, body = server.asked[0]
    assert (path, key, body["model"]) == ("/v1/chat/completions", "Bearer canary-key", "some-model")
    assert body["messages"][-1]["content"] == "User: I live in Graz and like tea."
    assert "canary-key" not in repr(finder)


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ('```json\n{"facts": ["a b"]}\n```', ["a b"]),
        ('["a"]', ["a"]),
        ('["a {b}"]', ["a {b}"]),
        ('Sure! Here they are: {"facts": ["a"]} Anything else?', ["a"]),
        ('{"facts": ["a", "nul \\u0000", "half \\ud83d"]}', ["a"]),
        ('{"facts": []}', []),
        ('{"facts": ["a", "a", " b\\n c ", "", " ", 7, null, "' + "x" * 301 + '"]}', ["a", "b c"]),
        (json.dumps({"facts": [str(it) for it in range(50)]}), [str(it) for it in range(20)]),
    ],
)
async def test_facts_are_cleaned(content: str, facts: list[str]) -> None:
    with scripted(lambda _: says(content)) as server:
        assert await ask(FactFinder(server.url, "m"), "x") == facts


@pytest.mark.parametrize(
    "answer",
    [
        (500, b""),
        (200, b"no"),
        {},
        [],
        {"choices": []},
        says(None),
        says("Sure! Here are the facts."),
        says('{"facts": "x"}'),
        says("{}"),
        says("7"),
        says("[" * 100_000),
    ],
    ids=lambda it: str(it)[:40],
)
async def test_an_unusable_answer_gives_no_facts(answer: Any) -> None:
    with scripted(lambda _: answer) as server:
        finder = FactFinder(server.url, "m")
        assert await ask(finder, "x") is None
        assert finder.failure


async def test_a_long_text_is_sent_whole() -> None:
    text = "a" + "b" * 100_000
    with scripted(lambda _: says("[]")) as server:
        await ask(FactFinder(server.url, "m"), text)
    assert server.asked[0][2]["messages"][-1]["content"] == text


async def test_a_silent_server_is_not_waited_for() -> None:
    done = threading.Event()
    with scripted(lambda _: done.wait(60) and says("[]")) as server:
        finder = FactFinder(server.url, "m", timeout=0.1)
        assert await ask(finder, "x") is None
        assert finder.failure == "timeout"
        done.set()
