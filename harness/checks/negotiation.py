"""A plugin has what it claims, ignores what it does not claim, and claims what it has."""

from datetime import timedelta

from contract import format_time
from harness.check import check
from harness.errors import Failure
from harness.trial import Trial, expect, expect_equal, memories_of

_IGNORES = (
    "A plugin ignores request fields of a capability that it does not list; it does not fail"
    " on them."
)


def _judge(trial: Trial, name: str, works: bool, inert: str) -> None:
    """Claimed but without effect is a failure; not claimed but working is worth a warning."""
    if trial.claims(name):
        expect(works, f"{name} to work, as /v1/health claims", inert)
    elif works:
        trial.warn(f"{name} works but /v1/health does not list it: callers will not use it")


@check("negotiation.embedding", f"embedding: agents may ask for semantic search. {_IGNORES}")
async def embedding(trial: Trial) -> None:
    """Writes two memories with embeddings, the nearer one first, and searches by embedding."""
    name = await trial.namespace()
    await trial.written(name, "north", embedding=[1.0, 0.0, 0.0])
    await trial.written(name, "east", embedding=[0.0, 1.0, 0.0])
    found = await trial.contents(name, embedding=[0.9, 0.1, 0.0])
    _judge(trial, "embedding", found[:1] == ["north"], f"a search that returned {found}")


@check("negotiation.fts", f"fts: agents may pass a query string. {_IGNORES}")
async def fts(trial: Trial) -> None:
    """Writes two memories and searches for a word that only the older one has."""
    name = await trial.namespace()
    await trial.written(name, "the giraffe sleeps standing")
    await trial.written(name, "the otter sleeps afloat")
    found = await trial.contents(name, query="giraffe")
    works = found == ["the giraffe sleeps standing"]
    if not trial.claims("fts") and not works:
        expect_equal("all memories, as without the query", len(found), 2)
    _judge(trial, "fts", works, f"a search for giraffe that returned {found}")


@check("negotiation.ttl", f"ttl: agents may set expires_at. {_IGNORES}")
async def ttl(trial: Trial) -> None:
    """Writes one memory that expired long ago and one without a TTL."""
    name = await trial.namespace()
    (await trial.write(name, "stale", expires_at="2001-01-01T00:00:00Z")).expect(201)
    await trial.written(name, "fresh")
    found = await trial.contents(name)
    expect("fresh" in found, "the memory without a TTL to be found", found)
    _judge(trial, "ttl", found == ["fresh"], f"a search that returned {found}")


@check("negotiation.pin", f"pin: pinned rows come first. {_IGNORES}")
async def pin(trial: Trial) -> None:
    """Pins the oldest of three memories and expects it first."""
    name = await trial.namespace()
    await trial.written(name, "pinned", pin=True)
    for number in range(2):
        await trial.sleep(0.02)
        await trial.written(name, f"plain {number}")
    found = await trial.contents(name)
    expect_equal("memories found", len(found), 3)
    _judge(trial, "pin", found[:1] == ["pinned"], f"a search that returned {found}")


@check(
    "negotiation.propagation",
    f"propagation: stored as opaque JSON and returned on read. {_IGNORES}",
)
async def propagation(trial: Trial) -> None:
    """Writes a memory with a propagation object and reads it back."""
    name = await trial.namespace()
    sent = {"to": ["team"], "depth": 2}
    await trial.written(name, "pass it on", propagation=sent)
    got = (await trial.one(name)).propagation
    _judge(trial, "propagation", got == sent, f"a memory with propagation {got}")


@check("negotiation.batch", "batch: named in HealthResponse.extensions; POST /v1/memories/batch.")
async def batch(trial: Trial) -> None:
    """Sends a batch of one write. Without the extension: 404 with the Error envelope."""
    name = await trial.namespace()
    write = {"namespace": name, "content": "one", "kind": "fact", "source": "agent"}
    answer = await trial.batch([write])
    if not trial.claims("batch") and answer.status in (404, 405):
        answer.envelope()
        return
    works = answer.status == 200 and await trial.contents(name) == ["one"]
    _judge(trial, "batch", works, answer.shown)


@check("negotiation.list", "list: named in HealthResponse.extensions; POST /v1/memories/list.")
async def listing(trial: Trial) -> None:
    """Lists one memory. Without the extension: 404 with the Error envelope."""
    name = await trial.namespace()
    await trial.written(name, "one")
    answer = await trial.list_page(name)
    if not trial.claims("list") and answer.status in (404, 405):
        answer.envelope()
        return
    works = answer.status == 200 and len(answer.object.get("memories") or []) == 1
    _judge(trial, "list", works, answer.shown)


@check(
    "negotiation.filter",
    "filter: named in HealthResponse.extensions; a plugin ignores fields that it does not know.",
)
async def filtering(trial: Trial) -> None:
    """Searches with `created_before` between two memories. Without the extension: finds both."""
    name = await trial.namespace()
    await trial.written(name, "older")
    await trial.sleep(0.02)
    await trial.written(name, "newer")
    newer = next(row for row in await trial.found(name) if row.content == "newer")
    found = await trial.contents(name, created_before=format_time(newer.created_at))
    works = found == ["older"]
    if not trial.claims("filter") and not works:
        expect_equal("all memories, as without the filter", len(found), 2)
    _judge(trial, "filter", works, f"a search that returned {found}")


@check("negotiation.browse", "browse: named in HealthResponse.extensions; POST /v1/memories/count.")
async def browse(trial: Trial) -> None:
    """Counts one memory. Without the extension: 404 or 405 with the Error envelope."""
    name = await trial.namespace()
    await trial.written(name, "one")
    answer = await trial.count(name)
    if not trial.claims("browse") and answer.status in (404, 405):
        answer.envelope()
        return
    works = answer.status == 200 and answer.object.get("count") == 1
    _judge(trial, "browse", works, answer.shown)


@check("negotiation.get", "get: named in HealthResponse.extensions; GET /v1/memories/{id}.")
async def get(trial: Trial) -> None:
    """Reads one memory. Without the extension: 404 or 405 with the Error envelope."""
    name = await trial.namespace()
    answer = await trial.get(await trial.written(name, "one"), name)
    if not trial.claims("get") and answer.status in (404, 405):
        answer.envelope()
        return
    works = answer.status == 200 and answer.object.get("content") == "one"
    _judge(trial, "get", works, answer.shown)


@check("negotiation.ignores-unknown-fields", "Unknown fields in a request are ignored.")
async def ignores_unknown_fields(trial: Trial) -> None:
    """Sends a field of a later contract version with every request that has a body."""
    name = await trial.namespace(colour="blue")
    (await trial.patch(name, metadata={"a": 1}, colour="blue")).expect(200)
    memory_id = await trial.written(name, "one", colour={"r": 0})
    expect_equal("memories found", await trial.contents(name, colour=None), ["one"])
    body = {"requested_by_namespace": name, "colour": ["blue"]}
    (await trial.send("DELETE", f"/v1/memories/{memory_id}", body)).expect(204)


@check(
    "negotiation.needs-no-content-type",
    "A client may send no Content-Type; the body is JSON all the same.",
)
async def needs_no_content_type(trial: Trial) -> None:
    """Creates a namespace, writes and searches without a Content-Type."""
    name = trial.name()
    bare: dict[str, str] = {}
    body = {"kind": "custom"}
    (await trial.send("PUT", f"/v1/namespaces/{name}", body, headers=bare)).expect(200)
    write = {"content": "one", "kind": "fact", "source": "agent"}
    path = f"/v1/namespaces/{name}/memories"
    (await trial.send("POST", path, write, headers=bare)).expect(201)
    answer = await trial.send("POST", "/v1/search", {"namespaces": [name]}, headers=bare)
    expect_equal("memories found", len(memories_of(answer)), 1)


@check(
    "negotiation.ignores-fields-it-does-not-claim",
    "A plugin ignores request fields of a capability that it does not list; it does not fail"
    " on them.",
)
async def ignores_fields_it_does_not_claim(trial: Trial) -> None:
    """Writes and searches with the fields of all five capabilities at once."""
    name = await trial.namespace()
    later = format_time((await trial.clock()).now() + timedelta(hours=1))
    fields = {
        "expires_at": later,
        "pin": True,
        "propagation": {"to": "all"},
        "embedding": [0.6, 0.8],
    }
    await trial.written(name, "everything at once", **fields)
    found = await trial.contents(name, query="everything", embedding=[0.6, 0.8])
    if found != ["everything at once"]:
        raise Failure("the memory that was written", f"a search that returned {found}")
