"""Bad input gets the right status and the Error envelope, never a 500, and changes nothing."""

from typing import Any

from harness.check import check
from harness.trial import Trial, expect, expect_equal, memory

_ENVELOPE = "Every non-2xx answer carries the Error envelope."
_400 = (
    "A bad UUID, a NUL character, a lone surrogate, a wrong type anywhere: 400 with a message that"
    " names the field. Never 500."
)


def endpoints(trial: Trial, name: str) -> list[tuple[str, str]]:
    """The endpoints that take a body."""
    return [
        ("PUT", f"/v1/namespaces/{name}"),
        ("PATCH", f"/v1/namespaces/{name}"),
        ("POST", f"/v1/namespaces/{name}/memories"),
        ("POST", "/v1/search"),
        ("DELETE", f"/v1/memories/{trial.uuid()}"),
    ]


async def _refused(trial: Trial, name: str, fields: dict[str, Any]) -> None:
    """A write with these fields is refused with a message that names the first of them."""
    answer = await trial.send("POST", f"/v1/namespaces/{name}/memories", memory("x", fields))
    answer.expect_error(400, "bad_request")
    field = next(iter(fields))
    message = answer.envelope().message
    expect(field in message, f"a message that names {field}", message)


@check("errors.not-json", _ENVELOPE)
async def not_json(trial: Trial) -> None:
    """Sends bodies that are not JSON, truncated, empty or not UTF-8 to every endpoint."""
    name = await trial.namespace()
    for method, path in endpoints(trial, name):
        for raw in (b"", b"{", b"not json", b'{"kind": }', b"\xff\xfe{}", b"{} {}"):
            answer = await trial.send(method, path, raw=raw)
            answer.expect_error(400, "bad_request")


@check("errors.not-an-object", _ENVELOPE)
async def not_an_object(trial: Trial) -> None:
    """Sends JSON that is a list, a string, a number, null: every body is an object."""
    name = await trial.namespace()
    for method, path in endpoints(trial, name):
        for raw in (b"[]", b'"text"', b"7", b"null", b"true"):
            answer = await trial.send(method, path, raw=raw)
            answer.expect_error(400, "bad_request")


@check("errors.missing-fields", _400)
async def missing_fields(trial: Trial) -> None:
    """Leaves out each required field: 400, and the message names it."""
    name = await trial.namespace()
    bodies: list[tuple[str, str, dict[str, Any], str]] = [
        ("PUT", f"/v1/namespaces/{trial.name()}", {"metadata": {}}, "kind"),
        ("POST", "/v1/search", {"limit": 5}, "namespaces"),
        ("DELETE", f"/v1/memories/{trial.uuid()}", {}, "requested_by_namespace"),
    ]
    for field in ("content", "kind", "source"):
        body = {key: value for key, value in memory("x").items() if key != field}
        bodies.append(("POST", f"/v1/namespaces/{name}/memories", body, field))
    for method, path, body, field in bodies:
        answer = await trial.send(method, path, body)
        answer.expect_error(400, "bad_request")
        message = answer.envelope().message
        expect(field in message, f"a message that names {field}", message)


@check("errors.wrong-types-in-a-write", _400)
async def wrong_types_in_a_write(trial: Trial) -> None:
    """Sends every required field of a write with other types."""
    name = await trial.namespace()
    others: list[object] = [7, True, None, [], {}, ["x"]]
    for field in ("content", "kind", "source"):
        for value in others:
            await _refused(trial, name, {field: value})
    for value in others:
        if value is not None:
            await _refused(trial, name, {"id": value})
    expect_equal("memories", await trial.contents(name), [])


@check("errors.wrong-types-in-a-search", _400)
async def wrong_types_in_a_search(trial: Trial) -> None:
    """Sends namespaces and kinds that are not lists of names."""
    name = await trial.namespace()
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("namespaces", {"namespaces": name}),
        ("namespaces", {"namespaces": []}),
        ("namespaces", {"namespaces": None}),
        ("namespaces", {"namespaces": [7]}),
        ("namespaces", {"namespaces": [name, None]}),
        ("namespaces", {"namespaces": {"0": name}}),
        ("kinds", {"namespaces": [name], "kinds": "fact"}),
        ("kinds", {"namespaces": [name], "kinds": ["opinion"]}),
        ("kinds", {"namespaces": [name], "kinds": [None]}),
    ]
    for field, body in bodies:
        answer = await trial.send("POST", "/v1/search", body)
        answer.expect_error(400, "bad_request")
        message = answer.envelope().message
        expect(field in message, f"a message that names {field}", message)


@check("errors.wrong-types-in-a-namespace", _400)
async def wrong_types_in_a_namespace(trial: Trial) -> None:
    """Sends metadata that is not an object, and kinds that do not exist."""
    name = await trial.namespace(metadata={"keep": 1})
    others: list[object] = [7, "text", [], True]
    for value in others:
        (await trial.put(name, metadata=value)).expect_error(400, "bad_request")
        (await trial.patch(name, metadata=value)).expect_error(400, "bad_request")
    for kind in ("Custom", "galaxy", "", None, 7):
        (await trial.put(name, kind=kind)).expect_error(400, "bad_request")
    answer = (await trial.put(name)).expect(200)
    expect_equal("metadata", answer.object.get("metadata"), {"keep": 1})


@check("errors.unknown-words", _400)
async def unknown_words(trial: Trial) -> None:
    """Sends kinds and sources that the contract does not have, or in another case."""
    name = await trial.namespace()
    for value in ("opinion", "Fact", "", "fact "):
        await _refused(trial, name, {"kind": value})
    for value in ("robot", "AGENT", "", " user"):
        await _refused(trial, name, {"source": value})


@check("errors.bad-uuid", _400)
async def bad_uuid(trial: Trial) -> None:
    """Writes with ids that are not UUIDs."""
    name = await trial.namespace()
    for value in ("1", "not-a-uuid", trial.uuid()[:-1], trial.uuid() + "0", "' OR 1=1"):
        await _refused(trial, name, {"id": value})
    expect_equal("memories", await trial.contents(name), [])


@check("errors.empty-uuid", _400)
async def empty_uuid(trial: Trial) -> None:
    """Writes with an empty id, which a decoder with zero values mistakes for no id."""
    name = await trial.namespace()
    await _refused(trial, name, {"id": ""})
    expect_equal("memories", await trial.contents(name), [])


@check("errors.nul-character", _400)
async def nul_character(trial: Trial) -> None:
    """Sends the NUL character in content, and in a query when the plugin claims fts."""
    name = await trial.namespace()
    await _refused(trial, name, {"content": "before\x00after"})
    if trial.claims("fts"):
        answer = await trial.search(name, query="a\x00b")
        answer.expect_error(400, "bad_request")
    if trial.claims("propagation"):
        await _refused(trial, name, {"propagation": {"a": ["\x00"]}})
    (await trial.put(name, metadata={"a": "\x00"})).expect_error(400, "bad_request")
    (await trial.search(f"{name}\x00")).expect_error(400, "bad_request")
    expect_equal("memories", await trial.contents(name), [])


@check("errors.lone-surrogate", _400)
async def lone_surrogate(trial: Trial) -> None:
    r"""Sends half of a surrogate pair as `\ud800`: valid JSON, but not text."""
    name = await trial.namespace()
    path = f"/v1/namespaces/{name}/memories"
    for half in (r"\ud800", r"x\udfff", r"\udc00\ud800"):
        raw = f'{{"content": "{half}", "kind": "fact", "source": "agent"}}'.encode()
        answer = await trial.send("POST", path, raw=raw)
        answer.expect_error(400, "bad_request")
        message = answer.envelope().message
        expect("content" in message, "a message that names content", message)
    expect_equal("memories", await trial.contents(name), [])


@check("errors.bad-times", "Times are RFC 3339 with an offset.", needs=["ttl"])
async def bad_times(trial: Trial) -> None:
    """Sends times without an offset, dates that do not exist, numbers, words."""
    name = await trial.namespace()
    bad: list[object] = [
        "tomorrow", "", "2099-01-01", "2099-01-01T00:00:00", "2099-02-30T00:00:00Z",
        "2099-01-01T25:00:00Z", 4070908800, True, {}, ["2099-01-01T00:00:00Z"],
    ]  # fmt: skip
    for value in bad:
        await _refused(trial, name, {"expires_at": value})
        (await trial.put(name, expires_at=value)).expect_error(400, "bad_request")
        (await trial.patch(name, expires_at=value)).expect_error(400, "bad_request")
    expect_equal("memories", await trial.contents(name), [])


@check("errors.bad-pins", _400, needs=["pin"])
async def bad_pins(trial: Trial) -> None:
    """Sends pins that are not booleans."""
    name = await trial.namespace()
    bad: list[object] = ["true", 1, 0, "yes", [], {}]
    for value in bad:
        await _refused(trial, name, {"pin": value})
    expect_equal("memories", await trial.contents(name), [])


@check("errors.bad-queries", _400, needs=["fts"])
async def bad_queries(trial: Trial) -> None:
    """Sends queries that are not strings."""
    name = await trial.namespace()
    bad: list[object] = [7, True, ["word"], {"match": "word"}]
    for value in bad:
        answer = await trial.search(name, query=value)
        answer.expect_error(400, "bad_request")
        message = answer.envelope().message
        expect("query" in message, "a message that names query", message)


@check("errors.unknown-path", "404 for what is not in the table, with the Error envelope.")
async def unknown_path(trial: Trial) -> None:
    """Requests paths that the contract does not have."""
    for path in ("/", "/v1", "/v1/nothing", "/v2/health", "/v1/search/more"):
        (await trial.send("GET", path)).expect_error(404, "not_found")


@check("errors.unknown-method", "405 for what is not in the table, with the Error envelope.")
async def unknown_method(trial: Trial) -> None:
    """Uses methods that an endpoint does not have: 405, or 404, with the envelope."""
    name = await trial.namespace()
    for method, path in (
        ("POST", "/v1/health"),
        ("GET", "/v1/search"),
        ("POST", f"/v1/namespaces/{name}"),
        ("PUT", f"/v1/memories/{trial.uuid()}"),
    ):
        answer = (await trial.send(method, path)).expect(405, 404)
        answer.envelope()


@check("errors.deep-nesting", "Never 500.")
async def deep_nesting(trial: Trial) -> None:
    """Sends 100,000 opening brackets, and metadata nested 5,000 deep."""
    name = await trial.namespace()
    nested = b'{"kind": "custom", "metadata": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}"
    for raw in (b"[" * 100_000, nested):
        answer = await trial.send("PUT", f"/v1/namespaces/{name}", raw=raw)
        answer.expect(200, 400, 413)
        if answer.status != 200:
            answer.envelope()


@check("errors.hold-no-content", "Error.message is for people.", level="should")
async def hold_no_content(trial: Trial) -> None:
    """Sends a bad write with a secret in its content: the refusal should not repeat it."""
    name = await trial.namespace()
    answer = await trial.write(name, "the password is swordfish", kind="opinion")
    answer.expect_error(400, "bad_request")
    expect(b"swordfish" not in answer.body, "an answer without the content", answer.shown)
