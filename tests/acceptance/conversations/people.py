"""Users and agents of a server; every answer is compared with the OpenAPI document."""

import re
import uuid
from functools import cache
from typing import Any

import httpx
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from conversations.document import openapi
from tests.waiting import SECONDS

AGENTS = {"bot": "bot-key-1", "other": "other-key-2"}
_BASE = "urn:conversations"


_CLIENTS: dict[str, httpx.Client] = {}


def client_of(address: str) -> httpx.Client:
    """One client per server, shared by all users and agents."""
    if address not in _CLIENTS:
        _CLIENTS[address] = httpx.Client(base_url=address, timeout=SECONDS)
    return _CLIENTS[address]


def close_clients() -> None:
    while _CLIENTS:
        _CLIENTS.popitem()[1].close()


class Person:
    """Somebody who sends requests; every JSON answer is compared with the OpenAPI document."""

    def __init__(self, address: str, headers: dict[str, str]) -> None:
        self.headers = headers
        self.http = client_of(address)

    def ask(self, method: str, path: str, expected: int | None = None, **options: Any) -> Any:
        """The JSON of an answer with the expected status; None where there is none."""
        answer = self.send(method, path, **options)
        if expected is not None:
            assert answer.status_code == expected, (method, path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {**self.headers, **options.pop("headers", {})}
        answer = self.http.request(method, path, headers=headers, **options)
        check_answer(method, path.partition("?")[0], answer)
        return answer

    def get(self, path: str, expected: int | None = 200, **options: Any) -> Any:
        return self.ask("GET", path, expected, **options)

    def post(self, path: str, body: Any = None, expected: int | None = 201) -> Any:
        return self.ask("POST", path, expected, json={} if body is None else body)

    def patch(self, path: str, body: Any, expected: int | None = 200) -> Any:
        return self.ask("PATCH", path, expected, json=body)

    def delete(self, path: str, expected: int | None = 204) -> Any:
        return self.ask("DELETE", path, expected)


class User(Person):
    """A user, with shorthands for what most tests do first."""

    def __init__(self, address: str, name: str, token: str | None = None) -> None:
        self.name = name
        super().__init__(address, {"authorization": f"Bearer {token or name}"})

    def start(self, *messages: str, **fields: Any) -> "Talk":
        """A new conversation with messages of this user."""
        made = self.post("/v1/user/conversations", fields)
        talk = Talk(made)
        for message in messages:
            self.say(talk, message)
        return talk

    def say(self, talk: "Talk", content: str, **fields: Any) -> dict[str, Any]:
        said: dict[str, Any] = self.post(f"{talk.user}/messages", {"content": content, **fields})
        return said

    def fork(self, talk: "Talk", message: str, content: str | None = None, **body: Any) -> "Talk":
        if content is not None:
            body["newMessage"] = {"content": content}
        return Talk(self.post(f"{talk.user}/messages/{message}/fork", body))

    def reads(self, talk: "Talk", query: str = "") -> list[Any]:
        """The contents of what this user sees."""
        page = self.get(f"{talk.user}/messages{query}")
        return [message["content"] for message in page["data"]]

    def share(self, talk: "Talk", other: "User", level: str) -> None:
        body = {"userId": other.name, "accessLevel": level}
        self.post(f"{talk.user}/memberships", body, None)

    def finds(self, query: str, **fields: Any) -> list[str]:
        """The contents of what a search finds."""
        body = {"query": query, **fields}
        found = self.post("/v1/user/search/messages", body, 200)
        return [result["message"]["content"] for result in found["data"]]


class Agent(Person):
    """An agent with its key, on its own or on behalf of a user."""

    def __init__(self, address: str, name: str, on_behalf_of: str | None = None) -> None:
        self.name = name
        headers = {"x-api-key": AGENTS[name]}
        if on_behalf_of is not None:
            headers["authorization"] = f"Bearer {on_behalf_of}"
        super().__init__(address, headers)

    def says(self, talk: "Talk", *messages: Any, expected: int = 201) -> list[dict[str, Any]]:
        wanted = [it if isinstance(it, dict) else {"content": it} for it in messages]
        answer = self.post(f"{talk.agent}/messages", {"messages": wanted}, expected)
        said: list[dict[str, Any]] = answer["messages"] if expected in (200, 201) else [answer]
        return said

    def context(self, talk: "Talk", query: str = "") -> list[Any]:
        page = self.get(f"{talk.agent}/context{query}")
        return [message["content"] for message in page["messages"]]

    def syncs(self, talk: "Talk", *contents: Any) -> dict[str, Any]:
        messages = [it if isinstance(it, dict) else {"content": it} for it in contents]
        done: dict[str, Any] = self.post(
            f"{talk.agent}/memory/messages/sync", {"messages": messages}, 200
        )
        return done

    def sums_up(self, talk: "Talk", until: str, text: str = "in short", **fields: Any) -> Any:
        body = {
            "title": "A summary",
            "summary": text,
            "untilMessageId": until,
            "summarizedAt": "2026-01-31T12:00:00+02:00",
            **fields,
        }
        return self.post(f"{talk.agent}/summaries", body)

    def records(self, talk: "Talk", **fields: Any) -> "Answer":
        return Answer(self, talk, self.post(f"{talk.agent}/response", fields))


class Talk:
    """A conversation by its two paths."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.made = made
        self.id: str = made["id"]
        self.group: str = made["conversationGroupId"]
        self.user = f"/v1/user/conversations/{self.id}"
        self.agent = f"/v1/agent/conversations/{self.id}"


class Answer:
    """A response that an agent records."""

    def __init__(self, agent: Agent, talk: Talk, made: dict[str, Any]) -> None:
        self._agent = agent
        self.made = made
        self.id: str = made["recordingId"]
        self.path = f"{talk.agent}/response/{self.id}"

    def adds(self, content: str | None = None, expected: int = 200, **fields: Any) -> Any:
        body = {**fields, **({} if content is None else {"content": content})}
        return self._agent.post(self.path, body, expected)


def fresh(name: str) -> str:
    """A user id that no other test has."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


def check_answer(method: str, path: str, answer: httpx.Response) -> None:
    """Compare an answer with the document: its status and its body, without extra properties."""
    found = [template for template in openapi()["paths"] if _pattern(template).fullmatch(path)]
    if not found:
        assert answer.status_code == 404
        return
    # A literal path before one with a variable in the same place.
    operation = openapi()["paths"][min(found, key=lambda it: it.count("{"))].get(method.lower())
    if operation is None:
        assert answer.status_code in (404, 405)
        return
    documented = operation["responses"]
    response = documented.get(str(answer.status_code)) or documented.get("default")
    assert response is not None, f"{method} {path} answered {answer.status_code}"
    if "$ref" in response:
        response = openapi()["components"]["responses"][response["$ref"].rpartition("/")[2]]
        assert answer.status_code >= 400, f"{method} {path}: {answer.status_code} is not documented"
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if not answer.content:
        assert "content" not in response or answer.status_code == 204
        return
    if kind != "application/json":
        assert kind in response["content"]
        return
    schema = response["content"][kind]["schema"]
    _validator(schema.get("$ref", "#/components/responses/Unavailable")).validate(answer.json())
    if "$ref" in schema:
        assert_nothing_more(answer.json(), schema)


def assert_nothing_more(value: Any, schema: dict[str, Any]) -> None:
    """Every property of an answer is in the document."""
    while "$ref" in schema:
        schema = openapi()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if isinstance(value, dict) and "properties" in schema:
        assert value.keys() <= schema["properties"].keys()
        for name, item in value.items():
            assert_nothing_more(item, schema["properties"][name])
    elif isinstance(value, list) and "items" in schema:
        for item in value:
            assert_nothing_more(item, schema["items"])


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)))


@cache
def _validator(reference: str) -> Draft202012Validator:
    if reference.startswith("#/components/responses"):
        reference = "#/components/schemas/Error"
    registry: Registry[Any] = Registry().with_resource(
        _BASE, Resource.from_contents(openapi(), default_specification=DRAFT202012)
    )
    return Draft202012Validator({"$ref": f"{_BASE}{reference}"}, registry=registry)
