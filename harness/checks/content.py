"""Content comes back byte for byte, whatever it is and however long it is."""

from harness.check import check
from harness.errors import Failure
from harness.trial import Trial, expect_equal

_UNCHANGED = "content: string, not blank; returned as it was written."


async def _comes_back(trial: Trial, name: str, content: str, what: str) -> None:
    memory_id = await trial.written(name, content)
    rows = {str(row.id): row.content for row in await trial.found(name, limit=100)}
    if rows.get(memory_id) != content:
        raise Failure(f"{what} as it was written: {content!r:.200}", repr(rows.get(memory_id)))


@check("content.keeps-spaces", _UNCHANGED)
async def keeps_spaces(trial: Trial) -> None:
    """Writes content with spaces, tabs and line ends at both ends and in the middle."""
    name = await trial.namespace()
    for content in (
        "  both ends  ",
        "\ttab\t",
        "line\nline\r\nline\n",
        "a  b   c",
        "\u00a0nbsp\u00a0",
    ):
        await _comes_back(trial, name, content, "white space")


@check("content.is-not-normalised", _UNCHANGED)
async def is_not_normalised(trial: Trial) -> None:
    """Writes text in both Unicode forms, and with characters that normalisation would replace."""
    name = await trial.namespace()
    for content in (
        "caf\u00e9",
        "cafe\u0301",
        "\ufb01n",
        "\u212b \u00c5 A\u030a",
        "\u2126",
        "\u1100\u1161",
    ):
        await _comes_back(trial, name, content, "text that is not normalised")


@check("content.any-script", _UNCHANGED)
async def any_script(trial: Trial) -> None:
    """Writes text in many scripts, emoji of several code points, right-to-left text."""
    name = await trial.namespace()
    for content in (
        "记忆插件 メモリ 메모리 память ذاكرة זיכרון स्मृति หน่วยความจำ",
        "👩‍👩‍👧‍👦 🏳️‍🌈 🇺🇳 👍🏽",
        "\u202eright to left\u202c \u200b \u2060 \ufeff",
        "𝔐𝔢𝔪𝔬𝔯𝔶 𐍈 \U0010fffd",
    ):
        await _comes_back(trial, name, content, "text in any script")


@check("content.awkward-characters", _UNCHANGED)
async def awkward_characters(trial: Trial) -> None:
    """Writes control characters, quotes, backslashes, markup and SQL."""
    name = await trial.namespace()
    for content in (
        "bell \x07 escape \x1b[31m unit \x1f delete \x7f",
        "\\ \\\\ \\n \\u0041 %s %00 {} ${HOME} $1",
        'Robert\'); DROP TABLE memories;-- "quoted"',
        "<script>alert(1)</script> &amp; ]]>",
        "\u2028 line and \u2029 paragraph",
    ):
        await _comes_back(trial, name, content, "awkward characters")


@check("content.long", _UNCHANGED)
async def long(trial: Trial) -> None:
    """Writes 70 KiB and 1 MiB: stored completely, or refused with 413. Never truncated.

    A limit is allowed; a warning reports it, because callers cannot store longer content.
    """
    name = await trial.namespace()
    kept = 0
    for size in (70, 1024):
        answer = await trial.write(name, _of_size(size))
        if answer.status == 413:
            answer.envelope()
            limit = await _limit(trial, name, kept, size)
            trial.warn(
                f"content of more than {limit} KiB is refused with 413; the contract allows a"
                " limit, so this is only a warning: callers cannot keep what is longer"
            )
            return
        memory_id = answer.expect(201).object.get("id")
        rows = {str(row.id): row.content for row in await trial.found(name)}
        got, content = rows.get(str(memory_id), ""), _of_size(size)
        expect_equal("length of the content", len(got), len(content))
        expect_equal("end of the content", got[-20:], content[-20:])
        expect_equal("content is the same", got == content, True)
        kept = size


def _of_size(kibibytes: int) -> str:
    """The end differs from the rest, so that truncation is noticed."""
    end = f"END {kibibytes}"
    return ("memory " * (kibibytes * 147))[: kibibytes * 1024 - len(end)] + end


async def _limit(trial: Trial, name: str, kept: int, refused: int) -> int:
    """The limit in KiB, between a size that is stored and one that is refused."""
    while refused - kept > 1:
        middle = (kept + refused) // 2
        answer = (await trial.write(name, _of_size(middle))).expect(201, 413)
        if answer.status == 201:
            kept = middle
        else:
            refused = middle
    return kept


@check("content.long-multibyte", _UNCHANGED)
async def long_multibyte(trial: Trial) -> None:
    """Writes 30,000 characters of three bytes each: a limit in characters must hold them all."""
    name = await trial.namespace()
    content = "記" * 29_999 + "終"
    answer = await trial.write(name, content)
    if answer.status == 413:
        answer.envelope()
        trial.warn(
            "content of 30,000 characters in 90,000 bytes is refused with 413; the contract allows"
            " a limit, and content.long says where it is"
        )
        return
    answer.expect(201)
    got = (await trial.one(name)).content
    expect_equal("length of the content", len(got), len(content))
    expect_equal("content is the same", got == content, True)


@check("content.looks-like-json", _UNCHANGED)
async def looks_like_json(trial: Trial) -> None:
    """Writes content that is JSON itself, or looks like another type: still a string."""
    name = await trial.namespace()
    for content in ('{"a": 1}', "[1, 2]", "null", "true", "0012", "1e3", '"quoted"', "NaN", "---"):
        await _comes_back(trial, name, content, "a string")
