"""A run only uses its own namespaces, so it is safe on a plugin that is in use."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote
from uuid import UUID

import pytest

from contract import MemoryWrite, NamespaceUpsert
from harness import Settings, find_check, run
from harness.example import ExamplePlugin, Store
from harness.ledger import RUNS
from harness.session import open_session
from harness.trial import Trial

Message = MutableMapping[str, Any]
VALID = re.compile(r"[a-z]+:[A-Za-z0-9_:.\-]{1,256}", re.ASCII)
# Names that the generator often produces, and one of maximum length.
OF_USERS = ("a:0", "x:0", "f:A", "a:" + "0" * 253, "a:" + "0" * 254)


@dataclass(frozen=True)
class Sent:
    """A request as the plugin's server sees it."""

    method: str
    path: str
    body: bytes

    def names(self) -> Iterator[str]:
        """The valid namespaces in the path, however encoded, and in the fields that name one."""
        path = self.path
        while path != (path := unquote(path)):
            pass
        yield from filter(is_valid, path.split("/"))
        try:
            body = json.loads(self.body)
        except (ValueError, RecursionError):
            return
        if isinstance(body, dict):
            writes = body.get("writes")
            for part in [body, *(writes if isinstance(writes, list) else [])]:
                yield from filter(is_valid, named_by(part))


def named_by(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        for field in ("namespace", "namespaces", "requested_by_namespace"):
            value = part.get(field)
            values = value if isinstance(value, list) else [value]
            yield from (name for name in values if isinstance(name, str))


def is_valid(name: str) -> bool:
    return len(name) <= 256 and VALID.fullmatch(name) is not None


class Recorded:
    """An application, and every request that it got."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app
        self.sent: list[Sent] = []

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = bytearray()

        async def listening() -> Message:
            message: Message = await receive()
            body.extend(message.get("body", b""))
            return message

        try:
            await self.app(scope, listening, send)
        finally:
            path = scope["raw_path"].decode()
            self.sent.append(Sent(scope["method"], path, bytes(body)))


def kept_by(store: Store) -> dict[str, Any]:
    return {name: (space.stored, dict(space.rows)) for name, space in store.spaces.items()}


def test_a_run_of_every_check_leaves_the_namespaces_of_others_alone() -> None:
    store = Store()
    for name in OF_USERS:
        store.put_namespace(name, NamespaceUpsert(kind="custom", metadata={"whose": "mine"}))
        store.write(name, MemoryWrite(content="precious", kind="fact", source="user"))
    before = kept_by(store)
    app = Recorded(ExamplePlugin(store).app)

    report = run(app, Settings(profile="full"))

    assert report.counts["pass"] == len(report.results), report.reason
    assert {"coverage", "fuzzing", "stateful"} <= {
        result.id.partition(".")[2] for result in report.results if result.area == "generated"
    }
    own = (f"custom:conformance.{report.run}.", RUNS)
    named = {(sent.method, sent.path, name) for sent in app.sent for name in sent.names()}
    assert [entry for entry in sorted(named) if not entry[2].startswith(own)] == []
    assert {255, 256} <= {len(name) for _, _, name in named if name.endswith("00")}
    assert kept_by(store) == before


FOREIGN: list[tuple[str, str, object]] = [
    ("DELETE", "/v1/namespaces/a:0", None),
    ("DELETE", "/v1/namespaces/a%3A0", None),
    ("DELETE", "/v1/namespaces/%61%253a0", None),
    ("POST", "/v1/namespaces/a%3A0/memories", {}),
    ("DELETE", "/v1/namespaces/nothing%2F..%2Fa:0", None),
    ("POST", "/v1/search", {"namespaces": ["A:0", "a:0"]}),
    ("POST", "/v1/search", {"namespaces": "a:0"}),
    ("DELETE", f"/v1/memories/{UUID(int=0)}", {"requested_by_namespace": "a:0"}),
    ("POST", "/v1/memories/batch", {"writes": [{"content": "x"}, {"namespace": "a:0"}]}),
    ("POST", "/v1/memories/list", {"namespaces": [RUNS]}),
]


@pytest.mark.parametrize(("method", "path", "body"), FOREIGN)
@pytest.mark.anyio
async def test_a_check_that_would_leave_its_namespaces_is_an_error_and_sends_nothing(
    method: str, path: str, body: object
) -> None:
    async def strays(trial: Trial) -> None:
        await trial.send(method, path, body)

    app = Recorded(ExamplePlugin(Store()).app)
    async with open_session(app, Settings()) as session:
        check = find_check("forget.twice")
        assert check is not None
        sent = len(app.sent)
        result = await session.attempt(replace(check, function=strays))
        assert (result.outcome, len(app.sent)) == ("error", sent)
        assert "not of this run" in str(result.message)
