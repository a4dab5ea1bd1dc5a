"""Search by words. How to match is the plugin's choice; what a person expects is not."""

from harness.check import check
from harness.trial import Trial, expect, expect_equal

_WORDS = "The words of a query are words: %, _, quotes and operators in it mean nothing special."
_NEEDS = ["fts"]
_PERSON = (
    "A query of one character, of stop words only, in any language or script, or full of"
    " punctuation must not fail and should find what a person would expect."
)
_AWKWARD = (
    "a", "the", "of the", "к", "我", "🦊", "'", '"', '"unclosed', "(", ")(", "a & b | !c", "<->",
    ":*", "\\", "%", "_", "*", "?", "--", "/*", "; DROP TABLE x", "a:b", "-a", "+a -b", "[a-z",
    "{", "AND", "OR", "NOT", "NEAR", "a AND", "~1", "^2", "\u200b", "\u202e", "\ufdfa", "ﬁ",
    "e\u0301", "x" * 5000, "word " * 1000, "!" * 200, "\t\n", " ",
)  # fmt: skip


@check(
    "fts.finds-a-word",
    "fts: agents may pass a query string; you decide how to match.",
    needs=_NEEDS,
)
async def finds_a_word(trial: Trial) -> None:
    """Searches for words that only one of three memories has, at its start, middle and end."""
    name = await trial.namespace()
    for content in ("Zebras graze at dawn", "at dusk the heron fishes", "by noon all is quiet"):
        await trial.written(name, content)
    expect_equal("found", await trial.contents(name, query="zebras"), ["Zebras graze at dawn"])
    expect_equal("found", await trial.contents(name, query="heron"), ["at dusk the heron fishes"])
    expect_equal("found", await trial.contents(name, query="quiet"), ["by noon all is quiet"])


@check("fts.nothing-found", "query that finds nothing: an empty list, 200.", needs=_NEEDS)
async def nothing_found(trial: Trial) -> None:
    """Searches for a word that no memory has."""
    name = await trial.namespace()
    await trial.written(name, "the heron fishes")
    body = (await trial.search(name, query="xylophone")).expect(200).object
    expect_equal("memories", body.get("memories", "no such field"), [])


@check("fts.case", _PERSON, level="should", needs=_NEEDS)
async def case(trial: Trial) -> None:
    """Searches in upper, lower and mixed case."""
    name = await trial.namespace()
    await trial.written(name, "Kubernetes runs on Linux")
    for query in ("kubernetes", "KUBERNETES", "LiNuX"):
        expect_equal(f"found for {query}", len(await trial.contents(name, query=query)), 1)


@check("fts.several-words", _PERSON, level="should", needs=_NEEDS)
async def several_words(trial: Trial) -> None:
    """Searches for two words that are apart in one memory: that one comes first."""
    name = await trial.namespace()
    wanted = "the database migration ran on a Tuesday"
    await trial.written(name, wanted)
    await trial.written(name, "the database is large")
    await trial.written(name, "Tuesday is market day")
    found = await trial.contents(name, query="tuesday migration")
    expect_equal("first found", found[:1], [wanted])


@check("fts.better-match-first", "query: best match first.", level="should", needs=_NEEDS)
async def better_match_first(trial: Trial) -> None:
    """Searches for a word that one memory is all about and another mentions once, newer."""
    name = await trial.namespace()
    about = "penguin facts: the penguin swims, the penguin dives, a penguin cannot fly"
    await trial.written(name, about)
    filler = " ".join(f"topic{number} came up and was put off" for number in range(20))
    await trial.written(name, f"minutes of a long meeting: {filler}; a penguin was mentioned")
    found = await trial.contents(name, query="penguin")
    expect_equal("found", len(found), 2)
    expect_equal("first found", found[0], about)


@check("fts.only-named-namespaces", "namespaces: authoritative.", needs=_NEEDS)
async def only_named_namespaces(trial: Trial) -> None:
    """Searches one of two namespaces that both hold the word."""
    here, there = await trial.namespace(), await trial.namespace()
    await trial.written(here, "a walrus here")
    await trial.written(there, "a walrus there")
    expect_equal("found", await trial.contents(here, query="walrus"), ["a walrus here"])
    both = await trial.contents(here, there, here, query="walrus")
    expect_equal("found in both", sorted(both), ["a walrus here", "a walrus there"])


@check("fts.with-kinds", "kinds: optional list of memory kinds.", needs=_NEEDS)
async def with_kinds(trial: Trial) -> None:
    """Searches for a word in one kind of memory only."""
    name = await trial.namespace()
    for kind in ("fact", "summary"):
        await trial.written(name, f"a walrus in a {kind}", kind=kind)
    found = await trial.contents(name, query="walrus", kinds=["summary"])
    expect_equal("found", found, ["a walrus in a summary"])


@check("fts.limit", "limit: 1–100, default 20.", needs=_NEEDS)
async def limit(trial: Trial) -> None:
    """Searches for a word that 30 memories have: 20 without a limit, 5 and 100 with one."""
    name = await trial.namespace()
    await trial.fill(name, [f"walrus number {number}" for number in range(30)])
    for wanted, fields in ((20, {}), (5, {"limit": 5}), (30, {"limit": 100})):
        found = await trial.contents(name, query="walrus", **fields)
        expect_equal("found", len(set(found)), wanted)


@check("fts.order-is-stable", "The same search gives the same order.", needs=_NEEDS)
async def order_is_stable(trial: Trial) -> None:
    """Searches five times among memories that match equally well."""
    name = await trial.namespace()
    await trial.fill(name, [f"walrus {number:02}" for number in range(25)])
    first = await trial.contents(name, query="walrus", limit=25)
    for _ in range(4):
        again = await trial.contents(name, query="walrus", limit=25)
        expect_equal("order of the contents", again, first)


@check(
    "fts.follows-an-update",
    "The write replaces the whole memory: it is found by its new words and not by its old ones.",
    needs=_NEEDS,
)
async def follows_an_update(trial: Trial) -> None:
    """Replaces a memory's content and searches for the old and the new word."""
    name = await trial.namespace()
    memory_id = await trial.written(name, "an armadillo", id=trial.uuid())
    await trial.written(name, "a pangolin", id=memory_id)
    expect_equal(
        "found by the new word", await trial.contents(name, query="pangolin"), ["a pangolin"]
    )
    expect_equal("found by the old word", await trial.contents(name, query="armadillo"), [])


@check("fts.awkward-queries", f"{_PERSON} (must not fail)", needs=_NEEDS)
async def awkward_queries(trial: Trial) -> None:
    """Searches with operators, quotes, wildcards, control characters, very long queries: 200."""
    name = await trial.namespace()
    await trial.written(name, "a perfectly ordinary memory, the first of its kind")
    for query in _AWKWARD:
        (await trial.search(name, query=query)).expect(200)


async def _expects(trial: Trial, pairs: dict[str, str]) -> None:
    """Each query finds its own content among all of them."""
    name = await trial.namespace()
    for content in dict.fromkeys(pairs.values()):
        await trial.written(name, content)
    for query, content in pairs.items():
        found = await trial.contents(name, query=query, limit=100)
        expect(content in found, f"{query!r} to find {content!r}", found)


@check("fts.one-character", _PERSON, level="should", needs=_NEEDS)
async def one_character(trial: Trial) -> None:
    """Searches for a letter, a digit and a sign that stand alone."""
    await _expects(
        trial,
        {
            "C": "written in C for speed",
            "7": "gate 7 is closed",
            "水": "喝水很重要",
            "ё": "буква ё редка",
        },
    )


@check("fts.stop-words", _PERSON, level="should", needs=_NEEDS)
async def stop_words(trial: Trial) -> None:
    """Searches for words that text search often leaves out."""
    await _expects(
        trial,
        {"the who": "tickets for The Who", "to be or not to be": "to be or not to be, he said"},
    )


@check("fts.any-script", _PERSON, level="should", needs=_NEEDS)
async def any_script(trial: Trial) -> None:
    """Searches for a word inside text of many scripts, with and without spaces."""
    await _expects(
        trial,
        {
            "数据库": "我们的数据库在东京",
            "会議": "明日の会議は中止です",
            "서버": "서버 점검은 금요일",
            "сервер": "перезапустить сервер ночью",
            "خادم": "أعد تشغيل خادم البيانات",
            "שרת": "הפעל מחדש את שרת הנתונים",
            "सर्वर": "सर्वर रात में बंद रहेगा",
            "Straße": "Die Straße ist gesperrt",
        },
    )


@check("fts.identifiers", _PERSON, level="should", needs=_NEEDS)
async def identifiers(trial: Trial) -> None:
    """Searches for what engineers look for: names with punctuation, paths, versions, addresses."""
    await _expects(
        trial,
        {
            "max_connections": "raise max_connections to 200",
            "ERR-4711": "the log shows ERR-4711 again",
            "v2.10.3": "pinned to v2.10.3 for now",
            "ops@example.com": "write to ops@example.com first",
            "/etc/hosts": "see /etc/hosts on the bastion",
            "getUserById": "getUserById is slow",
        },
    )


@check("fts.accents", _PERSON, level="should", needs=_NEEDS)
async def accents(trial: Trial) -> None:
    """Searches with and without accents, in both Unicode forms."""
    await _expects(
        trial,
        {"café": "meet at the café", "cafe\u0301": "meet at the café", "cafe": "meet at the café"},
    )


@check("fts.start-of-a-word", _PERSON, level="should", needs=_NEEDS)
async def start_of_a_word(trial: Trial) -> None:
    """Searches for the start of a word, like somebody who is still typing."""
    await _expects(trial, {"deploy": "deployments run on Fridays", "rollb": "how to rollback"})


@check("fts.wildcards-are-characters", _WORDS, needs=_NEEDS)
async def wildcards_are_characters(trial: Trial) -> None:
    """Searches for %, _ and regular expressions: none of them finds everything."""
    name = await trial.namespace()
    await trial.fill(name, ["alpha beta", "gamma delta", "epsilon zeta"])
    for query in ("%", "_", "%%", "alp%a%", "a_pha", ".*", ".+", "^", "[a-z]+", "*", "?"):
        found = await trial.contents(name, query=query)
        expect(len(found) < 3, f"not every row for {query!r}", found)


@check("fts.operators-are-words", _WORDS, needs=_NEEDS)
async def operators_are_words(trial: Trial) -> None:
    """Searches for `-word`, a quoted phrase, OR and field:word: only the words count."""
    name = await trial.namespace()
    await trial.fill(name, ["the harbour lights", "an unrelated note"])
    for query in ("-harbour", '"harbour"', '"lights harbour"', "!harbour", "+harbour", "harbour:*"):
        found = await trial.contents(name, query=query)
        expect("the harbour lights" in found, f"the row with the word for {query!r}", found)


@check("fts.awkward-ends", f"{_PERSON} (must not fail)", needs=_NEEDS)
async def awkward_ends(trial: Trial) -> None:
    """Searches for queries that end in the middle of a quotation, an escape or an operator."""
    name = await trial.namespace()
    await trial.written(name, "the harbour lights")
    for query in (
        "harbour\\",
        "\\",
        "harbour '",
        'harbour "',
        "harbour &",
        "harbour |",
        "harbour (",
    ):
        (await trial.search(name, query=query)).expect(200)
