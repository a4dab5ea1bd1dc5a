"""The extension `browse`: newest first page by page, what a cursor belongs to, counts."""

from datetime import timedelta
from typing import Any

from contract import CountResponse, MemoryPluginError, format_time, parse
from harness.check import check
from harness.checks.listing import ids_of, walk
from harness.errors import Failure
from harness.exchange import Exchange
from harness.trial import Trial, expect, expect_equal

_LIST = ["browse", "list"]
_ORDER = (
    "browse: order: id (default) or newest (created_at descending, then id ascending; pins do not"
    " matter)."
)
_ONCE = (
    "browse: a memory that lives through the whole listing appears exactly once; one written after"
    " the first page does not appear in newest."
)
_CURSOR = (
    "browse: a cursor belongs to its order, set of namespaces, kinds and filter, in id order too;"
    " with others: 400 (limit and fields may change)."
)
_COUNT = "browse: POST /v1/memories/count: live memories only, exact."
_GROUPS = (
    "browse: groups, largest first, then by value; value is null for memories without the field or"
    " where it is not a string, number or boolean."
)


def counted(answer: Exchange) -> dict[str, Any]:
    """The answer of a count; Failure unless it has the shape of the contract."""
    answer.expect(200)
    try:
        parse(CountResponse, answer.body)
    except MemoryPluginError as error:
        raise Failure(f"a CountResponse ({error})", answer.shown) from None
    return answer.object


async def _groups(trial: Trial, name: str, field: str, **fields: Any) -> list[tuple[Any, int]]:
    body = counted(await trial.count(name, group_by=field, **fields))
    groups = body.get("groups")
    if not isinstance(groups, list):
        raise Failure("groups to be a list", str(groups))
    return [(group["value"], group["count"]) for group in groups]


@check("browse.newest", _ORDER, needs=_LIST)
async def newest(trial: Trial) -> None:
    """Lists six memories of two namespaces, the oldest of them pinned, newest first."""
    names = [await trial.namespace(), await trial.namespace()]
    sent = []
    for number in range(6):
        pin: dict[str, Any] = {"pin": True} if number == 0 else {}
        sent.append(await trial.written(names[number % 2], f"note {number}", **pin))
        await trial.sleep(0.02)
    for limit in (1, 2, 4, 6, 7):
        pages = await walk(trial, *names, limit=limit, order="newest")
        expect_equal(f"newest first in pages of {limit}", ids_of(pages), sent[::-1])


@check("browse.same-time", _ORDER, needs=[*_LIST, "batch"])
async def same_time(trial: Trial) -> None:
    """Of memories created at the same time the smaller id comes first, also across pages."""
    name = await trial.namespace()
    moment = (await trial.clock()).now().replace(microsecond=0) - timedelta(days=2)
    ids = [trial.uuid() for _ in range(7)]
    later = trial.uuid()
    writes = [
        {
            "namespace": name,
            "id": memory_id,
            "content": "at once",
            "kind": "fact",
            "source": "agent",
            "created_at": format_time(moment + timedelta(hours=memory_id == later)),
        }
        for memory_id in [*ids, later]
    ]
    (await trial.batch(writes)).expect(200)
    for limit in (2, 3, 100):
        pages = await walk(trial, name, limit=limit, order="newest")
        expect_equal(f"in pages of {limit}", ids_of(pages), [later, *sorted(ids)])


@check("browse.default-order", _ORDER, needs=_LIST)
async def default_order(trial: Trial) -> None:
    """`order: id` is the same as a listing without an order."""
    name = await trial.namespace()
    sent = sorted(await trial.fill(name, [f"note {number}" for number in range(12)]))
    expect_equal("without order", ids_of(await walk(trial, name, limit=5)), sent)
    expect_equal("order id", ids_of(await walk(trial, name, limit=5, order="id")), sent)


@check("browse.kinds", "browse: list also accepts kinds.", needs=_LIST)
async def kinds(trial: Trial) -> None:
    """Lists facts and checkpoints without the summaries between them, in both orders."""
    name = await trial.namespace()
    ids: dict[str, list[str]] = {"fact": [], "summary": [], "checkpoint": []}
    for number in range(9):
        kind = list(ids)[number % 3]
        ids[kind].append(await trial.written(name, f"note {number}", kind=kind))
    wanted = sorted(ids["fact"] + ids["checkpoint"])
    for order in ("id", "newest"):
        pages = await walk(trial, name, limit=2, order=order, kinds=["fact", "checkpoint"])
        expect_equal(f"in order {order}", sorted(ids_of(pages)), wanted)
    expect_equal("no kinds", len(ids_of(await walk(trial, name, limit=5, kinds=[]))), 9)


@check("browse.while-others-write", _ONCE, needs=_LIST)
async def while_others_write(trial: Trial) -> None:
    """Lists newest first in pages of 3; between pages others are written, changed and deleted.

    With `batch` some of the new ones have an old `created_at`, which would put them on a later
    page.
    """
    name = await trial.namespace()
    staying = []
    for number in range(12):
        staying.append(await trial.written(name, f"staying {number}"))
        await trial.sleep(0.005)
    going = await trial.written(name, "going")
    oldest = min(row.created_at for row in await trial.found(name, limit=100))
    came: list[str] = []

    async def churn() -> None:
        came.append(await trial.written(name, "just came"))
        if trial.claims("batch"):
            old = trial.uuid()
            write = {
                "namespace": name,
                "id": old,
                "content": "came late, is old",
                "kind": "fact",
                "source": "agent",
                "created_at": format_time(oldest - timedelta(hours=1)),
            }
            (await trial.batch([write])).expect(200)
            came.append(old)
        await trial.written(name, "staying, changed", id=trial.random.choice(staying))
        await trial.forget(going, name)

    listed = ids_of(await walk(trial, name, limit=3, order="newest", between=churn))
    seen = [memory_id for memory_id in listed if memory_id in staying]
    expect_equal("rows that stayed, each once", seen, staying[::-1])
    expect_equal("rows that came later", [it for it in listed if it in came], [])


@check("browse.cursor-belongs", _CURSOR, needs=_LIST)
async def cursor_belongs(trial: Trial) -> None:
    """Uses the cursor of a first page with another order, other namespaces, kinds and filters: 400.

    Repeated names and another order of the names are still the same set.
    """
    names = [await trial.namespace(), await trial.namespace()]
    for name in names:
        await trial.fill(name, [f"note {number}" for number in range(4)], propagation={"a": 1})
    for order in ("id", "newest"):
        base: dict[str, Any] = {"order": order, "kinds": ["fact"]}
        if trial.claims("filter"):
            base["where"] = {"a": 1}
        first = (await trial.list_page(*names, limit=2, **base)).expect(200).object
        cursor = first.get("next_cursor")
        expect(cursor is not None, "a cursor after 2 of 8", cursor)
        other_order = "newest" if order == "id" else "id"
        changes: list[tuple[list[str], dict[str, Any]]] = [
            (names, {"order": other_order}),
            (names, {"kinds": ["fact", "summary"]}),
            (names, {"kinds": []}),
            (names[:1], {}),
            ([*names, trial.name()], {}),
        ]
        if trial.claims("filter"):
            changes += [
                (names, {"where": {"a": 2}}),
                (names, {"where": {"a": "1"}}),
                (names, {"created_after": "2001-01-01T00:00:00Z"}),
                (names, {"created_before": "2999-01-01T00:00:00Z"}),
            ]
        for some, change in changes:
            answer = await trial.list_page(*some, limit=2, **(base | {"cursor": cursor} | change))
            answer.expect_error(400, "bad_request")
            message = answer.envelope().message
            expect("cursor" in message, "a message that names cursor", message)
        same = [*reversed(names), names[0]]
        again = await trial.list_page(*same, limit=5, fields="digest", **base, cursor=cursor)
        expect_equal("on the next page", len(again.expect(200).object["memories"]), 5)


@check("browse.bad-requests", _ORDER, needs=_LIST)
async def bad_requests(trial: Trial) -> None:
    """Asks for orders and kinds that do not exist: 400 with a message naming the field."""
    name = await trial.namespace()
    for fields in (
        {"order": "oldest"},
        {"order": "NEWEST"},
        {"order": 1},
        {"kinds": ["dream"]},
        {"kinds": "fact"},
    ):
        answer = await trial.list_page(name, **fields)
        answer.expect_error(400, "bad_request")
        (field,) = fields
        message = answer.envelope().message
        expect(field in message, f"a message that names {field}", message)


@check("browse.count", _COUNT, needs=["browse"])
async def count(trial: Trial) -> None:
    """Counts 130 memories: with repeated and unknown namespaces, by kind, after a forget."""
    names = [await trial.namespace(), await trial.namespace()]
    ids = await trial.fill(names[0], [f"note {number}" for number in range(110)])
    await trial.fill(names[1], [f"sum {number}" for number in range(20)], kind="summary")
    expect_equal("in both", counted(await trial.count(*names))["count"], 130)
    some = [names[0], names[0], trial.name()]
    expect_equal("in one, named twice", counted(await trial.count(*some))["count"], 110)
    kinds = {"kinds": ["summary"]}
    expect_equal("summaries", counted(await trial.count(*names, **kinds))["count"], 20)
    (await trial.forget(ids[0], names[0])).expect(204)
    body = counted(await trial.count(names[0]))
    expect_equal("after a forget", body["count"], 109)
    expect_equal("groups without group_by", body.get("groups"), None)
    expect_equal("in an unknown one", counted(await trial.count(trial.name()))["count"], 0)


@check("browse.count-of-the-living", _COUNT, needs=["browse", "ttl"])
async def count_of_the_living(trial: Trial) -> None:
    """Expired memories do not count, nor do the memories of an expired namespace."""
    past = "2001-01-01T00:00:00Z"
    name, gone = await trial.namespace(), await trial.namespace()
    await trial.written(name, "fresh")
    (await trial.write(name, "stale", expires_at=past)).expect(201)
    await trial.written(gone, "in an expired one")
    (await trial.patch(gone, expires_at=past)).expect(200)
    expect_equal("count", counted(await trial.count(name, gone))["count"], 1)


@check("browse.count-filter", _COUNT, needs=["browse", "filter", "propagation"])
async def count_filter(trial: Trial) -> None:
    """Counts with `where` and a time span, and groups only what matches."""
    name = await trial.namespace()
    await trial.fill(name, [f"a {n}" for n in range(3)], propagation={"keep": 1, "topic": "a"})
    await trial.fill(name, [f"b {n}" for n in range(2)], propagation={"keep": 2, "topic": "b"})
    expect_equal("with where", counted(await trial.count(name, where={"keep": 1}))["count"], 3)
    early = {"created_before": "2001-01-01T00:00:00Z"}
    expect_equal("with a span", counted(await trial.count(name, **early))["count"], 0)
    groups = await _groups(trial, name, "topic", where={"keep": 2})
    expect_equal("groups with where", groups, [("b", 2)])


@check("browse.groups", _GROUPS, needs=["browse", "propagation"])
async def groups(trial: Trial) -> None:
    """Groups strings and numbers: the largest first, groups of equal size by value."""
    name = await trial.namespace()
    for value, number in (("cherry", 1), ("apple", 1), ("banana", 1), ("date", 3), ("elder", 2)):
        contents = [f"{value} {n}" for n in range(number)]
        await trial.fill(name, contents, propagation={"fruit": value, "size": number * 10})
    body = counted(await trial.count(name, group_by="fruit"))
    expect_equal("count", body["count"], 8)
    fruits = [("date", 3), ("elder", 2), ("apple", 1), ("banana", 1), ("cherry", 1)]
    expect_equal("fruits", await _groups(trial, name, "fruit"), fruits)
    other = await trial.namespace()
    for size in (10, 9, 100):
        await trial.written(other, f"of {size}", propagation={"size": size})
    expect_equal("sizes", await _groups(trial, other, "size"), [(9, 1), (10, 1), (100, 1)])


@check("browse.group-types", _GROUPS, needs=["browse", "propagation"])
async def group_types(trial: Trial) -> None:
    """1 and 1.0 are one group; true, "1" and 1 are three; everything else is in the group null."""
    name = await trial.namespace()
    for content, value in (
        ("one", 1),
        ("one float", 1.0),
        ("text", "1"),
        ("true", True),
        ("null", None),
        ("list", [1]),
        ("object", {"a": 1}),
    ):
        await trial.written(name, content, propagation={"field": value})
    await trial.written(name, "other", propagation={"another": 1})
    await trial.written(name, "none")
    found = await _groups(trial, name, "field")
    kinds = {(type(value) is bool, isinstance(value, str), value): count for value, count in found}
    expected = {
        (False, False, 1): 2,
        (False, True, "1"): 1,
        (True, False, True): 1,
        (False, False, None): 5,
    }
    expect_equal("groups", len(found), 4)
    expect(kinds == expected, "1 twice, true once, the text once, null 5 times", found)


@check(
    "browse.too-many-groups",
    "browse: more than 1,000 groups, the null one included: 400 naming group_by.",
    needs=["browse", "propagation"],
)
async def too_many_groups(trial: Trial) -> None:
    """Groups 1,000 values, then 1,001 with a memory that has none."""
    name = await trial.namespace()
    writes = [
        {
            "namespace": name,
            "content": f"note {number}",
            "kind": "fact",
            "source": "agent",
            "propagation": {"value": number},
        }
        for number in range(1000)
    ]
    if trial.claims("batch"):
        (await trial.batch(writes)).expect(200)
    else:
        for write in writes:
            await trial.written(name, str(write["content"]), propagation=write["propagation"])
    expect_equal("groups", len(await _groups(trial, name, "value")), 1000)
    await trial.written(name, "without a value")
    answer = await trial.count(name, group_by="value")
    answer.expect_error(400, "bad_request")
    message = answer.envelope().message
    expect("group_by" in message, "a message that names group_by", message)
    expect_equal("count", counted(await trial.count(name))["count"], 1001)


@check("browse.bad-counts", _COUNT, needs=["browse"])
async def bad_counts(trial: Trial) -> None:
    """Counts without namespaces, with unknown kinds and with invalid field names: 400."""
    name = await trial.namespace()
    bad: list[dict[str, Any]] = [
        {"namespaces": []},
        {"namespaces": [1]},
        {"kinds": ["dream"]},
        {"group_by": ""},
        {"group_by": "n" * 65},
        {"group_by": 5},
        {"group_by": ["a"]},
    ]
    for fields in bad:
        body: dict[str, Any] = {"namespaces": [name]} | fields
        answer = await trial.send("POST", "/v1/memories/count", body)
        answer.expect_error(400, "bad_request")
    (await trial.send("POST", "/v1/memories/count", {})).expect_error(400, "bad_request")
