"""What expires is gone from that instant on, by the plugin's own clock.

Other checks run during the waits. A read counts only if it certainly happened before or certainly
after the instant, so a slow plugin or a wrong clock does no harm.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from contract import format_time
from harness.check import check
from harness.checks.embedding import at_angle
from harness.checks.listing import walk
from harness.checks.namespaces import namespace_of
from harness.clock import PluginClock
from harness.errors import Failure, HarnessError
from harness.exchange import Exchange
from harness.trial import Trial, expect, expect_equal, memories_of

_NEEDS = ["ttl"]
_INSTANT = (
    "Expired memories, and memories in an expired namespace, are never returned, from the instant"
    " they expire."
)
_GONE = (
    "An expired namespace is gone: a write into it gets 404, a PUT creates it anew and empty (with"
    " no TTL unless the body has one)."
)
_RESCUE = (
    "Only PATCH with a later expires_at or null brings an expired namespace back with the rows it"
    " still has."
)
_KEEPS = "PUT with kind alone must not wipe a TTL set by PATCH; an explicit null clears it."
_MARGINS = (1, 5, 25)
_SECOND = timedelta(seconds=1)


def soon(clock: PluginClock, seconds: float) -> datetime:
    """A whole second of the plugin's time, at least this far ahead."""
    return (clock.now() + timedelta(seconds=seconds + 1)).replace(microsecond=0)


async def expire(trial: Trial, prepare: Callable[[datetime], Awaitable[None]]) -> datetime:
    """Call `prepare` with an instant in the near future, and wait until it has passed.

    If the plugin is too slow to finish that before the instant, the outcome means nothing, and it
    is tried again with more time.
    """
    clock = await trial.clock()
    for margin in _MARGINS:
        moment = soon(clock, margin)
        failure = None
        try:
            await prepare(moment)
        except Failure as error:
            failure = error
        if clock.saw(trial.wire.exchanges[-1]).was_before(moment):
            if failure is not None:
                raise failure
            break
    else:
        raise HarnessError(f"the plugin needs more than {_MARGINS[-1]} s for a few requests")
    while True:
        answer = await trial.send("GET", "/v1/health")
        if clock.saw(answer).was_after(moment):
            return moment
        left = (moment - clock.saw(answer).earliest).total_seconds()
        await trial.sleep(max(left, 0.01))


async def watch(
    trial: Trial,
    prepare: Callable[[datetime], Awaitable[None]],
    look: Callable[[], Awaitable[Exchange]],
    before: list[str],
    after: list[str],
) -> None:
    """Read repeatedly around an instant: the result changes then, and only then.

    It takes a read within the last second before the instant and one within the first second after
    it; if the plugin is too slow for that, it is tried again.
    """
    clock = await trial.clock()
    for margin in _MARGINS:
        moment = soon(clock, margin)
        await prepare(moment)
        close_before = was_set = False
        while True:
            answer = await look()
            seen = clock.saw(answer)
            found = sorted(row.content for row in memories_of(answer))
            if seen.was_before(moment):
                was_set = found != before and await _was_set(clock, trial)
                if was_set:
                    break
                expect_equal("found before the instant", found, before)
                close_before = moment - seen.earliest <= _SECOND
            elif seen.was_after(moment):
                was_set = found != after and await _was_set(clock, trial)
                if was_set:
                    break
                expect_equal("found after the instant", found, after)
                break
            left = (moment - seen.latest).total_seconds()
            await trial.sleep(left - 0.5 if left > 0.8 else 0.03)
        if close_before and not was_set and seen.latest - moment <= _SECOND:
            return
        clock = await trial.clock()
    trial.warn("too slow to see to the second when what has a TTL expires")


async def _was_set(clock: PluginClock, trial: Trial) -> bool:
    """Whether the plugin's clock, or ours, has been moved since it was read."""
    return not clock.agrees_with(await trial.clock())


async def vanishes(trial: Trial, write: dict[str, Any], search: dict[str, Any]) -> None:
    """One memory with a TTL and one without: both are there until the instant, then one."""
    name = await trial.namespace()
    await trial.written(name, "lasting walrus", **write)

    async def prepare(moment: datetime) -> None:
        await trial.written(name, "fleeting walrus", expires_at=format_time(moment), **write)

    await watch(
        trial,
        prepare,
        lambda: trial.search(name, **search),
        ["fleeting walrus", "lasting walrus"],
        ["lasting walrus"],
    )


@check("ttl.memory-expires-on-time", _INSTANT, needs=_NEEDS)
async def memory_expires_on_time(trial: Trial) -> None:
    """Reads continuously around the instant: there before, gone after."""
    await vanishes(trial, {}, {})


@check("ttl.in-text-search", _INSTANT, needs=["ttl", "fts"])
async def in_text_search(trial: Trial) -> None:
    """The same in a search by words."""
    await vanishes(trial, {}, {"query": "walrus"})


@check("ttl.in-embedding-search", _INSTANT, needs=["ttl", "embedding"])
async def in_embedding_search(trial: Trial) -> None:
    """The same in a search by meaning."""
    await vanishes(trial, {"embedding": at_angle(0)}, {"embedding": at_angle(0)})


@check("ttl.namespace-expires-on-time", _INSTANT, needs=_NEEDS)
async def namespace_expires_on_time(trial: Trial) -> None:
    """Gives a namespace a TTL by PATCH and reads continuously around the instant."""
    names = [await trial.namespace()]
    await trial.written(names[0], "lasting")

    async def prepare(moment: datetime) -> None:
        names[1:] = [await trial.namespace()]
        await trial.written(names[1], "fleeting")
        (await trial.patch(names[1], expires_at=format_time(moment))).expect(200)

    await watch(trial, prepare, lambda: trial.search(*names), ["fleeting", "lasting"], ["lasting"])


@check("ttl.in-listing", "list: all live memories.", needs=["ttl", "list"])
async def in_listing(trial: Trial) -> None:
    """A listing leaves out expired memories, and those of an expired namespace."""
    name = await trial.namespace()
    expiring: list[str] = []
    await trial.written(name, "lasting")

    async def prepare(moment: datetime) -> None:
        expiring[:] = [await trial.namespace()]
        await trial.written(name, "fleeting", expires_at=format_time(moment))
        await trial.written(expiring[0], "in an expiring namespace")
        (await trial.patch(expiring[0], expires_at=format_time(moment))).expect(200)

    await expire(trial, prepare)
    rows = [row for page in await walk(trial, name, *expiring, limit=10) for row in page]
    expect_equal("listed", [row["content"] for row in rows], ["lasting"])


@check("ttl.past-is-never-returned", _INSTANT, needs=_NEEDS)
async def past_is_never_returned(trial: Trial) -> None:
    """Writes memories that expired an hour and a year ago: none is ever seen."""
    name = await trial.namespace()
    now = (await trial.clock()).now()
    for ago in (timedelta(hours=1), timedelta(days=365)):
        (await trial.write(name, "stale", expires_at=format_time(now - ago))).expect(201)
    expect_equal("found", await trial.contents(name), [])


@check("ttl.does-not-eat-the-limit", _INSTANT, needs=_NEEDS)
async def does_not_eat_the_limit(trial: Trial) -> None:
    """Three live memories older than five expired ones: a limit of 3 returns the three."""
    name = await trial.namespace()
    await trial.fill(name, ["live 0", "live 1", "live 2"])
    await trial.fill(
        name, [f"stale {number}" for number in range(5)], expires_at="2001-01-01T00:00:00Z"
    )
    found = await trial.contents(name, limit=3)
    expect_equal("found", sorted(found), ["live 0", "live 1", "live 2"])


@check("ttl.is-returned", "Times are RFC 3339 with an offset, answered in UTC (Z).", needs=_NEEDS)
async def is_returned(trial: Trial) -> None:
    """Sets expires_at with an offset and reads the same instant back in UTC."""
    name = await trial.namespace()
    await trial.written(name, "x", expires_at="2099-06-30T23:30:00.250+05:30")
    row = await trial.one_as_sent(name)
    expect(str(row.get("expires_at")).endswith("Z"), "a time that ends in Z", row)
    got = (await trial.one(name)).expires_at
    expect_equal("expires_at", got, datetime(2099, 6, 30, 18, 0, 0, 250_000, UTC))
    made = namespace_of(await trial.put(name, expires_at="2099-01-01T00:00:00-01:00"))
    expect_equal("of the namespace", made.expires_at, datetime(2099, 1, 1, 1, tzinfo=UTC))


@check("ttl.write-again-without", "An absent optional field becomes unset.", needs=_NEEDS)
async def write_again_without(trial: Trial) -> None:
    """Writes a memory again without its TTL: it no longer expires."""
    name = await trial.namespace()

    async def prepare(moment: datetime) -> None:
        memory_id = trial.uuid()
        await trial.written(name, "x", id=memory_id, expires_at=format_time(moment))
        await trial.written(name, "x", id=memory_id)

    await expire(trial, prepare)
    expect_equal("found", (await trial.contents(name))[:1], ["x"])


async def expired_namespace(trial: Trial, **fields: Any) -> tuple[str, datetime]:
    """A namespace with one memory that has just expired."""
    names: list[str] = []

    async def prepare(moment: datetime) -> None:
        names.append(await trial.namespace(**fields))
        await trial.written(names[-1], "of the old one")
        (await trial.patch(names[-1], expires_at=format_time(moment))).expect(200)

    moment = await expire(trial, prepare)
    return names[-1], moment


@check("ttl.no-write-into-an-expired-namespace", _GONE, needs=_NEEDS)
async def no_write_into_an_expired_namespace(trial: Trial) -> None:
    """Lets a namespace expire and writes into it: 404."""
    name, _ = await expired_namespace(trial)
    (await trial.write(name, "too late")).expect_error(404, "not_found")


@check("ttl.put-makes-an-expired-namespace-anew", _GONE, needs=_NEEDS)
async def put_makes_an_expired_namespace_anew(trial: Trial) -> None:
    """PUTs an expired namespace: empty, without metadata and TTL, and it can be written to."""
    name, moment = await expired_namespace(trial, metadata={"old": True})
    anew = namespace_of(await trial.put(name))
    expect_equal("expires_at", anew.expires_at, None)
    expect_equal("metadata", anew.metadata, None)
    expect(anew.created_at >= moment, f"created_at after {moment}", anew.created_at)
    expect_equal("memories", await trial.contents(name), [])
    await trial.written(name, "of the new one")
    expect_equal("memories", await trial.contents(name), ["of the new one"])


@check("ttl.patch-null-rescues", _RESCUE, needs=_NEEDS)
async def patch_null_rescues(trial: Trial) -> None:
    """Restores an expired namespace by PATCH with null."""
    name, _ = await expired_namespace(trial)
    await _is_rescued(trial, name, None)


@check("ttl.patch-with-a-later-time-rescues", _RESCUE, needs=_NEEDS)
async def patch_with_a_later_time_rescues(trial: Trial) -> None:
    """Restores an expired namespace by PATCH with a future time."""
    name, moment = await expired_namespace(trial)
    await _is_rescued(trial, name, moment + timedelta(hours=1))


async def _is_rescued(trial: Trial, name: str, until: datetime | None) -> None:
    rescued = await trial.patch(name, expires_at=until and format_time(until))
    expect_equal("expires_at", namespace_of(rescued).expires_at, until)
    rest = await trial.contents(name)
    expect(set(rest) <= {"of the old one"}, "nothing but the rows it had", rest)
    await trial.written(name, "alive again")
    found = await trial.contents(name)
    expect("alive again" in found, "the new memory to be found", found)


@check("ttl.other-patches-do-not-rescue", _RESCUE, needs=_NEEDS)
async def other_patches_do_not_rescue(trial: Trial) -> None:
    """PATCHes the metadata of an expired namespace: 404, and it stays gone."""
    name, _ = await expired_namespace(trial)
    (await trial.patch(name, metadata={"a": 1})).expect_error(404, "not_found")
    expect_equal("memories", await trial.contents(name), [])


@check("ttl.put-keeps-the-ttl", _KEEPS, needs=_NEEDS)
async def put_keeps_the_ttl(trial: Trial) -> None:
    """Sets a TTL by PATCH and PUTs with only the kind, twice: the TTL stays in effect."""
    names: list[str] = []

    async def prepare(moment: datetime) -> None:
        name = await trial.namespace()
        names.append(name)
        await trial.written(name, "fleeting")
        (await trial.patch(name, expires_at=format_time(moment))).expect(200)
        for _ in range(2):
            expect_equal("expires_at", namespace_of(await trial.put(name)).expires_at, moment)
        patched = namespace_of(await trial.patch(name, metadata={"a": 1}))
        expect_equal("expires_at after a PATCH of the metadata", patched.expires_at, moment)

    await expire(trial, prepare)
    expect_equal("memories", await trial.contents(names[-1]), [])


@check("ttl.null-clears-the-ttl", _KEEPS, needs=_NEEDS)
async def null_clears_the_ttl(trial: Trial) -> None:
    """Clears the TTL of two namespaces before it ends, by PUT and by PATCH: they remain."""
    names: list[str] = []

    async def prepare(moment: datetime) -> None:
        names[:] = [await trial.namespace(), await trial.namespace()]
        for name in names:
            await trial.written(name, f"in {name}")
            (await trial.patch(name, expires_at=format_time(moment))).expect(200)
        cleared = [
            namespace_of(await trial.put(names[0], expires_at=None)),
            namespace_of(await trial.patch(names[1], expires_at=None)),
        ]
        expect_equal("expires_at", [row.expires_at for row in cleared], [None, None])

    await expire(trial, prepare)
    found = await trial.contents(*names)
    expect_equal("memories", sorted(found), sorted(f"in {name}" for name in names))


@check("ttl.patch-moves-the-end", _RESCUE, needs=_NEEDS)
async def patch_moves_the_end(trial: Trial) -> None:
    """Extends a TTL before it ends: the namespace outlives the first one."""
    names: list[str] = []

    async def prepare(moment: datetime) -> None:
        names.append(await trial.namespace())
        await trial.written(names[-1], "x")
        (await trial.patch(names[-1], expires_at=format_time(moment))).expect(200)
        later = format_time(moment + timedelta(hours=1))
        (await trial.patch(names[-1], expires_at=later)).expect(200)

    await expire(trial, prepare)
    expect_equal("memories", await trial.contents(names[-1]), ["x"])


@check("ttl.offsets-and-fractions", "Times are RFC 3339 with an offset.", needs=_NEEDS)
async def offsets_and_fractions(trial: Trial) -> None:
    """Sends times with other offsets and with one to nine decimals."""
    name = await trial.namespace()
    for text in (
        "2099-01-01T05:30:00+05:30",
        "2098-12-31T14:00:00-10:00",
        "2099-01-01T00:00:00.0Z",
        "2099-01-01T00:00:00.000000Z",
        "2099-01-01T00:00:00.000000000Z",
    ):
        memory_id = await trial.written(name, "late", expires_at=text)
        rows = {str(row.id): row.expires_at for row in await trial.found(name)}
        expect_equal(f"{text} as stored", rows.get(memory_id), datetime(2099, 1, 1, tzinfo=UTC))
