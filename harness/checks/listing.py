"""The extension `list`: everything, page by page, in `id` order."""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

from contract import ListResponse, MemoryPluginError, parse
from harness.check import check
from harness.errors import Failure
from harness.trial import Trial, expect, expect_equal

_NEEDS = ["list"]
_ALL = "list: all live memories of the named namespaces in id order, keyset cursor."
_ONCE = "list: a row that lives through the whole listing appears exactly once."


async def walk(
    trial: Trial,
    *names: str,
    limit: int,
    between: Callable[[], Awaitable[None]] | None = None,
    **fields: Any,
) -> list[list[dict[str, Any]]]:
    """The pages of a listing as received; `between` is called between pages."""
    pages: list[list[dict[str, Any]]] = []
    cursor: dict[str, Any] = {}
    for _ in range(100):
        answer = await trial.list_page(*names, limit=limit, **cursor, **fields)
        answer.expect(200)
        try:
            parse(ListResponse, answer.body)
        except MemoryPluginError as error:
            raise Failure(f"a ListResponse ({error})", answer.shown) from None
        page = answer.object["memories"]
        expect(len(page) <= limit, f"at most {limit} memories on a page", len(page))
        pages.append(page)
        cursor = {"cursor": answer.object.get("next_cursor")}
        if cursor["cursor"] is None:
            return pages
        if between is not None:
            await between()
    raise Failure("a last page with next_cursor null", "100 pages and no end")


def ids_of(pages: list[list[dict[str, Any]]]) -> list[str]:
    """All ids of a listing, in its order."""
    return [row["id"] for page in pages for row in page]


@check("listing.all-in-id-order", _ALL, needs=_NEEDS)
async def all_in_id_order(trial: Trial) -> None:
    """Lists 30 memories of two namespaces on one page."""
    names = [await trial.namespace(), await trial.namespace()]
    sent = await trial.fill(names[0], [f"note {number}" for number in range(15)])
    sent += await trial.fill(names[1], [f"note {number}" for number in range(15, 30)])
    pages = await walk(trial, *names, limit=1000)
    expect_equal("ids in order", ids_of(pages), sorted(sent))
    contents = sorted(row["content"] for page in pages for row in page)
    expect_equal("contents", contents, sorted(f"note {number}" for number in range(30)))


@check("listing.pages", "list: keyset cursor; the cursor is null on the last page.", needs=_NEEDS)
async def pages(trial: Trial) -> None:
    """Lists 24 memories in pages of 1, 5, 8, 12, 23, 24 and 25: each row once on each."""
    name = await trial.namespace()
    sent = sorted(await trial.fill(name, [f"note {number}" for number in range(24)]))
    for limit in (1, 5, 8, 12, 23, 24, 25):
        found = await walk(trial, name, limit=limit)
        expect_equal(f"ids in pages of {limit}", ids_of(found), sent)
        sizes = [len(page) for page in found]
        expect(all(size == limit for size in sizes[:-2]), f"full pages of {limit}", sizes)


@check("listing.pages-across-namespaces", _ALL, needs=_NEEDS)
async def pages_across_namespaces(trial: Trial) -> None:
    """Lists three namespaces in pages of 4: in id order across all, not one after the other."""
    names = [await trial.namespace() for _ in range(3)]
    sent = [
        memory_id
        for name in names
        for memory_id in await trial.fill(name, [f"note {number}" for number in range(5)])
    ]
    expect_equal("ids", ids_of(await walk(trial, *names, limit=4)), sorted(sent))


@check("listing.is-whole", "list: fields full: Memory.", needs=["list", "pin", "propagation"])
async def is_whole(trial: Trial) -> None:
    """Lists a memory with every field: what search returns, the listing returns."""
    name = await trial.namespace()
    await trial.written(
        name, "all of it", kind="summary", source="user", pin=True, propagation={"a": [None]}
    )
    row = await trial.one(name)
    listed = parse(ListResponse, (await trial.list_page(name)).expect(200).body).memories
    expect_equal(
        "listed",
        [memory.model_dump(exclude={"score"}) for memory in listed],
        [row.model_dump(exclude={"score"})],
    )


@check(
    "listing.digest",
    "list: a digest entry is id, namespace, content_sha256: lower-case hex of the UTF-8 content.",
    needs=_NEEDS,
)
async def digest(trial: Trial) -> None:
    """Lists digests of text in several scripts and compares the hashes."""
    name = await trial.namespace()
    contents = ["plain", "  spaces ", "caf\u00e9", "cafe\u0301", "記憶 🗝️", "line\nline"]
    sent = {}
    for content in contents:
        memory_id = await trial.written(name, content)
        sent[memory_id] = sha256(content.encode()).hexdigest()
    rows = [row for page in await walk(trial, name, limit=4, fields="digest") for row in page]
    expect_equal("digests", {row["id"]: row.get("content_sha256") for row in rows}, sent)
    expect_equal("namespaces", {row.get("namespace") for row in rows}, {name})
    expect(all("content" not in row for row in rows), "digests without content", rows)


@check("listing.only-named-namespaces", _ALL, needs=_NEEDS)
async def only_named_namespaces(trial: Trial) -> None:
    """Lists one of two namespaces, named twice, along with one that does not exist."""
    here, there = await trial.namespace(), await trial.namespace()
    memory_id = await trial.written(here, "here")
    await trial.written(there, "there")
    expect_equal("ids", ids_of(await walk(trial, here, trial.name(), here, limit=5)), [memory_id])
    expect_equal("of an unknown one", ids_of(await walk(trial, trial.name(), limit=5)), [])


@check("listing.default-limit", "list: limit 1–1,000, 100 when it is absent.", needs=_NEEDS)
async def default_limit(trial: Trial) -> None:
    """Lists 101 memories without a limit, a cursor or fields: at most 100, and a cursor."""
    name = await trial.namespace()
    await trial.fill(name, [f"note {number}" for number in range(101)])
    body = (await trial.list_page(name)).expect(200).object
    expect_equal("memories on the first page", len(body.get("memories") or []), 100)
    expect(body.get("next_cursor") is not None, "a cursor", body.get("next_cursor"))


@check(
    "listing.bad-requests", "list: limit 1–1,000, fields full or digest; else 400.", needs=_NEEDS
)
async def bad_requests(trial: Trial) -> None:
    """Sends limits of 0 and 1,001, unknown fields, wrong types and no namespaces."""
    name = await trial.namespace()
    bad: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": 1001},
        {"limit": "5"},
        {"fields": "some"},
        {"fields": ["id"]},
        {"cursor": 7},
        {"namespaces": []},
        {"namespaces": None},
    ]
    for fields in bad:
        answer = await trial.send("POST", "/v1/memories/list", {"namespaces": [name], **fields})
        answer.expect_error(400, "bad_request")


@check("listing.unknown-cursor", "The cursor is opaque. A wrong one: 400. Never 500.", needs=_NEEDS)
async def unknown_cursor(trial: Trial) -> None:
    """Sends cursors that the plugin never returned: 400, or a page; never 500."""
    name = await trial.namespace()
    for cursor in ("", "x", "null", "' OR 1=1", "\u2713", "a" * 5000):
        answer = (await trial.list_page(name, cursor=cursor)).expect(200, 400)
        if answer.status == 400:
            answer.envelope()


@check("listing.while-others-write", _ONCE, needs=_NEEDS)
async def while_others_write(trial: Trial) -> None:
    """Lists 20 memories in pages of 3; between pages others are written, changed and deleted.

    This happens at both ends of the order, so that a page counted from either end would shift.
    """
    name = await trial.namespace()
    staying = await trial.fill(name, [f"staying {number}" for number in range(20)])
    passing = ["00000000-0000-4000-8000-", "ffffffff-ffff-4fff-bfff-"]
    passing = [prefix + trial.uuid()[-12:] for prefix in passing]
    there = False

    async def churn() -> None:
        nonlocal there
        for memory_id in passing:
            if there:
                (await trial.forget(memory_id, name)).expect(204)
            else:
                await trial.written(name, "passing", id=memory_id)
        there = not there
        await trial.written(name, "staying, changed", id=trial.random.choice(staying))

    listed = ids_of(await walk(trial, name, limit=3, between=churn))
    seen = [memory_id for memory_id in listed if memory_id in staying]
    expect_equal("rows that stayed, each once", seen, sorted(staying))
