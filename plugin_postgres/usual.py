"""The usual question: no pinned memories, no time range, and a few namespaces.

If it has few clues and few memories have each, one lookup finds the memories with any of them
(`sql/search_few.sql`). The statement has a column for each clue, so it exists in several sizes: an
unused column costs PostgreSQL a few microseconds. With many clues, or in a large namespace,
checking every memory for each of them takes longer than looking each of them up
(`sql/search_some.sql`).
"""

import math
from collections.abc import Sequence
from functools import cache

from plugin_postgres import keys, sql
from plugin_postgres.arrays import number_array, text_array
from plugin_postgres.question import Question, in_memory

# A term in at least this many memories is crowded and not looked up.
CROWDED = 200
# For a question of at most this many terms, memories with all of them are looked up as well, and
# at most this many of those are read.
FEW_TERMS = 4
WITH_ALL = 600
# How many terms may be crowded.
MOST_CROWDED = 8
# How much a word counts that only begins with the last one.
BEGUN = 0.9
# Room for this many clues, looked up and crowded. Half of all questions fit into the first size.
_SIZES = ((4, 2), (8, 4))
# How many parameters search_few has besides those of its clues.
_PARAMETERS = 19


def search(
    question: Question,
    estimates: Sequence[int],
    limit: int,
    marks: Sequence[str],
    filter_: str,
    *,
    is_small: bool,
) -> tuple[str, list[object]]:
    """The statement, and its arguments from $5 on, for namespaces with these marks.

    `estimates` is about how many memories have each term, or 0 if that is few; `is_small` is
    whether fewer than `CROWDED` have each of those that are looked up.
    """
    terms, factors = question.terms, question.factors
    looked_up: list[int] = []
    crowded: list[str] = []
    weights: list[float] = []
    for place, estimate in enumerate(estimates):
        if estimate < CROWDED:
            looked_up.append(place)
        else:
            most = CROWDED * (len(terms) + (question.begun is not None))
            crowded.append(in_memory(terms[place]))
            # Like memory_plugin.search_weight.
            weights.append(factors[place] * math.log(1 + 1000 / min(estimate, most)))
    newest = max(min(max(8 * limit, 160), 400) // len(marks), 2)
    clues = len(looked_up) - (question.begun is not None)
    for size in _SIZES if is_small else ():
        if clues <= size[0] and len(crowded) <= size[1]:
            few = _few(question, looked_up, crowded, weights, size, newest, marks, filter_)
            return _statement(*size), few
    some = _some(question, looked_up, crowded, weights, limit, newest, marks, filter_)
    return sql.load("search_some"), some


def _few(
    question: Question,
    looked_up: Sequence[int],
    crowded: Sequence[str],
    weights: Sequence[float],
    size: tuple[int, int],
    newest: int,
    marks: Sequence[str],
    filter_: str,
) -> list[object]:
    """The arguments of search_few."""
    terms, factors = question.terms, question.factors
    templates = [terms[place] for place in looked_up]
    others = looked_up
    word = begun = shorter = None
    factor = 0.0
    if question.begun is not None:
        last = question.last_term
        templates.append(question.begun)
        others = [place for place in looked_up if place != last]
        word, begun, factor = in_memory(terms[last]), in_memory(question.begun), factors[last]
        shorter = question.shorter and in_memory(question.shorter)
    found = " | ".join(templates)
    lookup = f"{found} | {question.shorter} | '@.pin'" if shorter else f"{found} | '@.pin'"
    if filter_:
        lookup = f"({lookup}){filter_}"
    free, free_for_crowded = size[0] - len(others), size[1] - len(crowded)
    return [
        question.phrase,
        question.literal,
        question.is_question,
        keys.lookups(lookup, marks)[0],
        CROWDED * (len(templates) + 1),
        CROWDED,
        number_array([factors[place] for place in others] + [0.0] * free),
        word,
        factor,
        begun,
        shorter,
        question.last_word if shorter else None,
        sum(weights),
        newest,
        in_memory(found),
        *[in_memory(terms[place]) for place in others],
        *[None] * free,
        *crowded,
        *[None] * free_for_crowded,
        *weights,
        *[0.0] * free_for_crowded,
    ]


def _some(
    question: Question,
    looked_up: Sequence[int],
    crowded: Sequence[str],
    weights: Sequence[float],
    limit: int,
    newest: int,
    marks: Sequence[str],
    filter_: str,
) -> list[object]:
    """The arguments of search_some."""
    templates = [question.terms[place] for place in looked_up]
    counts = [question.factors[place] for place in looked_up]
    begun = word = shorter = None
    if question.begun_only is not None:
        last = question.last_term
        templates.append(question.begun_only)
        counts.append(BEGUN * question.factors[last])
        begun, word = len(templates), looked_up.index(last) + 1
        shorter = f"({question.shorter}){filter_}" if question.shorter else None
    every = None
    if 2 <= len(question.terms) <= FEW_TERMS:
        every = " & ".join(question.terms) + filter_
    return [
        question.phrase,
        question.literal,
        question.is_question,
        text_array([keys.lookups(template + filter_, marks)[0] for template in templates]),
        text_array([in_memory(template) for template in templates]),
        number_array(counts),
        CROWDED,
        begun,
        word,
        text_array(crowded),
        number_array(weights),
        sum(weights),
        every,
        max(WITH_ALL, limit),
        shorter,
        question.last_word if shorter else None,
        newest,
    ]


@cache
def _statement(clues: int, crowded: int) -> str:
    """search_few.sql with room for this many clues."""
    text = sql.load("search_few")
    lines: list[str] = []
    for line in text[text.index("WITH") :].splitlines():
        if "{n}" in line:
            lines += [
                line.replace("{n}", str(n)).replace("{clue}", f"${_PARAMETERS + n}")
                for n in range(1, clues + 1)
            ]
        elif "{crowded}" in line:
            first = _PARAMETERS + clues + 1
            lines += [
                line.replace("{crowded}", f"${n}").replace("{weight}", f"${n + crowded}")
                for n in range(first, first + crowded)
            ]
        else:
            lines.append(line)
    return "\n".join(lines)


STATEMENTS = frozenset([*(_statement(*size) for size in _SIZES), sql.load("search_some")])
