"""Rule-based extraction of facts about a person from what they or their assistant wrote.

A fact is a preference, a decision or a habit, in the person's own words. A wrong fact is worse than
a missed one, so doubtful ones are dropped. No model is involved, and the time is linear in the
length of the text.

`stances` has the verbs and `favorites` another way to say what one likes; `standing` and `reports`
judge the words before them, `objects` finds where they end, and `masking` hides quotations.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from language.favorites import find_favorite, find_reversed
from language.lookalikes import is_another_verb, is_step
from language.objects import (
    MAX_CHARACTERS,
    MIN_CHARACTERS,
    Object,
    end_at_main_clause,
    find_object,
    has_condition,
    means_nothing,
    reverses,
)
from language.page import Page
from language.reports import Report, judge_report, to_first_person
from language.run_ons import has_second_clause
from language.stances import (
    FIRST_PERSON,
    FIRST_PERSON_START,
    SECOND_PERSON,
    SECOND_PERSON_START,
    VERBS,
    Category,
    Polarity,
    Verb,
    find_verb,
)
from language.standing import (
    DENIAL,
    Standing,
    describes,
    judge,
    judge_run_on,
    speaks_in_general,
)

MAX_FACTS = 50
MAX_CONTENT = 500
_FINAL = " .,;:!?|…。｡！？，；：、"
# Characters considered before a statement, and statements considered per sentence.
_PREFIX = 400
_MOST_IN_SENTENCE = 12
_RUN_ON_PREFIX = 40

Speaker = Literal["user", "assistant"]
MemoryType = Literal["factual", "episodic"]
_TYPES: dict[Category, MemoryType] = {
    "preference": "factual",
    "decision": "episodic",
    "pattern": "factual",
}


@dataclass(frozen=True)
class Fact:
    """One fact. A later one with the same key replaces it."""

    key: str
    content: str
    type: MemoryType
    category: Category
    polarity: Polarity
    speaker: Speaker


def extract_facts_from_text(text: str, speaker: Speaker = "user") -> list[Fact]:
    """The facts that a text states about its author, or, from an assistant, about its reader.

    Considers the last 64 Ki characters, with secrets redacted. Returns at most 50 facts, the last
    ones, in order; of several with the same key, the last. Never raises.
    """
    page = Page(text if isinstance(text, str) else "")
    facts: dict[str, Fact] = {}
    known: set[str] = set()
    # Backwards, because the last facts win, so that earlier text may not have to be read.
    for start, places in reversed(list(_sentences(page, speaker))):
        said = page.sentence(start, places[-1])
        if said in known:
            continue
        known.add(said)
        for _, fact in reversed(list(_facts_of(page, start, places, speaker))):
            facts.setdefault(fact.key, fact)
        if len(facts) >= MAX_FACTS:
            break
    return list(facts.values())[:MAX_FACTS][::-1]


@dataclass(frozen=True)
class _Statement:
    """A verb and its object; who says so has not been checked yet."""

    start: int
    verb: Verb
    object: Object
    thing: str | None = None  # a favorite's
    subject_of: tuple[int, int] | None = None  # the words before `is my favorite`


def find_facts(page: Page, speaker: Speaker) -> Iterator[tuple[int, Fact]]:
    """The facts of a text, each with the index where its statement starts."""
    for start, places in _sentences(page, speaker):
        yield from _facts_of(page, start, places, speaker)


def _sentences(page: Page, speaker: Speaker) -> Iterator[tuple[int, list[int]]]:
    """The start of each sentence that may have statements, and where these may start."""
    starts = FIRST_PERSON_START if speaker == "user" else SECOND_PERSON_START
    sentence = -1
    places: list[int] = []
    for found in starts.finditer(page.masked):
        start = page.sentence_start(found.start())
        if start != sentence:
            if places:
                yield sentence, places
            sentence, places = start, []
        places.append(found.start())
    if places:
        yield sentence, places


def _facts_of(
    page: Page, start: int, places: list[int], speaker: Speaker
) -> Iterator[tuple[int, Fact]]:
    """The facts of one sentence."""
    count, report, resumes = 0, Report.NONE, -1
    for place in places:
        statement = _statement(page, place, speaker)
        if statement is None:
            continue
        count += 1
        prefix = page.masked[max(start, statement.start - _PREFIX) : statement.start]
        if statement.start == resumes:
            prefix = ""
        if speaker == "user":
            fact = _stated(page, statement, prefix, start in page.stretches)
        else:
            report = judge_report(prefix, report)
            fact = _reported(page, statement, report)
        if fact is not None:
            yield statement.start, fact
            if statement.object.runs_on:
                resumes = statement.object.end + 1
            if speaker == "user" and (second := _coordinated(page, statement)):
                yield statement.object.end, second
        if count >= _MOST_IN_SENTENCE:
            return


def _statement(page: Page, start: int, speaker: Speaker) -> _Statement | None:
    masked = page.masked
    pattern = FIRST_PERSON if speaker == "user" else SECOND_PERSON
    if verb := find_verb(pattern, masked, start):
        is_action = verb[0].category == "pattern" or masked.endswith((" to", " rather"), 0, verb[1])
        found = find_object(masked, verb[1], is_action=is_action)
        if _SUBORDINATE.search(masked, max(0, start - 14), start):
            found = end_at_main_clause(masked, found, is_mine=speaker == "user")
            if _TWO_CLAUSES.search(masked, found.start, found.end):
                return None
        return _Statement(start, verb[0], found)
    if favorite := find_favorite(masked, start):
        likes = VERBS["dislikes" if favorite.least else "likes"]
        return _Statement(start, likes, find_object(masked, favorite.end), favorite.thing)
    if not _IS.search(masked, max(0, start - 8), start):
        return None
    if favorite := find_reversed(masked, start):
        likes = VERBS["dislikes" if favorite.least else "likes"]
        subject = _subject(page, start)
        if subject is None:
            return None
        thing = find_object(masked, favorite.end)
        named = _collapse(page.text[thing.start : thing.end])
        if re.match(r"(?i)(?:of|for|in|at|by|among|to|when|from|so|right|here|ever|too)\b", named):
            named = ""
        named = _FOR_NOW.sub("", named)
        return _Statement(subject[0], likes, thing, named, subject)
    return None


_SUBORDINATE = re.compile(
    r"(?i)\b(?:since|as|because|given\s+that|now\s+that|although|though|when|while)\s+\Z"
)
# `Since I switched to tea I sleep well`: no telling where the first clause ends.
_TWO_CLAUSES = re.compile(r"(?i)\w\s+(?:i|we)\s+\w")
# `is my favorite language these days`: still the favorite language.
_FOR_NOW = re.compile(
    r"(?i)\s+(?:these\s+days|right\s+now|at\s+the\s+moment|at\s+present|nowadays|now|currently"
    r"|lately|so\s+far|by\s+far|of\s+all(?:\s+time)?|ever|too|as\s+well|in\s+the\s+world)\Z"
)
_IS = re.compile(r"(?i)\s(?:is|are)\s+\Z")
_SUBJECT_START = re.compile(
    r"(?i)[;,:(—]|(?<!\w)(?:but|because|although|though|since|so|and\s+(?=i\b|my\b)|that|yes"
    r"|no)(?!\w)"
)
_THINK = re.compile(
    r"(?i)\W*(?:i|we)\s+(?:(?:still|really|honestly|do|already|also)\s+){0,2}"
    r"(?:think|believe|know|told\s+you|said|mentioned)\s+(?!i\b|we\b)"
)
_NO_SUBJECT = re.compile(
    r"(?i)(?:it|this|that|these|those|he|she|they|you|i|we|what|which|who|where|there|here|one"
    r"|both|\w+ one|that's|guess)"
    r"|(?:this|that|these|those|your|which|what|if|when|whether|maybe|is|are|does|do|guess|says?"
    r"|my (?:wife|husband|friend|mother|father))\b.*"
    r"|.*\b(?:says?|said|thinks?|told|asked|think|if|whether|maybe|of these|of those|that|i|you"
    r"|is|are|was)\b.*"
)


def _subject(page: Page, start: int) -> tuple[int, int] | None:
    """The subject before `is my favorite`."""
    sentence = page.sentence_start(start)
    is_ = _IS.search(page.masked, max(0, start - 8), start)
    if is_ is None or start - sentence > 200:
        return None
    clause = page.masked[sentence : is_.start()]
    begin = max((it.end() for it in _SUBJECT_START.finditer(clause)), default=0)
    if thought := _THINK.match(clause, begin):
        begin = thought.end()
    begin += len(clause[begin:]) - len(clause[begin:].lstrip(" \t\n-*•#>\"'“"))
    subject = clause[begin:].strip()
    if not subject or len(subject.split()) > 8 or _NO_SUBJECT.fullmatch(subject):
        return None
    return sentence + begin, is_.start()


def _stated(page: Page, statement: _Statement, prefix: str, runs_on: bool) -> Fact | None:
    if runs_on:
        standing = judge_run_on(prefix[-_RUN_ON_PREFIX:])
    else:
        lasting = statement.verb.category != "decision"
        standing = judge(prefix, future=statement.verb.future, lasting=lasting)
    if standing is Standing.NOT_STATED:
        return None
    if _WE.match(page.masked, statement.start) and (
        _WE_ALL.match(page.masked, statement.start)
        or speaks_in_general(prefix, future=statement.verb.future)
    ):
        return None
    if _AND.search(prefix) and _TOGETHER.match(page.masked, statement.object.start):
        return None
    about = page.masked[statement.object.start : statement.object.end]
    if statement.thing is None and describes(prefix, about.strip()):
        return None
    start, polarity = statement.start, statement.verb.polarity
    if standing is Standing.DENIED:
        denial = DENIAL.search(prefix)
        if polarity == "negative" or denial is None:
            return None
        start, polarity = start - len(prefix) + denial.start(), "negative"
    return _fact(page, statement, start, polarity, "user")


_WE = re.compile(r"(?i)we\b")
_WE_ALL = re.compile(r"(?i)we\s+all\b")
# `My wife and I love each other` would leave `I love each other`.
_AND = re.compile(r"(?i)\w\s+and\s+\Z")
_TOGETHER = re.compile(
    r"(?i)\s*(?:take\s+turns\b|(?:meet|argue|fight|quarrel|talk|chat|(?:dis)?agree)"
    r"(?=\s+(?:on|at|in|about|over|every|once|twice|a\s+lot)\b|\s*[.,;!\n]|\s*\Z)"
    r"|[^.,;!\n]{0,80}?\b(?:each\s+other|one\s+another|together(?!\s+with)))\b"
)


def _reported(page: Page, statement: _Statement, report: Report) -> Fact | None:
    verb = statement.verb
    needs_more = (
        verb.category == "pattern"
        or verb.future
        or _WOULD.match(page.masked, statement.start) is not None
    )
    if _YOU_ALL.match(page.masked, statement.start):
        return None
    if report < (Report.NOTED if needs_more else Report.CLAIMED):
        return None
    if _TAG.match(page.masked, statement.object.end):
        return None
    if _ADVICE.search(page.masked, statement.object.start, statement.object.end):
        return None
    return _fact(page, statement, statement.start, verb.polarity, "assistant")


# `You avoid deadlocks by sorting the locks`
_ADVICE = re.compile(r"(?i)\b(?:(?:by|when)\s+\w+ing|depending)\b")


# More than one person: `You both like tea`.
_YOU_ALL = re.compile(r"(?i)you(?:'?(?:re|ve|ll|d)|\s+(?:are|have|will|would))?\s+(?:both|all)\b")
_TAG = re.compile(r"(?i),\s*(?:do|did|are|have|will|would)(?:n't)?\s+you\s*\?")
_WOULD = re.compile(r"(?i)you(?:'?d|\s+would)\b")


def _coordinated(page: Page, statement: _Statement) -> Fact | None:
    """The second half of `I like tea and hate coffee`, which has no subject of its own."""
    joined = _AND_VERB.match(page.masked, statement.object.end)
    if joined is None or statement.thing is not None:
        return None
    rest = page.text[joined.end() : joined.end() + 2 * MAX_CONTENT]
    subject = "we" if page.masked[statement.start : statement.start + 2].lower() == "we" else "I"
    second = Page(f"{subject} {rest}")
    found = _statement(second, 0, "user")
    if found is None or found.verb.category == "decision":
        return None
    if found.verb.category == statement.verb.category == "pattern":
        return None  # `I usually drink tea but never coffee`
    first_verb = page.masked[statement.start : statement.object.start]
    if second.masked[: found.object.start].split()[-1:] == first_verb.split()[-1:]:
        return None  # `I love the peace and love theme`
    return _fact(second, found, 0, found.verb.polarity, "user")


# Without `and`, only verbs that cannot be anything else there: not `I enjoy jazz, like Coltrane`.
_AND_VERB = re.compile(
    r"(?i)(?:(?:,\s*)?(?:and|but)\s+(?=(?:(?:really|also|just|absolutely|always|usually)\s+)?"
    r"(?:hate|dislike|love|like|prefer|enjoy|avoid|can(?:'t|not)\s+stand|do(?:n't"
    r"|\s+not)\s+(?:like|enjoy|love)|never|always|usually|rarely)\s)"
    r"|,\s*(?=(?:really\s+|absolutely\s+)?(?:hate|dislike|prefer|can(?:'t|not)\s+stand"
    r"|do(?:n't|\s+not)\s+(?:like|enjoy|love))\s))"
)


def _fact(
    page: Page, statement: _Statement, start: int, polarity: Polarity, speaker: Speaker
) -> Fact | None:
    found = statement.object
    if found.is_question or _SAID_BY_ANOTHER.match(page.masked, found.end):
        return None
    if _IRONY.search(page.masked, found.start, found.end):
        return None
    if _TAKEN_BACK.match(page.masked, found.end) or _OPTION.search(
        page.masked, found.start, found.end + 1
    ):
        return None
    verb = _collapse(page.text[start : found.start])
    said = _OPEN_ASIDE.sub("", _collapse(page.text[found.start : found.end])).rstrip(_FINAL)
    if statement.subject_of is not None:
        about = _collapse(page.text[statement.subject_of[0] : statement.subject_of[1]])
    else:
        about = said
    if speaker == "assistant":
        whole = to_first_person(f"{verb} {said}".strip())
        about = to_first_person(f". {about}")[2:]
    else:
        whole = f"{verb} {said}".strip()
    if not MIN_CHARACTERS <= len(about) <= MAX_CHARACTERS or about[0] in ":,)":
        return None
    if "|" in about and _is_in_table(page.masked, found.start):
        return None
    category = statement.verb.category
    if is_another_verb(statement.verb, verb, about) or is_step(verb, page.masked, found.end):
        return None
    if means_nothing(about) and not (_WISH.fullmatch(about) and _PREFER.search(verb)):
        return None
    if reverses(about) or (
        statement.thing is None and has_second_clause(page.masked, found.start, found.end)
    ):
        return None
    if polarity == "negative" and category == "preference" and _ONLY.match(about):
        return None
    if polarity == "negative" and _RAISED.match(page.masked, found.end):
        return None
    if speaker == "user" and _ADDRESSED.search(about) and not _PREFER.search(verb):
        return None
    if speaker == "user" and category != "preference" and _DONE_TO_YOU.match(about):
        return None
    future = statement.verb.future
    if category == "decision" and has_condition(page.masked, found, future=future):
        return None
    key = slug(_name(statement, about))
    if not key:
        return None
    content = whole[:MAX_CONTENT].rstrip(_FINAL)
    return Fact(f"{category}:{key}", content, _TYPES[category], category, polarity, speaker)


def _is_in_table(masked: str, start: int) -> bool:
    """Whether this is in the row of a table, where `|` is the border of the next cell."""
    line = masked.rfind("\n", 0, start) + 1
    return masked[line : line + 4].lstrip().startswith("|")


# `I chose the red pill, Neo said`
_SAID_BY_ANOTHER = re.compile(
    r"(?i),\s*(?!as\b|like\b|i\b|we\b)(?:the\s+|my\s+)?\w+\s+(?:said|says|replied|answered|wrote"
    r"|sings|sang|shouted|whispered)\b"
)
# Addressed to the assistant: `I'm always proud of you`.
_ADDRESSED = re.compile(r"(?i)(?:(?<!from )\byou|\byour(?:\s+\w+){1,2})\Z")
# `I love Mondays. Not!`
_TAKEN_BACK = re.compile(
    r"(?i)[\s.,!…(-]*(?:not[!)]|(?:or\s+)?(?:maybe|perhaps)(?:\s+not)?[.!?…]|or\s+not\b|(?:just\s+)?"
    r"(?:kidding|joking)\b|jk\b|/s\b|yeah,?\s+right\b|said\s+(?:no\s+one|nobody)\b)"
)
# `I like tea (green tea, mostly)`, which ends at the comma.
_OPEN_ASIDE = re.compile(r"\s\([^()]*\Z")
# `I love doing taxes /s`
_IRONY = re.compile(r"(?:\s/s|🙄|🙃)\s*\Z")
# One of several to choose from: `a) I prefer tea b) I prefer coffee`
_OPTION = re.compile(r"\s[\db-zB-Z]\)\Z")
# `I don't like tea, I love it`
_RAISED = re.compile(
    r"(?i)[\s.,;:!…—–-]*(?:but\s+)?(?:i|we|you)\s+(?:(?:do|\w+ly)\s+){0,2}"
    r"(?:like|enjoy|love|adore|worship|live\s+for)\s+(?:it|them)\b"
)
# `I don't like only tea`
_ONLY = re.compile(r"(?i)(?:just|only|merely|solely)\b")
_DONE_TO_YOU = re.compile(r"(?i)(?:to\s+)?\w+\s+you\b")
_PREFER = re.compile(r"(?i)\b(?:prefer|rather)\Z")
# Instructions for the assistant are worth keeping: `I prefer that you keep it short`.
_WISH = re.compile(
    r"(?i)(?:that you|you|it if you|it when you)\s+(?!\S+\s+(?:it|that|this)\Z)\S+\s+\S.*"
)


def _name(statement: _Statement, about: str) -> str:
    if not statement.thing:
        return about
    least = "least " if statement.verb.polarity == "negative" else ""
    return f"{least}favorite {statement.thing}"


def slug(text: str) -> str:
    """Lower case, with `_` for anything but letters and digits, at most 40 characters."""
    if text.isascii():
        name = _NOT_ALPHANUMERIC.sub("_", text.lower()).strip("_")
        return _shortened(name)
    kept = "".join(
        it if it.isalnum() or _is_accent(it) else " "
        for it in unicodedata.normalize("NFC", text).lower()
    )
    return _shortened("_".join(kept.split()))


def _is_accent(character: str) -> bool:
    """Whether this is part of the letter before it; those that choose an emoji's look are not."""
    if "\ufe00" <= character <= "\ufe0f":
        return False
    return unicodedata.category(character) in ("Mn", "Mc")


_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")


def _shortened(name: str) -> str:
    if len(name) <= 40:
        return name
    return f"{name[:31]}_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _collapse(text: str) -> str:
    return " ".join(text.split())
