"""The usual question: no pinned memories, and every word is counted or known to be common.

`sql/search_some.sql` answers it. The statement has a column for each clue, so it exists in several
sizes: an unused column costs PostgreSQL a few microseconds.
"""

import math
from collections.abc import Sequence
from functools import cache

from plugin_postgres import keys, sql
from plugin_postgres.arrays import number_array
from plugin_postgres.question import Question, in_memory

# A term in at least this many memories is crowded and not looked up.
CROWDED = 200
# How many clues there is room for, looked up and crowded: half of all questions fit into the first.
_SIZES = ((4, 2), (8, 4), (32, 8))
# How many parameters the statement has besides those of its clues.
_PARAMETERS = 19


def fits(looked_up: int, crowded: int) -> bool:
    """Whether there is a statement for so many clues."""
    return 0 < looked_up <= _SIZES[-1][0] and crowded <= _SIZES[-1][1]


def search(
    question: Question,
    estimates: Sequence[int],
    limit: int,
    namespaces: int,
    marks: Sequence[str],
    filter_: str,
) -> tuple[str, list[object]]:
    """The statement, and its arguments from $5 on.

    `estimates` has about how many memories have each term, or 0 for those to look up.
    """
    terms, factors = question.terms, question.factors
    last = -1 if question.begun is None else question.last_term
    looked_up: list[str] = []
    clues: list[str | None] = []
    counts: list[float] = []
    crowded: list[str | None] = []
    weights: list[float] = []
    for place, term in enumerate(terms):
        if estimates[place] >= CROWDED:
            crowded.append(in_memory(term))
            # Like memory_plugin.search_weight.
            most = CROWDED * (len(terms) + (question.begun is not None))
            weights.append(factors[place] * math.log(1 + 1000 / min(estimates[place], most)))
            continue
        looked_up.append(term)
        if place != last:
            clues.append(in_memory(term))
            counts.append(factors[place])
    word = begun = shorter = None
    if question.begun is not None:
        looked_up.append(question.begun)
        word, begun = in_memory(terms[last]), in_memory(question.begun)
        shorter = question.shorter and in_memory(question.shorter)
    found = " | ".join(looked_up)
    look = f"{found} | {question.shorter} | '@.pin'" if shorter else f"{found} | '@.pin'"
    if filter_:
        look = f"({look}){filter_}"
    for room, room_for_crowded in _SIZES:
        if len(clues) <= room and len(crowded) <= room_for_crowded:
            break
    free, free_for_crowded = room - len(clues), room_for_crowded - len(crowded)
    return _statement(room, room_for_crowded), [
        question.phrase,
        question.literal,
        question.is_question,
        keys.looks(look, marks)[0],
        CROWDED * (len(looked_up) + 1),
        CROWDED,
        number_array(counts + [0.0] * free),
        word,
        0.0 if word is None else factors[last],
        begun,
        shorter,
        question.last_word if shorter else None,
        sum(weights),
        max(min(max(8 * limit, 160), 400) // namespaces, 2),
        in_memory(found),
        *clues,
        *[None] * free,
        *crowded,
        *[None] * free_for_crowded,
        *weights,
        *[0.0] * free_for_crowded,
    ]


@cache
def _statement(clues: int, crowded: int) -> str:
    """search_some.sql with room for so many clues."""
    text = sql.load("search_some")
    lines: list[str] = []
    for line in text[text.index("WITH") :].splitlines():
        if "{n}" in line:
            numbers = range(1, clues + 1)
            clue = [line.replace("{clue}", f"${_PARAMETERS + n}") for n in numbers]
            lines += [it.replace("{n}", str(n)) for it, n in zip(clue, numbers, strict=True)]
        elif "{crowded}" in line:
            first = _PARAMETERS + clues + 1
            numbers = range(first, first + crowded)
            clue = [line.replace("{crowded}", f"${n}") for n in numbers]
            lines += [
                it.replace("{weight}", f"${n + crowded}")
                for it, n in zip(clue, numbers, strict=True)
            ]
        else:
            lines.append(line)
    return "\n".join(lines)


STATEMENTS = frozenset(_statement(*size) for size in _SIZES)
