"""The proxy: bytes, streams, errors, credentials, headers."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.integration.recall import upstream
from tests.integration.recall.server import MANAGEMENT, Recall, be_patient, recall
from tests.integration.recall.upstream import Model, Received, chunk, event, head, whole
from tests.waiting import until

pytestmark = pytest.mark.anyio

ASK = {"model": "gpt", "messages": [{"role": "user", "content": "Which editor theme do I like?"}]}
FACT = "I like the solarized editor theme"


async def remember(api: httpx.AsyncClient, owner: str, content: str = FACT) -> None:
    made = await api.post(
        "/api/memory", json={"apiKeyId": owner, "key": "theme", "content": content}
    )
    made.raise_for_status()


class TestBytes:
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{",
            b"[1, 2]",
            b'{"messages": "no"}',
            b'{"messages": []}',
            b"\xff\xfe",
            b'{"messages":[{"role":"user","content":"\\ud800"}]}',
            b'{"x":' + b"[" * 5000 + b"]" * 5000 + b"}",
            b'{"messages":[{"role":"user","content":"nothing is known of this"}],"n":1.50}',
        ],
    )
    async def test_a_request_without_memories_goes_upstream_as_it_came(
        self, chat: httpx.AsyncClient, model: Model, body: bytes
    ) -> None:
        await chat.post(
            "/v1/chat/completions?a=%2F&b=1", content=body, headers={b"x-own": "é".encode()}
        )
        assert model.last.body == body
        assert model.last.target == "/v1/chat/completions?a=%2F&b=1"
        assert model.last.header("x-own") == "Ã©"

    async def test_100_mb_are_passed_on(self, chat: httpx.AsyncClient, model: Model) -> None:
        async def count(received: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(whole(b"%d" % len(received.body)))

        model.respond = count
        size = 100 * 2**20

        async def body() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b"x" * 2**20

        answer = await chat.post("/v1/chat/completions", content=body())
        assert int(answer.content) == size
        model.requests.clear()

    async def test_a_compressed_request_is_not_read(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, model: Model, owner: str
    ) -> None:
        await remember(api, owner)
        body = gzip.compress(json.dumps(ASK).encode())
        await chat.post("/v1/chat/completions", content=body, headers={"content-encoding": "gzip"})
        assert model.last.body == body

    @pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH", "PUT", "HEAD", "OPTIONS"])
    async def test_every_other_request_passes_through(
        self, chat: httpx.AsyncClient, model: Model, method: str
    ) -> None:
        async def echo(received: Received, writer: asyncio.StreamWriter) -> None:
            sent = received.body if received.method != "HEAD" else b""
            writer.write(
                head(207, f"content-length: {len(sent)}", "x-up: yes", "date: then") + sent
            )

        model.respond = echo
        content = b"payload" if method in ("PATCH", "PUT") else None
        answer = await chat.request(method, "/v1/files/a%20b?x=1", content=content)
        assert answer.status_code == 207
        assert answer.headers["x-up"] == "yes"
        assert answer.headers.get_list("date") == ["then"]
        assert model.last.target == "/v1/files/a%20b?x=1"
        assert answer.content == (content or b"")

    async def test_a_compressed_answer_passes_as_it_is(
        self, chat: httpx.AsyncClient, model: Model
    ) -> None:
        body = json.dumps(upstream.chat("zipped")).encode()

        async def zipped(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(upstream.zipped(body))

        model.respond = zipped
        async with chat.stream("POST", "/v1/chat/completions", json=ASK) as answer:
            raw = b"".join([piece async for piece in answer.aiter_raw()])
        assert gzip.decompress(raw) == body
        assert answer.headers["content-encoding"] == "gzip"

    async def test_an_answer_that_ends_with_its_connection(
        self, chat: httpx.AsyncClient, model: Model
    ) -> None:
        async def old(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(head(200, "content-type: text/plain", "connection: close") + b"old school")
            await writer.drain()
            writer.close()

        model.respond = old
        assert (await chat.post("/v1/chat/completions", json=ASK)).content == b"old school"

    async def test_announcements_before_the_answer_are_left_out(
        self, chat: httpx.AsyncClient, model: Model
    ) -> None:
        async def hints(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(head(103, "link: </a>", reason="Early Hints") + whole(b"{}"))

        model.respond = hints
        answer = await chat.post("/v1/chat/completions", json=ASK)
        assert (answer.status_code, answer.content) == (200, b"{}")

    async def test_trailers_are_no_headers(self, chat: httpx.AsyncClient, model: Model) -> None:
        async def trailers(_: Received, writer: asyncio.StreamWriter) -> None:
            start = head(200, "content-type: application/json", "transfer-encoding: chunked")
            writer.write(start + chunk(b"{}") + b"0\r\nset-cookie: a=b\r\nx-sum: 1\r\n\r\n")

        model.respond = trailers
        answer = await chat.post("/v1/chat/completions", json=ASK)
        assert (answer.status_code, answer.content) == (200, b"{}")
        assert not answer.headers.keys() & {"set-cookie", "x-sum"}

    @pytest.mark.parametrize("more", [whole(b"[1, 2]", "x-more: 1", status=201), b"more"])
    async def test_what_follows_the_answer_is_left_out(
        self, chat: httpx.AsyncClient, model: Model, more: bytes
    ) -> None:
        async def talkative(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(whole(b"{}") + more)

        model.respond = talkative
        # The second request must not get what followed the answer to the first.
        for _ in range(2):
            answer = await chat.post("/v1/chat/completions", json=ASK)
            assert (answer.status_code, answer.content) == (200, b"{}")
            assert "x-more" not in answer.headers

    async def test_another_protocol_is_502(
        self, server: Recall, chat: httpx.AsyncClient, model: Model
    ) -> None:
        async def switch(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(head(101, "upgrade: h2c", "connection: upgrade") + b"PRI")

        model.respond = switch
        answer = await chat.post("/v1/chat/completions", json=ASK)
        assert answer.status_code == 502
        assert "Fatal error" not in server.log


class TestStreams:
    async def test_pieces_come_as_they_are_sent(
        self, chat: httpx.AsyncClient, model: Model
    ) -> None:
        going = [asyncio.Event() for _ in range(3)]
        loop = asyncio.get_running_loop()

        async def slowly(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(head(200, "content-type: text/event-stream", "transfer-encoding: chunked"))
            for number, gate in enumerate(going):
                writer.write(chunk(event(f"piece {number}")))
                await writer.drain()
                waiting = asyncio.run_coroutine_threadsafe(gate.wait(), loop)
                await asyncio.wrap_future(waiting)
            writer.write(b"0\r\n\r\n")

        model.respond = slowly
        async with chat.stream("POST", "/v1/chat/completions", json=ASK) as answer:
            pieces = answer.aiter_raw()
            for number, gate in enumerate(going):
                # The next one is not sent before this one has come.
                assert await anext(pieces) == event(f"piece {number}")
                gate.set()
            assert [piece async for piece in pieces] == []

    async def test_broken_off_midway_is_broken_off_for_the_client(
        self, chat: httpx.AsyncClient, model: Model
    ) -> None:
        async def broken(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(head(200, "content-type: text/event-stream", "transfer-encoding: chunked"))
            writer.write(chunk(event("half")))
            await writer.drain()
            writer.transport.abort()

        model.respond = broken
        with pytest.raises(httpx.RemoteProtocolError):
            await chat.post("/v1/chat/completions", json=ASK)

    async def test_an_error_in_the_middle_of_a_stream_passes(
        self, chat: httpx.AsyncClient, model: Model
    ) -> None:
        pieces = [event({"choices": []}), event({"error": {"message": "boom"}})]

        async def failing(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(head(200, "content-type: text/event-stream", "transfer-encoding: chunked"))
            for piece in pieces:
                writer.write(chunk(piece))
            writer.write(b"0\r\n\r\n")

        model.respond = failing
        answer = await chat.post("/v1/chat/completions", json=ASK)
        assert answer.content == b"".join(pieces)

    @pytest.mark.parametrize("begins", [False, True])
    async def test_a_client_that_leaves_cancels_the_call(
        self, chat: httpx.AsyncClient, model: Model, begins: bool
    ) -> None:
        async def endless(received: Received, writer: asyncio.StreamWriter) -> None:
            if begins:
                writer.write(
                    head(200, "content-type: text/event-stream", "transfer-encoding: chunked")
                )
                writer.write(chunk(event("begun")))
                await writer.drain()
            while not received.left.is_set():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

        model.respond = endless
        asking = asyncio.create_task(chat.post("/v1/chat/completions", json=ASK))
        await asyncio.to_thread(until, lambda: model.requests)
        received = model.last
        asking.cancel()
        assert await asyncio.to_thread(received.left.wait, 60)


class TestUpstreamAway:
    async def test_unreachable_is_502_in_the_shape_of_the_api(
        self, recall_database: str, plugin_url: str
    ) -> None:
        flags = ["--database-url", recall_database, "--plugin-url", plugin_url, "--dev-auth"]
        nowhere = ["--upstream-url", "http://127.0.0.1:9/v1"]
        with recall(*flags, *nowhere) as server:
            async with httpx.AsyncClient(
                base_url=server.url, headers={"authorization": "Bearer a"}, timeout=60
            ) as client:
                answer = await client.post("/v1/chat/completions", json=ASK)
                assert answer.status_code == 502
                assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
                answer = await client.post("/v1/messages", json=ASK)
                assert answer.status_code == 502
                assert answer.json()["type"] == "error"
                assert set(answer.json()["error"]) == {"type", "message"}
                assert (await client.get("/health")).status_code == 200

    async def test_silent_is_504(self, recall_database: str, plugin_url: str, model: Model) -> None:
        async def silent(received: Received, _: asyncio.StreamWriter) -> None:
            while not received.left.is_set():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

        model.respond = silent
        flags = ["--database-url", recall_database, "--plugin-url", plugin_url, "--dev-auth"]
        with recall(*flags, "--upstream-url", model.url, "--upstream-timeout", "0.5") as server:
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
                answer = await client.post("/v1/responses", json={"input": "hi"})
        assert answer.status_code == 504
        assert answer.json()["error"]["message"]


class TestHeaders:
    @pytest.mark.parametrize(
        "header",
        [
            {"x-memory-skip": "all"},
            {"x-memory-skip": "inject"},
            {"x-memory-skip": "extract, inject"},
            {"x-memory-skip": "whatever"},
            {"x-memory-skip": ","},
            {"x-memory-skip": ", ,"},
            {"x-omniroute-no-memory": "true"},
            {"x-omniroute-no-memory": "1"},
            {"x-omniroute-no-memory": "YES"},
        ],
    )
    async def test_a_request_can_opt_out(
        self,
        chat: httpx.AsyncClient,
        api: httpx.AsyncClient,
        model: Model,
        owner: str,
        header: dict[str, str],
    ) -> None:
        await remember(api, owner)
        answer = await chat.post("/v1/chat/completions", json=ASK, headers=header)
        assert answer.headers["x-memory-injected"] == "0"
        assert model.last.json == ASK

    @pytest.mark.parametrize("skip", ["extract", "extract,", ""])
    async def test_other_header_values_do_not_opt_out(
        self,
        chat: httpx.AsyncClient,
        api: httpx.AsyncClient,
        owner: str,
        skip: str,
    ) -> None:
        await remember(api, owner)
        headers = {"x-memory-skip": skip}
        answer = await chat.post("/v1/chat/completions", json=ASK, headers=headers)
        assert answer.headers["x-memory-injected"] == "1"

    async def test_what_is_reported_of_memory_is_ours_only(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, model: Model, owner: str
    ) -> None:
        theirs = ("X-Memory-Injected: 99", "x-memory-tokens: 99", "x-memory-error: theirs")

        async def report(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(whole(b"{}", "content-type: application/json", *theirs))

        model.respond = report
        await remember(api, owner)
        answer = await chat.post("/v1/chat/completions", json=ASK)
        assert answer.headers.get_list("x-memory-injected") == ["1"]
        assert len(answer.headers.get_list("x-memory-tokens")) == 1
        assert answer.headers["x-memory-tokens"] != "99"
        assert "x-memory-error" not in answer.headers
        # Without memory there is nothing of ours to report, and the answer passes as it is.
        passed = await chat.get("/v1/models")
        assert passed.headers["x-memory-injected"] == "99"

    async def test_headers_of_ours_never_go_upstream(
        self, chat: httpx.AsyncClient, model: Model
    ) -> None:
        ours = {
            "x-memory-skip": "all",
            "x-omniroute-no-memory": "true",
            "x-session-id": "s",
            "x-omniroute-session-id": "s",
            "x-memory-provider": "p",
            "x-memory-key": "k",
        }
        await chat.post("/v1/chat/completions", json=ASK, headers=ours | {"x-other": "1"})
        sent = {name.lower() for name, _ in model.last.headers}
        assert not sent & ours.keys()
        assert "x-other" in sent

    @pytest.mark.parametrize(
        ("cookie", "passed"),
        [
            ("recall_session=1.abc", None),
            ("a=1; recall_session=1.abc; b=2", "a=1; b=2"),
            ("not_recall_session=1;  c", "not_recall_session=1;  c"),
        ],
    )
    async def test_a_login_of_the_dashboard_never_goes_upstream(
        self, chat: httpx.AsyncClient, model: Model, cookie: str, passed: str | None
    ) -> None:
        for path in ("/v1/chat/completions", "/v1/other"):
            await chat.post(path, json=ASK, headers={"cookie": cookie})
            sent = {name.lower(): value for name, value in model.last.headers}
            assert sent.get("cookie") == passed

    async def test_hop_by_hop_headers_stay_here(
        self, chat: httpx.AsyncClient, model: Model
    ) -> None:
        async def answer_with_hops(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(whole(b"{}", "connection: keep-alive, x-gone", "x-gone: 1", "x-kept: 1"))

        model.respond = answer_with_hops
        hops = {"connection": "keep-alive, x-mine", "x-mine": "1", "te": "trailers"}
        answer = await chat.post("/v1/chat/completions", json=ASK, headers=hops)
        sent = {name.lower() for name, _ in model.last.headers}
        assert not sent & {"x-mine", "te", "connection"}
        assert "x-gone" not in answer.headers
        assert answer.headers["x-kept"] == "1"

    async def test_the_provider_header_decides(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, model: Model, owner: str
    ) -> None:
        await remember(api, owner)
        await chat.post("/v1/chat/completions", json=ASK, headers={"x-memory-provider": "GLM"})
        [message] = model.last.json["messages"]
        assert message["role"] == "user"
        assert FACT in message["content"]


class TestCredentials:
    async def key(self, api: httpx.AsyncClient) -> dict[str, str]:
        made = await api.post("/api/keys", json={"name": "test"})
        shown: dict[str, str] = made.json()
        return shown

    async def test_without_an_upstream_key_ours_does_not_go_upstream(
        self, server: Recall, api: httpx.AsyncClient, model: Model
    ) -> None:
        key = await self.key(api)
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            await client.post(
                "/v1/chat/completions",
                json=ASK,
                headers={"authorization": f"Bearer {key['key']}"},
            )
            assert model.last.header("authorization") is None
            await client.post("/v1/messages", json=ASK, headers={"x-api-key": key["key"]})
            assert model.last.header("x-api-key") is None
            own = {"authorization": "Bearer sk-own", "x-memory-key": key["key"]}
            answer = await client.post("/v1/chat/completions", json=ASK, headers=own)
            assert model.last.header("authorization") == "Bearer sk-own"
            assert "x-memory-injected" in answer.headers

    async def test_with_an_upstream_key_only_known_keys_come_through(
        self, recall_database: str, plugin_url: str, model: Model
    ) -> None:
        flags = ["--database-url", recall_database, "--plugin-url", plugin_url]
        flags += ["--upstream-url", model.url]
        with recall(
            *flags, MEMORY_RECALL_UPSTREAM_KEY="up-1", MEMORY_RECALL_MANAGEMENT_TOKEN="m-1"
        ) as server:
            be_patient(server, "m-1")
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
                management = {"authorization": "Bearer m-1"}
                made = await client.post("/api/keys", json={"name": "a"}, headers=management)
                key, key_id = made.json()["key"], made.json()["id"]
                for headers in ({}, {"authorization": "Bearer who"}, {"x-memory-key": "who"}):
                    for path in ("/v1/chat/completions", "/v1/models"):
                        refused = await client.post(path, json=ASK, headers=headers)
                        assert refused.status_code == 401
                assert not model.requests
                known = {"authorization": f"Bearer {key}"}
                await client.post("/v1/chat/completions", json=ASK, headers=known)
                assert model.last.header("authorization") == "Bearer up-1"
                assert model.last.header("x-api-key") is None
                await client.post("/v1/messages", json=ASK, headers={"x-api-key": key})
                assert model.last.header("x-api-key") == "up-1"
                assert model.last.header("authorization") == "Bearer up-1"
                await client.patch(
                    f"/api/keys/{key_id}", json={"disabled": True}, headers=management
                )
                refused = await client.post("/v1/chat/completions", json=ASK, headers=known)
                assert refused.status_code == 401
            log = server.log
        for secret in (key, "up-1", "m-1"):
            assert secret not in log

    async def test_an_unknown_key_passes_as_it_is_when_there_is_no_upstream_key(
        self, recall_database: str, plugin_url: str, model: Model
    ) -> None:
        flags = ["--database-url", recall_database, "--plugin-url", plugin_url]
        with recall(
            *flags, "--upstream-url", model.url, MEMORY_RECALL_MANAGEMENT_TOKEN="m-1"
        ) as server:
            be_patient(server, "m-1")
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
                # The second looks like one of our keys, but is none.
                for token in ("sk-mine", f"mr_{'x' * 40}"):
                    own = {"authorization": f"Bearer {token}", "x-api-key": token}
                    answer = await client.post("/v1/chat/completions", json=ASK, headers=own)
                    assert model.last.header("authorization") == f"Bearer {token}"
                    assert model.last.header("x-api-key") == token
                    assert not [name for name in answer.headers if name.startswith("x-memory")]

    async def test_a_key_is_removed_after_its_memories(
        self, api: httpx.AsyncClient, recall_database: str, model: Model, tmp_path: Path
    ) -> None:
        key = await self.key(api)
        await remember(api, key["id"])
        path = f"/api/keys/{key['id']}?memories=delete"
        flags = ["--database-url", recall_database, "--plugin-url", f"unix:{tmp_path}/no.sock"]
        with recall(*flags, "--upstream-url", model.url, "--dev-auth") as server:
            async with httpx.AsyncClient(
                base_url=server.url, headers=MANAGEMENT, timeout=60
            ) as client:
                for _ in range(2):
                    assert (await client.delete(path)).status_code == 503
        known = (await api.get("/api/keys")).json()["keys"]
        assert [one["disabled"] for one in known if one["id"] == key["id"]] == [True]
        assert (await api.delete(path)).json() == {"success": True, "deletedCount": 1}
        assert (await api.delete(path)).status_code == 404
