"""Search by words, alone or with an embedding: what the database is asked for a question."""

from collections.abc import Sequence
from typing import Any

from contract import SearchRequest
from plugin_postgres import jsonb, keys, sql, vectors
from plugin_postgres.lexicon import Fetch
from plugin_postgres.question import Question, in_memory

# A question of at most this many terms is first asked for memories that have all of them.
_FEW_TERMS = 4
# Of more namespaces, each look counts: only some terms are looked up, and no beginnings of words.
_FEW_NAMESPACES = 64
_LOOKED_UP = 3
# How many of them are sampled to tell which terms are rare, and how large a sample tells it.
_SAMPLED_NAMESPACES = 16
_TELLING = 32
# In at most this many, the newest are looked at, too, before the last step.
_NAMESPACES_FOR_NEWEST = 200
# In at most this many, stems are looked for that are shorter than the beginning of a word.
_NAMESPACES_FOR_STEMS = 200
# How many memories are looked at that have all the terms, and that have one.
_WITH_ALL = 600
_WITH_ONE = 200
_WITH_ONE_OF_A_PART = 40
# This many memories tell how common a term is.
_SAMPLE = 48
# What a word counts of which a memory has only the beginning.
_BEGUN = 0.9
# How much longer than the answer the list of words is that is fused with embeddings.
_FUSED = 6
_VECTOR = "$27"


class WordSearch:
    """One search by words."""

    def __init__(
        self,
        fetch: Fetch,
        request: SearchRequest,
        question: Question,
        vector: list[float] | None = None,
    ) -> None:
        self._fetch = fetch
        self._request = request
        self._question = question
        self._vector = vector
        self._namespaces = list(dict.fromkeys(request.namespaces))
        self._marks = [keys.mark(name) for name in self._namespaces]
        self._kinds = sorted(set(request.kinds)) if request.kinds else None
        self._where = jsonb.store(request.where)
        self._filter = ""
        self._estimates: list[int] | None = None

    async def rows(self) -> Sequence[Sequence[Any]]:
        """The memories, best first, as `rows.memory` takes them."""
        terms = self._question.terms
        if self._question.folded == "" and self._vector is None:
            return []
        if self._kinds is not None or self._where is not None:
            [(self._filter,)] = await self._fetch(sql.load("find_filter"), self._kinds, self._where)
        if self._may_have_all() and (found := await self._with_all()) is not None:
            return found
        if len(self._marks) <= _FEW_NAMESPACES or len(terms) < 2:
            return await self._with_some(range(len(terms)), beginnings=True)
        rare, others = await self._by_rarity()
        if self._vector is not None:
            # Embeddings fill the answer, so its length does not tell whether words find too little.
            order = rare + others
            rare, others = order[:_LOOKED_UP], order[_LOOKED_UP:]
        found = await self._with_some(rare, beginnings=False, is_last=not others)
        if len(found) >= self._request.limit or (not others and self._has_last_word(found)):
            return found
        # They found little, so some of the others are looked up as well.
        return await self._with_some(rare + others, beginnings=True)

    def _may_have_all(self) -> bool:
        return (
            self._vector is None
            and 1 <= len(self._question.terms) <= _FEW_TERMS
            and len(self._marks) <= keys.SPAN
            and not self._question.is_only_function
            and self._request.created_after is None
            and self._request.created_before is None
        )

    async def _with_all(self) -> Sequence[Sequence[Any]] | None:
        """The memories that have all the terms, where these are the whole answer."""
        question, limit = self._question, self._request.limit
        single = question.terms[0] if len(question.terms) == 1 else None
        template = " & ".join(question.terms)
        if single is not None and question.begun is not None:
            template = f"({single} | {question.begun})"
        [look] = keys.looks(template + self._filter, self._marks)
        found = await self._fetch(
            sql.load("search_all"),
            self._namespaces,
            self._kinds,
            limit,
            self._where,
            _WITH_ALL,
            look,
            None if single is None else in_memory(single),
            question.phrase,
            question.literal,
            question.is_question,
        )
        number = found[0][0] if found else 0
        if (0 if single else limit - 1) < number < _WITH_ALL:
            return [row[1:] for row in found]
        return None

    async def _by_rarity(self) -> tuple[list[int], list[int]]:
        """The places of the terms that are looked up in many namespaces: first, and if need be.

        Not those that a quarter of the memories have, unless a filter takes few of these: they find
        too many to tell them apart.
        """
        terms = self._question.terms
        step = max(1, len(self._namespaces) // _SAMPLED_NAMESPACES)
        names = self._namespaces[::step][:_SAMPLED_NAMESPACES]
        lexemes = [in_memory(term) for term in terms]
        counted = await self._fetch(sql.load("sample_terms"), names, lexemes)
        taken, stored = counted[0]["taken"], counted[0]["stored"]
        seen = [row["seen"] if taken >= _TELLING else 0 for row in counted]
        # A long word is rarer than a short one.
        order = sorted(range(len(terms)), key=lambda it: (seen[it], -len(terms[it])))
        if taken < _TELLING:
            return order[:_LOOKED_UP], order[_LOOKED_UP : 2 * _LOOKED_UP]
        share = stored * len(self._namespaces) / len(names) / taken
        self._estimates = [round(it * share) for it in seen]
        if self._question.is_only_function:
            return order[:_LOOKED_UP], order[_LOOKED_UP : 2 * _LOOKED_UP]
        is_filtered = self._kinds is not None or self._where is not None
        order = [it for it in order if 4 * seen[it] < taken or is_filtered]
        rare = [it for it in order if seen[it] <= 1][:_LOOKED_UP] or order[:1]
        return rare, order[len(rare) : 2 * _LOOKED_UP]

    def _has_last_word(self, found: Sequence[Sequence[Any]]) -> bool:
        """Whether the last word is in a memory as it stands, and so is not the beginning of one."""
        word = self._question.last_word
        return word is None or any(word in row[2].lower() for row in found)

    async def _with_some(
        self, looked_up: Sequence[int], *, beginnings: bool, is_last: bool = True
    ) -> Sequence[Sequence[Any]]:
        """The memories that have some of the terms, of which those given are looked up.

        `is_last`: whether no other terms are looked up if these find too little.
        """
        request, question = self._request, self._question
        terms = question.terms
        few = len(self._marks) <= _FEW_NAMESPACES
        clues = [in_memory(term) for term in terms]
        factors = list(question.factors)
        wholes = list(range(1, len(terms) + 1))
        estimates = None if self._estimates is None else list(self._estimates)
        looks: list[str] = []
        of_clue: list[int] = []
        templates = [(place + 1, terms[place]) for place in looked_up]
        if beginnings and question.begun is not None:
            last = question.last_term
            clues.append(f"{in_memory(question.begun)} & !{clues[last]}")
            factors.append(_BEGUN * factors[last])
            wholes.append(last + 1)
            if estimates is not None:
                estimates.append(0)
            templates.append((len(clues), question.begun))
        for clue, template in templates:
            parts = keys.looks(template + self._filter, self._marks)
            looks += parts
            of_clue += [clue] * len(parts)
        every = None
        if few and 2 <= len(terms) <= _FEW_TERMS:
            every = " & ".join(terms) + self._filter
        parts_count = -(-len(self._marks) // keys.SPAN)
        wanted = request.limit * (_FUSED if self._vector is not None else 1)
        begins = beginnings and question.begun is not None
        shorter = None
        if begins and question.shorter and len(self._marks) <= _NAMESPACES_FOR_STEMS:
            shorter = f"({question.shorter}){self._filter}"
        is_part = question.is_only_function or len(terms) < 2
        arguments: list[object] = [
            self._namespaces,
            self._kinds,
            wanted,
            self._where,
            request.created_after,
            request.created_before,
            question.phrase,
            question.literal,
            question.is_question,
            clues,
            factors,
            wholes,
            looks,
            of_clue,
            max(_WITH_ONE // parts_count, _WITH_ONE_OF_A_PART) if len(terms) > 1 else _WITH_ALL,
            every,
            max(_WITH_ALL // parts_count, wanted),
            _SAMPLE if len(terms) > 1 and self._estimates is None else 0,
            few,
            f"'@.pin' & ({' | '.join(terms)}){self._filter}" if terms else None,
            shorter,
            question.last_word if shorter else None,
            (question.folded or None) if is_part else None,
            question.is_only_function,
            estimates,
            len(self._marks) <= _NAMESPACES_FOR_NEWEST or (is_last and estimates is not None),
        ]
        if self._vector is None:
            return await self._fetch(sql.load("search_text"), *arguments)
        hybrid = vectors.statement("search_hybrid", self._vector, request.limit, _VECTOR)
        return await self._fetch(hybrid, *arguments, self._vector)
