"""The proxy, driven by the official clients.

They take seconds to load, so only the tests that use them do.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.integration.recall.server import Recall
from tests.integration.recall.test_proxy import ASK, FACT, remember
from tests.integration.recall.upstream import Model, Received, whole

if TYPE_CHECKING:
    import anthropic
    import openai

pytestmark = pytest.mark.anyio


@pytest.fixture
async def gpt(server: Recall, owner: str) -> AsyncIterator["openai.AsyncOpenAI"]:
    import openai

    async with openai.AsyncOpenAI(
        base_url=f"{server.url}/v1", api_key=owner, max_retries=0
    ) as client:
        yield client


@pytest.fixture
async def claude(server: Recall, owner: str) -> AsyncIterator["anthropic.AsyncAnthropic"]:
    import anthropic

    async with anthropic.AsyncAnthropic(
        base_url=server.url, api_key=owner, max_retries=0
    ) as client:
        yield client


class TestOfficialClients:
    async def test_openai_chat_gets_its_memory(
        self, gpt: "openai.AsyncOpenAI", api: httpx.AsyncClient, model: Model, owner: str
    ) -> None:
        await remember(api, owner)
        answer = await gpt.chat.completions.with_raw_response.create(**ASK)  # type: ignore[call-overload]
        assert answer.parse().choices[0].message.content == "All right."
        assert answer.headers["x-memory-injected"] == "1"
        assert int(answer.headers["x-memory-tokens"]) > 0
        system, question = model.last.json["messages"]
        assert system["role"] == "system"
        assert FACT in system["content"]
        assert question == ASK["messages"][0]

    async def test_openai_chat_streams(
        self, gpt: "openai.AsyncOpenAI", api: httpx.AsyncClient, model: Model, owner: str
    ) -> None:
        await remember(api, owner)
        stream = await gpt.chat.completions.create(
            model="gpt",
            messages=[{"role": "user", "content": "Which editor theme?"}],
            stream=True,
            stream_options={"include_usage": True},
            extra_headers={"x-test-say": "one two three"},
        )
        chunks = [piece async for piece in stream]
        text = "".join(it.choices[0].delta.content or "" for it in chunks if it.choices)
        assert text == "one two three "
        assert chunks[-1].usage is not None
        assert any(it.choices and it.choices[0].delta.tool_calls for it in chunks)
        assert FACT in model.last.body.decode()

    async def test_openai_responses(
        self, gpt: "openai.AsyncOpenAI", api: httpx.AsyncClient, model: Model, owner: str
    ) -> None:
        await remember(api, owner)
        answer = await gpt.responses.create(model="gpt", input="Which editor theme?")
        assert answer.output_text == "All right."
        assert FACT in model.last.json["instructions"]
        assert model.last.json["input"] == "Which editor theme?"

    async def test_openai_responses_stream(
        self, gpt: "openai.AsyncOpenAI", api: httpx.AsyncClient, model: Model, owner: str
    ) -> None:
        await remember(api, owner)
        stream = await gpt.responses.create(model="gpt", input="editor theme?", stream=True)
        kinds = [piece.type async for piece in stream]
        assert kinds[0] == "response.created"
        assert kinds[-1] == "response.completed"
        assert FACT in model.last.json["instructions"]

    async def test_anthropic_messages(
        self, claude: "anthropic.AsyncAnthropic", api: httpx.AsyncClient, model: Model, owner: str
    ) -> None:
        await remember(api, owner)
        answer = await claude.messages.create(
            model="claude",
            max_tokens=10,
            messages=[{"role": "user", "content": "Which editor theme?"}],
        )
        assert answer.content[-1].text == "All right."  # type: ignore[union-attr]
        assert FACT in model.last.json["system"]
        assert model.last.header("x-api-key") is None  # it was a key of ours

    async def test_anthropic_stream(
        self, claude: "anthropic.AsyncAnthropic", api: httpx.AsyncClient, model: Model, owner: str
    ) -> None:
        await remember(api, owner)
        async with claude.messages.stream(
            model="claude",
            max_tokens=10,
            system="Be brief.",
            messages=[{"role": "user", "content": "Which editor theme?"}],
        ) as stream:
            text = "".join([piece async for piece in stream.text_stream])
        assert text.strip() == "All right."
        assert model.last.json["system"].endswith("Be brief.")

    async def test_models_pass_through(self, gpt: "openai.AsyncOpenAI") -> None:
        models = await gpt.models.list()
        assert [it.id for it in models.data] == ["scripted"]

    async def test_an_upstream_error_is_the_clients(
        self, gpt: "openai.AsyncOpenAI", model: Model
    ) -> None:
        import openai

        body = b'{"error":{"message":"slow down","type":"rate_limit","param":null,"code":"x"}}'

        async def busy(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(
                whole(body, "content-type: application/json", "retry-after: 7", status=429)
            )

        model.respond = busy
        with pytest.raises(openai.RateLimitError) as caught:
            await gpt.chat.completions.create(**ASK)  # type: ignore[call-overload]
        assert caught.value.response.headers["retry-after"] == "7"
        assert caught.value.response.content == body

    async def test_anthropic_overload_is_the_clients(
        self, claude: "anthropic.AsyncAnthropic", model: Model
    ) -> None:
        import anthropic

        async def busy(_: Received, writer: asyncio.StreamWriter) -> None:
            error = {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}
            writer.write(whole(json.dumps(error).encode(), status=529))

        model.respond = busy
        with pytest.raises(anthropic.APIStatusError) as caught:
            await claude.messages.create(
                model="c", max_tokens=1, messages=[{"role": "user", "content": "hi"}]
            )
        assert caught.value.status_code == 529
