"""Every endpoint with every kind of caller: who is allowed, and what the others get.

The table is built from the endpoints themselves, so that new ones are included.
"""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import jwt
import pytest

from conversations.access import Level
from conversations.document import openapi
from tests.acceptance.command import running
from tests.acceptance.conversations.conftest import COMMAND, KEYS
from tests.acceptance.conversations.people import AGENTS, check_answer, client_of, fresh
from tests.conftest import database_url, execute
from tests.waiting import SECONDS

SECRET = "a secret of more than thirty-two bytes"
METHODS = ("get", "post", "patch", "delete")
LEVELS = {level.word: level for level in Level}
# The least level of each endpoint, by the law; None: it is not about a conversation.
LEAST = {
    "listConversations": None,
    "createConversation": None,
    "checkResponses": None,
    "getConversation": "reader",
    "changeConversation": "writer",
    "deleteConversation": "manager",
    "listMessages": "reader",
    "appendUserMessage": "writer",
    "forkConversation": "writer",
    "listForks": "reader",
    "listMemberships": "reader",
    "shareConversation": "manager",
    "changeMembership": "manager",
    "removeMembership": "manager",
    "startTransfer": "owner",
    "listTransfers": None,
    "getTransfer": None,
    "acceptTransfer": None,
    "declineTransfer": None,
    "cancelTransfer": None,
    "searchMessages": None,
    "followResponse": "reader",
    "cancelResponse": "writer",
    "readContext": "reader",
    "appendAgentMessages": "writer",
    "syncMemory": "writer",
    "addSummary": "writer",
    "startRecording": "writer",
    "record": "writer",
}


@dataclass(frozen=True)
class Operation:
    name: str
    method: str
    path: str

    @property
    def is_for_agents(self) -> bool:
        return self.path.startswith("/v1/agent/")


def operations() -> list[Operation]:
    return [
        Operation(operation["operationId"], method, path)
        for path, item in openapi()["paths"].items()
        for method, operation in item.items()
        if method in METHODS and operation["operationId"] != "health"
    ]


def signed(subject: str, **changes: Any) -> str:
    claims = {"sub": subject, "exp": time.time() + 600, **changes}
    return jwt.encode(claims, SECRET, algorithm="HS256")


@dataclass
class Room:
    """A conversation with a member of every level, and a transfer."""

    address: str
    members: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)

    def call(
        self, operation: Operation, token: str | None, key: str | None = None, body: Any = None
    ) -> httpx.Response:
        path = operation.path
        for name, value in self.values.items():
            path = path.replace(f"{{{name}}}", value)
        headers = {}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        if key is not None:
            headers["x-api-key"] = key
        options: dict[str, Any] = {} if operation.method == "get" else {"json": body or {}}
        query = "?stream=false" if operation.name == "followResponse" else ""
        client = client_of(self.address)
        answer = client.request(operation.method, path + query, headers=headers, **options)
        check_answer(operation.method.upper(), path, answer)
        return answer


@pytest.fixture(scope="module")
def secured(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that checks tokens."""
    name = f"secured_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    with running(
        "--listen=127.0.0.1:0",
        "--plugin-url=http://127.0.0.1:9",
        f"--database-url={database_url(cluster, name)}",
        f"--data-dir={tmp_path_factory.mktemp('secured')}",
        environment={**KEYS, "MEMORY_CONVERSATIONS_JWT_SECRET": SECRET},
        command=COMMAND,
    ) as server:
        yield server.address
        # No token is ever in the log.
        assert not [line for line in server.lines if "eyJ" in line or "secret of more" in line]
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
def room(secured: str) -> Room:
    room = Room(secured, {word: fresh(word) for word in LEVELS})
    owner = {"authorization": f"Bearer {signed(room.members['owner'])}"}
    with httpx.Client(base_url=secured, headers=owner, timeout=SECONDS) as client:
        made = client.post("/v1/user/conversations", json={}).json()
        path = f"/v1/user/conversations/{made['id']}"
        message = client.post(f"{path}/messages", json={"content": "hello"}).json()
        for word in ("reader", "writer", "manager"):
            body = {"userId": room.members[word], "accessLevel": word}
            client.post(f"{path}/memberships", json=body)
        sent = client.post(
            f"{path}/transfer-ownership", json={"newOwnerUserId": fresh("recipient")}
        ).json()
        room.values.update(
            conversationId=made["id"],
            messageId=message["id"],
            userId=fresh("nobody"),
            transferId=sent["id"],
            recordingId=str(uuid.uuid4()),
        )
    return room


def let_in(answer: httpx.Response) -> bool:
    """Whether the caller came as far as parameters and body, which are empty here."""
    not_found_inside = answer.status_code == 404 and answer.json()["details"]["resource"] in (
        "member",
        "recording",
    )
    return not_found_inside or answer.status_code not in (401, 403, 404)


def test_the_table_has_every_endpoint() -> None:
    assert {operation.name for operation in operations()} == LEAST.keys()


EVERY = operations()
ON_CONVERSATIONS = [operation for operation in EVERY if LEAST[operation.name]]
# Nothing must happen to the conversation while the table is gone through.
HARMLESS = {"deleteConversation": "?scope=nonsense"}


@pytest.mark.parametrize("word", LEVELS)
def test_members_at_or_above_the_required_level_are_allowed(room: Room, word: str) -> None:
    for operation in ON_CONVERSATIONS:
        least = LEVELS[LEAST[operation.name] or "reader"]
        path = operation.path + HARMLESS.get(operation.name, "")
        harmless = Operation(operation.name, operation.method, path)
        key = AGENTS["bot"] if operation.is_for_agents else None
        answer = room.call(harmless, signed(room.members[word]), key)
        if LEVELS[word] >= least:
            assert let_in(answer), (operation, answer.text)
        else:
            assert answer.status_code == 403, (operation, answer.text)


def test_strangers_get_404(room: Room) -> None:
    stranger = signed(fresh("stranger"))
    for operation in ON_CONVERSATIONS:
        key = AGENTS["bot"] if operation.is_for_agents else None
        answer = room.call(operation, stranger, key)
        assert answer.status_code == 404, operation
        assert answer.json()["details"]["resource"] == "conversation"


def test_agents_may_call_agent_endpoints_only(room: Room) -> None:
    for operation in EVERY:
        answer = room.call(operation, None, AGENTS["bot"])
        if operation.is_for_agents:
            assert let_in(answer), (operation, answer.text)
        else:
            assert answer.status_code == 401, operation
        assert room.call(operation, None, "unknown key").status_code == 401, operation


def test_a_users_token_is_not_enough_for_agent_endpoints(room: Room) -> None:
    for operation in EVERY:
        if operation.is_for_agents:
            assert room.call(operation, signed(room.members["owner"])).status_code == 403


def bad_tokens(owner: str) -> dict[str, str]:
    far = time.time() + 600
    return {
        "expired": signed(owner, exp=time.time() - 5),
        "not yet valid": signed(owner, nbf=far),
        "foreign": jwt.encode(
            {"sub": owner, "exp": far}, "another secret of thirty-two bytes", algorithm="HS256"
        ),
        "unsigned": signed(owner).rpartition(".")[0] + ".",
        "none": jwt.encode({"sub": owner, "exp": far}, "", algorithm="none"),
        "other algorithm": jwt.encode({"sub": owner, "exp": far}, SECRET * 2, algorithm="HS512"),
        "without sub": jwt.encode({"exp": far}, SECRET, algorithm="HS256"),
        "empty sub": signed(""),
        "blank sub": signed("  "),
        "long sub": signed("x" * 256),
        "garbage": "a.b.c",
    }


@pytest.mark.parametrize("kind", bad_tokens("x"))
def test_an_invalid_token_gives_no_access(room: Room, kind: str) -> None:
    token = bad_tokens(room.members["owner"])[kind]
    for operation in EVERY:
        answer = room.call(operation, token, AGENTS["bot"] if operation.is_for_agents else None)
        assert answer.status_code == 401, operation
        assert answer.headers["www-authenticate"] == "Bearer"


def test_credentials_are_required(room: Room) -> None:
    for operation in EVERY:
        assert room.call(operation, None).status_code == 401, operation
