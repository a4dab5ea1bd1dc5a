"""The extension `filter`: `where`, `created_after` and `created_before`."""

from datetime import timedelta
from typing import Any

from contract import format_time
from harness.check import check
from harness.checks.listing import walk
from harness.trial import Trial, expect, expect_equal

_NEEDS = ["filter", "propagation"]
_EQUAL = (
    "filter: a memory matches when for every pair its propagation has that top-level field with an"
    " equal value of the same JSON type (1 equals 1.0; true is not 1)."
)
_FIRST = (
    "filter: the filter comes before ranking and limit: the answer is the best limit of those that"
    " match."
)
_TIMES = (
    "filter: created_after (inclusive), created_before (exclusive). An empty span: an empty list."
)
_BAD = (
    "filter: null, list or object as a value, no or more than 8 pairs, a time without offset: 400;"
    " name 1-64 characters, value string (at most 512), number or boolean."
)


async def _keep(trial: Trial, values: dict[str, Any]) -> str:
    """A namespace with a memory for each value, in the field `field`; the content is the key."""
    name = await trial.namespace()
    for content, value in values.items():
        await trial.written(name, content, propagation={"field": value, "other": "same"})
    return name


async def _matching(trial: Trial, name: str, **where: Any) -> list[str]:
    return sorted(await trial.contents(name, where=where, limit=100))


@check("filter.strings", _EQUAL, needs=_NEEDS)
async def strings(trial: Trial) -> None:
    """Strings match exactly: case, spaces, accents, `%` and `_` count, and parts do not match."""
    values = {
        "plain": "alpha",
        "upper": "Alpha",
        "longer": "alphabet",
        "space": "alpha ",
        "percent": "alp%",
        "under": "alph_",
        "accent": "álpha",
        "empty": "",
    }
    name = await _keep(trial, values)
    for content, value in values.items():
        expect_equal(f"with {value!r}", await _matching(trial, name, field=value), [content])
    expect_equal("with another", await _matching(trial, name, field="beta"), [])


@check("filter.types", _EQUAL, needs=_NEEDS)
async def types(trial: Trial) -> None:
    """A number equals its other spellings; strings, numbers and booleans never equal each other."""
    values: dict[str, Any] = {
        "one": 1,
        "one float": 1.0,
        "one text": "1",
        "true": True,
        "true text": "true",
        "zero": 0,
        "false": False,
        "half": 0.5,
        "minus": -3,
        "large": 9007199254740991,
        "null": None,
    }
    name = await _keep(trial, values)
    for value, contents in (
        (1, ["one", "one float"]),
        (1.0, ["one", "one float"]),
        ("1", ["one text"]),
        (True, ["true"]),
        ("true", ["true text"]),
        (0, ["zero"]),
        (False, ["false"]),
        (0.5, ["half"]),
        (-3, ["minus"]),
        (9007199254740991, ["large"]),
        ("null", []),
    ):
        expect_equal(f"with {value!r}", await _matching(trial, name, field=value), contents)


@check("filter.top-level", _EQUAL, needs=_NEEDS)
async def top_level(trial: Trial) -> None:
    """Only a top-level field counts, and its name is literal: dots, quotes and `$` mean nothing."""
    name = await trial.namespace()
    for content, propagation in (
        ("top", {"field": "x"}),
        ("nested", {"outer": {"field": "x"}}),
        ("in a list", {"field": ["x"]}),
        ("object", {"field": {"x": "x"}}),
        ("dotted", {"a.b": "x"}),
        ("path", {"a": {"b": "x"}}),
        ("odd", {"it's \"$['a']\" %": "x"}),
    ):
        await trial.written(name, content, propagation=propagation)
    await trial.written(name, "without")
    expect_equal("with field", await _matching(trial, name, field="x"), ["top"])
    expect_equal("with a.b", await _matching(trial, name, **{"a.b": "x"}), ["dotted"])
    odd = {"it's \"$['a']\" %": "x"}
    expect_equal("with an odd name", await _matching(trial, name, **odd), ["odd"])


@check("filter.every-pair", _EQUAL, needs=_NEEDS)
async def every_pair(trial: Trial) -> None:
    """With two pairs both must match; with eight, all eight."""
    name = await trial.namespace()
    eight = {f"field{number}": number for number in range(8)}
    await trial.written(name, "both", propagation={"a": 1, "b": "x"})
    await trial.written(name, "one", propagation={"a": 1, "b": "y"})
    await trial.written(name, "eight", propagation=eight)
    await trial.written(name, "seven", propagation=eight | {"field7": 0})
    expect_equal("of two", await _matching(trial, name, a=1, b="x"), ["both"])
    expect_equal("of eight", await _matching(trial, name, **eight), ["eight"])


@check("filter.borders", _BAD, needs=_NEEDS)
async def borders(trial: Trial) -> None:
    """Accepts a name of 64 characters and a string of 512, in any script."""
    name = await trial.namespace()
    for character in ("n", "é", "🦊"):
        field, value = character * 64, character * 512
        await trial.written(name, character, propagation={field: value})
        expect_equal("found", await _matching(trial, name, **{field: value}), [character])


@check("filter.before-limit", _FIRST, needs=_NEEDS)
async def before_limit(trial: Trial) -> None:
    """Three old memories match and thirty newer ones do not: a limit of 3 finds the three.

    By time, and by words and by meaning if the plugin claims them.
    """
    name = await trial.namespace()
    fields: dict[str, Any] = {"embedding": [0.6, 0.8, 0.0]} if trial.claims("embedding") else {}
    wanted = [f"wanted giraffe {number}" for number in range(3)]
    for content in wanted:
        await trial.written(name, content, propagation={"keep": True}, **fields)
    near: dict[str, Any] = {"embedding": [1.0, 0.0, 0.0]} if fields else {}
    rest = [f"giraffe giraffe {number}" for number in range(30)]
    await trial.fill(name, rest, propagation={"keep": False}, **near)
    ways: list[dict[str, Any]] = [{}]
    if trial.claims("fts"):
        ways.append({"query": "giraffe"})
    if fields:
        ways.append({"embedding": [1.0, 0.0, 0.0]})
    if len(ways) == 3:
        ways.append({"query": "giraffe", "embedding": [1.0, 0.0, 0.0]})
    for way in ways:
        found = await trial.contents(name, where={"keep": True}, limit=3, **way)
        expect_equal(f"found by {', '.join(way) or 'time'}", sorted(found), wanted)


@check("filter.times", _TIMES, needs=["filter"])
async def times(trial: Trial) -> None:
    """`created_after` is inclusive, `created_before` exclusive; offsets may differ."""
    name = await trial.namespace()
    for content in ("first", "second", "third"):
        await trial.written(name, content)
        await trial.sleep(0.02)
    at = {row.content: row.created_at for row in await trial.found(name)}
    expect(at["first"] < at["second"] < at["third"], "three times in order", sorted(at.values()))
    second, third = format_time(at["second"]), format_time(at["third"])
    for expected, span in (
        (["third", "second"], {"created_after": second}),
        (["first"], {"created_before": second}),
        (["second"], {"created_after": second, "created_before": third}),
        ([], {"created_after": second, "created_before": second}),
        ([], {"created_after": third, "created_before": second}),
    ):
        expect_equal(f"found with {span}", await trial.contents(name, **span), expected)
    offset = at["second"] + timedelta(hours=2)
    shifted = offset.strftime("%Y-%m-%dT%H:%M:%S.%f+02:00")
    found = await trial.contents(name, created_before=shifted)
    expect_equal("found with another offset", found, ["first"])


@check("filter.in-listing", _FIRST, needs=[*_NEEDS, "list"])
async def in_listing(trial: Trial) -> None:
    """Lists 10 of 30 memories in pages of 3, and those of a time span."""
    name = await trial.namespace()
    wanted = await trial.fill(name, [f"wanted {n}" for n in range(10)], propagation={"keep": 1})
    await trial.fill(name, [f"other {n}" for n in range(20)], propagation={"keep": 2})
    pages = await walk(trial, name, limit=3, where={"keep": 1})
    expect_equal("ids", [row["id"] for page in pages for row in page], sorted(wanted))
    span: dict[str, Any] = {"created_before": "2001-01-01T00:00:00Z"}
    expect_equal("before there was any", await walk(trial, name, limit=3, **span), [[]])


@check("filter.bad-requests", _BAD, needs=["filter"])
async def bad_requests(trial: Trial) -> None:
    """Sends invalid filters to search, list and count: 400 naming the field."""
    name = await trial.namespace()
    wheres: list[Any] = [
        {},
        {"a": None},
        {"a": [1]},
        {"a": {"b": 1}},
        {f"field{number}": number for number in range(9)},
        {"": 1},
        {"n" * 65: 1},
        {"a": "v" * 513},
        {"a\x00": 1},
        {"a": "\x00"},
        [{"a": 1}],
        "a",
        1,
    ]
    bad: list[dict[str, Any]] = [{"where": where} for where in wheres]
    for field in ("created_after", "created_before"):
        bad += [{field: time} for time in ("2026-01-31T12:00:00", "yesterday", "", 5)]
    for fields in bad:
        (field,) = fields
        answers = [await trial.search(name, **fields)]
        if trial.claims("list"):
            answers.append(await trial.list_page(name, **fields))
        if trial.claims("browse"):
            answers.append(await trial.count(name, **fields))
        for answer in answers:
            answer.expect_error(400, "bad_request")
            message = answer.envelope().message
            expect(field in message, f"a message that names {field}", message)
