"""How requests are parsed: paths, JSON and text, which web frameworks treat differently."""

from urllib.parse import quote

from harness.check import check
from harness.trial import Trial, expect, expect_equal, memory

_AFTER = "Bytes after the JSON value: 400."
_CASE = "Field names in another case are unknown fields: ignored."
_UTF8 = "Invalid UTF-8: 400."
_SLASH = (
    "An encoded slash (%2F) in a path segment belongs to the name; it never splits it, so such a"
    " name is invalid (400 or 404), and no other namespace is touched."
)
_NAME = r"Namespace name: ^[a-z]+:[A-Za-z0-9_:.\-]+$; anything else: 400."
_TABLE = "404 for what is not in the table, with the Error envelope."
_JSON = "JSON over HTTP, UTF-8."
_UNKNOWN = "Unknown fields in a request are ignored."


@check("wire.trailing-bytes", _AFTER)
async def trailing_bytes(trial: Trial) -> None:
    """Sends valid bodies followed by more bytes, which a streaming decoder does not read."""
    name = await trial.namespace()
    path = f"/v1/namespaces/{name}/memories"
    for tail in (b" x", b"{}", b"]", b'{"content": "y"}', b",", b"\x00"):
        body = b'{"content": "x", "kind": "fact", "source": "agent"}' + tail
        (await trial.send("POST", path, raw=body)).expect_error(400, "bad_request")
        search = f'{{"namespaces": ["{name}"]}}'.encode() + tail
        (await trial.send("POST", "/v1/search", raw=search)).expect_error(400, "bad_request")
    expect_equal("memories", await trial.contents(name), [])


@check("wire.field-case", _CASE)
async def field_case(trial: Trial) -> None:
    """Sends `Content`, `KIND` and `LIMIT`, which some decoders accept as the lower-case names."""
    name = await trial.namespace()
    path = f"/v1/namespaces/{name}/memories"
    for field in ("content", "kind", "source"):
        body = memory("x")
        body[field.capitalize()] = body.pop(field)
        (await trial.send("POST", path, body)).expect_error(400, "bad_request")
    for number in range(3):
        await trial.written(name, f"note {number}", Content="overwritten", CONTENT="overwritten")
    found = await trial.contents(name, Limit=1, LIMIT=1, Kinds=["summary"])
    expect_equal("contents", sorted(found), ["note 0", "note 1", "note 2"])


@check("wire.invalid-utf8", _UTF8)
async def invalid_utf8(trial: Trial) -> None:
    """Writes bytes that are not UTF-8 inside a string: refused, not stored with replacements."""
    name = await trial.namespace()
    path = f"/v1/namespaces/{name}/memories"
    for bad in (b"\xff", b"caf\xe9", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"):
        body = b'{"content": "a' + bad + b'b", "kind": "fact", "source": "agent"}'
        (await trial.send("POST", path, raw=body)).expect_error(400, "bad_request")
    expect_equal("memories", await trial.contents(name), [])


@check("wire.encoded-slash", _SLASH)
async def encoded_slash(trial: Trial) -> None:
    """Writes to `NAME%2Fmemories` and PATCHes `NAME%2F`: neither may reach NAME."""
    name = await trial.namespace(metadata={"keep": 1})
    for suffix in ("%2Fmemories", "%2fmemories", "%2F%2e%2e%2Fmemories"):
        answer = await trial.send("POST", f"/v1/namespaces/{name}{suffix}", memory("strayed"))
        answer.expect(400, 404, 405)
        answer.envelope()
        answer = await trial.send(
            "POST", f"/v1/namespaces/{name}{suffix}/memories", memory("strayed")
        )
        answer.expect(400, 404, 405)
    (await trial.send("PATCH", f"/v1/namespaces/{name}%2F", {"metadata": {}})).expect(400, 404, 405)
    expect_equal("memories", await trial.contents(name), [])
    expect_equal("metadata", (await trial.put(name)).object.get("metadata"), {"keep": 1})


@check("wire.encoded-colon", "Namespace name: a path segment.")
async def encoded_colon(trial: Trial) -> None:
    """Writes to `custom%3A…`, the result of JavaScript's encodeURIComponent: the same namespace."""
    name = await trial.namespace()
    encoded = quote(name, safe="").replace("conformance", "%63onformance")
    await trial.written(encoded, "here")
    expect_equal("memories", await trial.contents(name), ["here"])


@check("wire.semicolons", _NAME)
async def semicolons(trial: Trial) -> None:
    """PATCHes and writes to `NAME;v=1`, which Java frameworks treat as NAME with a parameter."""
    name = await trial.namespace(metadata={"keep": 1})
    for suffix in (";v=1", "%3Bv=1"):
        odd = name + suffix
        (await trial.patch(odd, metadata={})).expect(400, 404)
        (await trial.write(odd, "strayed")).expect(400, 404)
    expect_equal("memories", await trial.contents(name), [])
    expect_equal("metadata", (await trial.put(name)).object.get("metadata"), {"keep": 1})


@check("wire.names-like-files", _NAME)
async def names_like_files(trial: Trial) -> None:
    """Uses names that end in .json, .html and .xml: part of the name, not a format."""
    plain = await trial.namespace()
    for suffix in (".json", ".html", ".xml"):
        name = plain + suffix
        trial.own(name)
        answer = (await trial.put(name)).expect(200)
        expect_equal("name", answer.object.get("name"), name)
        await trial.written(name, f"in {suffix}")
        expect_equal("memories", await trial.contents(name), [f"in {suffix}"])
    expect_equal("memories of the plain name", await trial.contents(plain), [])


@check("wire.plus-is-not-a-space", _NAME)
async def plus_is_not_a_space(trial: Trial) -> None:
    """Uses a name with + in the path: invalid, not truncated and not decoded."""
    name = await trial.namespace()
    for odd in (f"{name}+", f"{name}+x"):
        trial.own(odd)
        (await trial.put(odd)).expect(400, 404)
        (await trial.write(odd, "strayed")).expect(400, 404)
    expect_equal("memories", await trial.contents(name), [])


@check("wire.dot-segments", _NAME)
async def dot_segments(trial: Trial) -> None:
    """PATCHes through encoded dot segments: they must not lead to another namespace."""
    name = await trial.namespace(metadata={"keep": 1})
    for odd in (f"x/%2e%2e/{name}", f"%2e/{name}"):
        answer = await trial.send("PATCH", f"/v1/namespaces/{odd}", {"metadata": {}})
        answer.expect(400, 404, 405)
    expect_equal("metadata", (await trial.put(name)).object.get("metadata"), {"keep": 1})


@check("wire.bad-percent-encoding", "Never 500.")
async def bad_percent_encoding(trial: Trial) -> None:
    """Requests names with broken percent-encoding and bytes that are not UTF-8."""
    for odd in ("%zz", "%", "%f", "custom:%ff%fe", "custom:%ed%a0%80"):
        answer = await trial.send("PATCH", f"/v1/namespaces/{odd}", {"metadata": {}})
        answer.expect(400, 404)
        answer.envelope()


@check("wire.trailing-slash", _TABLE)
async def trailing_slash(trial: Trial) -> None:
    """Requests `/v1/health/` and `/v1/search/`: not in the contract, and not a redirect."""
    (await trial.send("GET", "/v1/health/")).expect_error(404, "not_found")
    body = {"namespaces": [await trial.namespace()]}
    (await trial.send("POST", "/v1/search/", body)).expect_error(404, "not_found")


@check("wire.path-case", _TABLE)
async def path_case(trial: Trial) -> None:
    """Requests paths in another case: not in the contract."""
    for path in ("/V1/health", "/v1/Health"):
        (await trial.send("GET", path)).expect_error(404, "not_found")
    body = {"namespaces": [await trial.namespace()]}
    (await trial.send("POST", "/v1/SEARCH", body)).expect_error(404, "not_found")


@check("wire.query-string", "The body is JSON; the contract has no query parameters here.")
async def query_string(trial: Trial) -> None:
    """Adds a query string, as probes and proxies do: ignored, and never used as a field."""
    (await trial.send("GET", "/v1/health?verbose=1&x=%zz")).expect(200)
    name = await trial.namespace()
    await trial.fill(name, ["one", "two", "three"])
    body = {"namespaces": [name]}
    answer = await trial.send("POST", "/v1/search?limit=1&query=one", body)
    expect_equal("memories found", len(answer.expect(200).object.get("memories") or []), 3)


@check("wire.white-space", _JSON)
async def white_space(trial: Trial) -> None:
    """Sends JSON with line ends and spaces around it, as editors and shells leave it."""
    name = await trial.namespace()
    body = b'\r\n\t {\n "content" :\t"spacious" , "kind":"fact","source":"agent"} \n\n'
    (await trial.send("POST", f"/v1/namespaces/{name}/memories", raw=body)).expect(201)
    expect_equal("memories", await trial.contents(name), ["spacious"])


@check("wire.escapes", _JSON)
async def escapes(trial: Trial) -> None:
    r"""Sends every kind of JSON escape, including a surrogate pair for one character."""
    name = await trial.namespace()
    body = rb'{"content": "\u0041\/\b\f\n\r\t\"\\\ud83d\ude00\u00e9", "\u006bind": "fact",'
    body += b' "source": "agent"}'
    (await trial.send("POST", f"/v1/namespaces/{name}/memories", raw=body)).expect(201)
    expect_equal("content", await trial.contents(name), ['A/\b\f\n\r\t"\\\U0001f600é'])


@check("wire.fields-of-answers", _UNKNOWN)
async def fields_of_answers(trial: Trial) -> None:
    """Writes with `created_at`, `namespace` and `score`, which only answers have: not stored."""
    name, other = await trial.namespace(), await trial.namespace()
    fields = {"created_at": "1999-01-01T00:00:00Z", "namespace": other, "score": 7}
    await trial.written(name, "mine", **fields)
    row = await trial.one(name)
    expect_equal("namespace", row.namespace, name)
    expect(row.created_at.year > 1999, "created_at of the write itself", row.created_at)
    expect_equal("memories of the other", await trial.contents(other), [])


@check("wire.fields-of-namespaces", _UNKNOWN)
async def fields_of_namespaces(trial: Trial) -> None:
    """PUTs with `name` and `created_at` in the body: both are ignored."""
    name, other = trial.name(), trial.name()
    body = {"kind": "custom", "name": other, "created_at": "1999-01-01T00:00:00Z"}
    answer = await trial.send("PUT", f"/v1/namespaces/{name}", body)
    stored = answer.expect(200).object
    expect_equal("name", stored.get("name"), name)
    expect(not str(stored.get("created_at")).startswith("1999"), "the time of the PUT", stored)
    (await trial.write(other, "nowhere")).expect_error(404, "not_found")


@check("wire.errors-are-json", _JSON, level="should")
async def errors_are_json(trial: Trial) -> None:
    """Expects `Content-Type: application/json` on errors, too."""
    for method, path in (("GET", "/v1/nothing"), ("POST", "/v1/search"), ("POST", "/v1/health")):
        answer = await trial.send(method, path, raw=b"{" if method == "POST" else None)
        kind = answer.headers.get("content-type", "none").partition(";")[0].strip()
        expect_equal(f"Content-Type of {method} {path}", kind, "application/json")
