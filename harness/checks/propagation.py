"""`propagation` is opaque: what goes in comes out."""

from typing import Any

from harness.check import check
from harness.trial import Trial, expect_equal

_OPAQUE = "propagation: JSON object, opaque: stored and returned unchanged."
_NEEDS = ["propagation"]


async def _comes_back(trial: Trial, sent: dict[str, Any]) -> None:
    name = await trial.namespace()
    await trial.written(name, "pass it on", propagation=sent)
    got = (await trial.one_as_sent(name)).get("propagation")
    expect_equal("propagation", got, sent)


@check("propagation.deep", _OPAQUE, needs=_NEEDS)
async def deep(trial: Trial) -> None:
    """Sends 50 levels of objects and lists, and every type of value."""
    nested: Any = "bottom"
    for level in range(25):
        nested = {f"level {level}": [level, nested]}
    await _comes_back(trial, {"nested": nested, "types": ["", 0, -1, 0.5, True, False, None]})


@check("propagation.nulls", _OPAQUE, needs=_NEEDS)
async def nulls(trial: Trial) -> None:
    """Sends nulls as values, in lists and in nested objects: they are values too."""
    await _comes_back(trial, {"a": None, "b": [None, {"c": None}], "d": {"e": None}})


@check("propagation.unicode", _OPAQUE, needs=_NEEDS)
async def unicode(trial: Trial) -> None:
    """Sends keys and values in many scripts, in both Unicode forms, with control characters."""
    await _comes_back(
        trial,
        {
            "": "empty key",
            "ключ": "значение",
            "鍵": ["値", "🗝️"],
            "caf\u00e9": 1,
            "cafe\u0301": 2,
            "quotes": "\"'\\ \n\t\u0001\u2028",
            "key with spaces and. dots $ and [0]": True,
        },
    )


@check("propagation.large-numbers", _OPAQUE, needs=_NEEDS)
async def large_numbers(trial: Trial) -> None:
    """Sends integers beyond 53 and 64 bits and small fractions: no rounding."""
    await _comes_back(
        trial,
        {
            "beyond double": 9007199254740993,
            "int64": [9223372036854775807, -9223372036854775808],
            "beyond int64": 18446744073709551616,
            "fractions": [0.1, 1e-7, 1.7976931348623157e308, 2.2250738585072014e-308],
        },
    )


@check("propagation.empty", _OPAQUE, needs=_NEEDS)
async def empty(trial: Trial) -> None:
    """Sends the empty object: it is an object, not nothing."""
    await _comes_back(trial, {})


@check("propagation.large", _OPAQUE, needs=_NEEDS)
async def large(trial: Trial) -> None:
    """Sends 1,000 keys."""
    await _comes_back(trial, {f"key {number}": [number] * 5 for number in range(1000)})


@check("propagation.is-replaced", "The write replaces the whole memory in place.", needs=_NEEDS)
async def is_replaced(trial: Trial) -> None:
    """Writes twice with one id and different objects: the second one is stored, not a mixture."""
    name = await trial.namespace()
    memory_id = await trial.written(name, "x", id=trial.uuid(), propagation={"old": 1, "both": 1})
    await trial.written(name, "x", id=memory_id, propagation={"new": 2, "both": 2})
    rows = await trial.found(name)
    expect_equal("propagation", [row.propagation for row in rows], [{"new": 2, "both": 2}])


@check("propagation.in-every-search", _OPAQUE, needs=["propagation", "fts"])
async def in_every_search(trial: Trial) -> None:
    """Finds the memory by its words: the object is returned with it."""
    name = await trial.namespace()
    await trial.written(name, "a walrus", propagation={"to": None})
    rows = await trial.found(name, query="walrus")
    expect_equal("propagation", [row.propagation for row in rows], [{"to": None}])


@check(
    "propagation.must-be-an-object",
    "A wrong type anywhere: 400 with a message that names the field.",
    needs=_NEEDS,
)
async def must_be_an_object(trial: Trial) -> None:
    """Sends a list, a string, a number and a boolean."""
    name = await trial.namespace()
    others: list[object] = [[], [1], "text", 7, True]
    for other in others:
        (await trial.write(name, "x", propagation=other)).expect_error(400, "bad_request")
    expect_equal("memories", await trial.contents(name), [])


@check("propagation.odd-keys", _OPAQUE, needs=_NEEDS)
async def odd_keys(trial: Trial) -> None:
    """Sends keys that are special in JavaScript, Java or .NET: here they are ordinary keys."""
    keys = ("__proto__", "constructor", "toString", "$ref", "$type", "@type", "@class", "length")
    await _comes_back(trial, {key: {"x": [key]} for key in keys})


@check("propagation.strings-stay-strings", _OPAQUE, needs=_NEEDS)
async def strings_stay_strings(trial: Trial) -> None:
    """Sends strings that look like times, numbers and booleans: they come back unchanged."""
    strings = ["2024-01-01T00:00:00+02:00", "2024-01-01", "1e3", "0012", "true", "null", "NaN", ""]
    await _comes_back(trial, {"strings": strings})
