"""No exception, log line or repr contains memory content or the token."""

import logging
import traceback
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from contract import (
    BatchWrite,
    MemoryClient,
    MemoryPluginError,
    MemoryWrite,
    NamespaceUpsert,
    SearchRequest,
)
from tests.integration.contract.stub import Reply, Stub, serving

pytestmark = pytest.mark.anyio

TOKEN = "hush-token-8472"
CONTENT = "the vault code is 4711"
WRITE = MemoryWrite(content=CONTENT, kind="fact", source="agent", propagation={"to": CONTENT})
BATCH_WRITE = BatchWrite(namespace="team:1", content=CONTENT, kind="fact", source="agent")
SEARCH = SearchRequest(namespaces=["team:1"], query=CONTENT)


@pytest.fixture(autouse=True)
def logs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Checks that no library logs a secret, at any level."""
    with caplog.at_level(logging.DEBUG):
        yield
    # What the test itself logged: `caplog.text` begins anew when the test has ended.
    logged = "".join(f"{it.getMessage()} {it.__dict__}" for it in caplog.get_records("call"))
    assert TOKEN not in logged
    assert CONTENT not in logged


def everything_of(error: BaseException) -> str:
    """Everything that a handler could print of an exception and its causes."""
    parts = [repr(error), str(error), repr(vars(error)), *traceback.format_exception(error)]
    behind = (error.__cause__, error.__context__)
    parts += [everything_of(it) for it in behind if it is not None]
    return "\n".join(parts)


def echo(status: int, text: str) -> Reply:
    """A plugin that echoes the request in its error."""
    return Reply(status, {"code": "bad_request", "message": text, "details": {text: [text, 1]}})


REPLIES = {
    "echoed in the envelope": echo(400, f"content {CONTENT!r} sent with Bearer {TOKEN}"),
    "echoed in a 500": echo(500, f"panic: {CONTENT} {TOKEN}"),
    "echoed as text": Reply(500, f"{CONTENT} {TOKEN}".encode()),
    "echoed in a 2xx": Reply(200, {"memories": CONTENT, "results": CONTENT, "id": TOKEN}),
    "a connection cut": Reply(200, {"memories": []}, cut=True),
    "nothing": Reply(hang_up=True),
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
async def test_an_exception_contains_no_secret(stub: Stub, reply: Reply) -> None:
    for path in ("/v1/search", "/v1/memories/batch", "/v1/namespaces/team:1/memories"):
        stub.answer("POST", path, reply)
    async with MemoryClient(stub.url, timeout=60, token=TOKEN, attempts=1) as client:
        for call in (
            client.write("team:1", WRITE),
            client.search(SEARCH),
            client.batch([BATCH_WRITE]),
        ):
            with pytest.raises(MemoryPluginError) as error:
                await call
            shown = everything_of(error.value)
            assert TOKEN not in shown
            assert CONTENT not in shown


async def test_what_the_plugin_says_is_otherwise_kept(stub: Stub) -> None:
    stub.answer("POST", "/v1/search", echo(400, f"query: {CONTENT} is too long"))
    async with MemoryClient(stub.url, timeout=60, token=TOKEN) as client:
        with pytest.raises(MemoryPluginError, match=r"^query: \[hidden\] is too long$"):
            await client.search(SEARCH)


async def test_an_exception_hides_what_a_request_in_bytes_names_as_secret(stub: Stub) -> None:
    for path in ("/v1/search", "/v1/memories/batch"):
        stub.answer("POST", path, echo(400, f"text: {CONTENT} is too long"))
    async with MemoryClient(stub.url, timeout=60, token=TOKEN) as client:
        for send in (client.search_bytes, client.batch_bytes):
            with pytest.raises(MemoryPluginError, match=r"^text: \[hidden\] is too long$"):
                await send(b"{}", secrets=[CONTENT])


async def test_a_timeout_and_a_refused_connection_contain_no_secret(stub: Stub) -> None:
    async with serving() as gone:
        pass
    stub.answer("POST", "/v1/search", Reply(never=True))
    for url in (stub.url, gone.url):
        async with MemoryClient(url, timeout=0.1, token=TOKEN) as client:
            with pytest.raises(MemoryPluginError) as error:
                await client.search(SEARCH)
        assert TOKEN not in everything_of(error.value)
        assert CONTENT not in everything_of(error.value)


async def test_no_repr_contains_the_token(stub: Stub) -> None:
    async with MemoryClient(stub.url, timeout=60, token=TOKEN) as client:
        await client.health()
        assert stub.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
        assert TOKEN not in f"{client!r} {client}"
        assert repr(client) == f"MemoryClient({stub.url!r})"


async def test_without_a_token_none_is_sent(client: MemoryClient, stub: Stub) -> None:
    await client.health()
    assert "authorization" not in stub.requests[0].headers


@pytest.mark.parametrize("token", ["two\nlines", "ümlaut", " ", "nul\x00"])
def test_a_token_that_no_header_can_carry_is_refused_unseen(token: str) -> None:
    with pytest.raises(ValueError, match="printable") as error:
        MemoryClient(token=token)
    assert token.strip() == "" or token not in everything_of(error.value)


def test_a_password_in_the_address_is_refused_unseen() -> None:
    with pytest.raises(ValueError, match="set a token instead") as error:
        MemoryClient(f"http://user:{TOKEN}@localhost:9100")
    assert TOKEN not in everything_of(error.value)


async def test_an_httpx_error_that_names_the_token_is_cleaned() -> None:
    class Telling(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise httpx.LocalProtocolError(f"bad header {request.headers['authorization']}")

    async with MemoryClient(token=TOKEN, attempts=1, transport=Telling()) as client:
        with pytest.raises(MemoryPluginError) as error:
            await client.put_namespace("team:1", NamespaceUpsert(kind="team"))
    assert TOKEN not in everything_of(error.value)


def test_the_check_would_notice(caplog: pytest.LogCaptureFixture) -> None:
    def fail(message: str) -> Any:
        try:
            raise ValueError(message)
        except ValueError:
            raise RuntimeError("told") from None

    with pytest.raises(RuntimeError) as error:
        fail(CONTENT)
    assert CONTENT in everything_of(error.value)
    assert caplog.text == ""
