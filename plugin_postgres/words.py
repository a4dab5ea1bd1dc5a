"""Search by words, alone or with an embedding: which statements answer a question."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from contract import SearchRequest
from plugin_postgres import jsonb, keys, sql, usual, vectors
from plugin_postgres.arrays import number_array, text_array
from plugin_postgres.commonness import Commonness, Sample
from plugin_postgres.lexicon import Fetch, Lexicon
from plugin_postgres.question import Question, in_memory
from plugin_postgres.usual import BEGUN, CROWDED, FEW_TERMS, MOST_CROWDED, WITH_ALL

# With more namespaces, lookups are expensive: only some terms, and no beginnings of words.
_FEW_NAMESPACES = 64
_LOOKED_UP = 3
# With at most this many, the newest memories are checked even before the last step, and stems that
# are shorter than an unfinished word are looked up.
_SOME_NAMESPACES = 200
# How many memories with one term are read at most.
_WITH_ONE = 200
_WITH_ONE_OF_A_PART = 40
# A crowded term is also in at least an eighth of the sample.
_CROWDED_SHARE = 8
# How many times the limit the list of word matches has that is fused with embeddings.
_FUSED = 6
_VECTOR = "$27"
# A memory that scores less than this share of the best is left out.
_LEAST_SHARE = 0.2


class WordSearch:
    """One search by words."""

    def __init__(
        self,
        fetch: Fetch,
        lexicon: Lexicon,
        commonness: Commonness,
        request: SearchRequest,
        question: Question,
        vector: list[float] | None = None,
    ) -> None:
        self._fetch = fetch
        self._lexicon = lexicon
        self._commonness = commonness
        self._request = request
        self._question = question
        self._vector = vector
        self._asked = frozenset(request.namespaces)
        self._namespaces = request.namespaces
        if len(self._asked) < len(self._namespaces):
            self._namespaces = list(dict.fromkeys(self._namespaces))
        self._kinds = sorted(set(request.kinds)) if request.kinds else None
        self._where = jsonb.store(request.where)
        self._filter = ""
        self._are_few = len(self._namespaces) <= _FEW_NAMESPACES
        self._families: tuple[str, ...] = ()
        if not self._are_few and vector is None:
            self._families = keys.families(self._namespaces)

    async def rows(self) -> Sequence[Sequence[Any]]:
        """The memories, best first, as arguments of `rows.memory`."""
        terms = self._question.terms
        if self._question.folded == "" and self._vector is None:
            return []
        self._filter = await self._lexicon.filter(self._fetch, self._kinds, self._where)
        kept = self._commonness.kept(self._namespaces)
        if self._may_have_all(kept) and (found := await self._with_all()) is not None:
            return found
        if len(terms) < 2:
            return await self._with_some(_Plan(list(range(len(terms)))))
        plan = self._plan(kept or await self._sample())
        found = await self._by_plan(plan)
        has_left_out = not plan.has_all(len(terms))
        if kept is not None and has_left_out and len(found) < self._request.limit:
            newer = self._plan(await self._sample())
            if newer != plan:
                return await self._by_plan(newer)
        return found

    @cached_property
    def _marks(self) -> list[str]:
        return [keys.mark(name) for name in self._namespaces]

    async def _sample(self) -> Sample:
        return await self._commonness.sample(self._fetch, self._namespaces)

    def _plan(self, sample: Sample) -> "_Plan":
        return self._for_few(sample) if self._are_few else self._for_many(sample)

    async def _by_plan(self, plan: "_Plan") -> Sequence[Sequence[Any]]:
        if self._are_few:
            found = await self._as_usual(plan) if plan.is_usual else None
            return await self._with_some(plan) if found is None else found
        found = await self._with_some(plan, beginnings=False, is_last=not plan.if_needed)
        is_all = len(found) >= self._request.limit
        if is_all or (not plan.if_needed and self._has_last_word(found)):
            return found
        # Too little was found, so some of the others are looked up as well.
        return await self._with_some(plan._replace(looked_up=[*plan.looked_up, *plan.if_needed]))

    def _may_have_all(self, sample: Sample | None) -> bool:
        """Whether memories with all the terms may be enough for the answer."""
        terms = self._question.terms
        return (
            self._vector is None
            and 1 <= len(terms) <= FEW_TERMS
            and len(self._namespaces) <= keys.SPAN
            and not self._question.is_only_function
            and self._request.created_after is None
            and self._request.created_before is None
            and (len(terms) == 1 or sample is None or all(sample.seen(term) > 1 for term in terms))
        )

    async def _with_all(self) -> Sequence[Sequence[Any]] | None:
        """The memories with all the terms, if they are the whole answer."""
        question, limit = self._question, self._request.limit
        single = question.terms[0] if len(question.terms) == 1 else None
        template = " & ".join(question.terms)
        if single is not None and question.begun is not None:
            template = f"({single} | {question.begun})"
        [lookup] = keys.lookups(template + self._filter, self._marks)
        found = await self._fetch(
            sql.load("search_all"),
            self._namespaces,
            self._kinds,
            limit,
            self._where,
            WITH_ALL,
            lookup,
            None if single is None else in_memory(single),
            question.phrase,
            question.literal,
            question.is_question,
        )
        number = found[0][0] if found else 0
        if (0 if single else limit - 1) < number < WITH_ALL:
            return [row[1:] for row in found]
        return None

    def _for_few(self, sample: Sample) -> "_Plan":
        """In few namespaces, all terms are looked up except crowded ones."""
        question = self._question
        seen, guesses = sample.counts(question.terms)
        estimates = [
            guess if _is_crowd(sample, count) else 0
            for guess, count in zip(guesses, seen, strict=True)
        ]
        looked_up = [place for place, it in enumerate(estimates) if it < CROWDED]
        begun = 0
        if question.begun is not None:
            word = question.terms[question.last_term]
            begun = estimates[question.last_term]
            if _is_crowd(sample, sample.seen(question.begun, without=word)):
                begun = max(begun, sample.estimate(question.begun, without=word))
        is_usual = (
            not sample.is_pinned
            and self._vector is None
            and not question.is_only_function
            and self._request.created_after is None
            and self._request.created_before is None
            and len(self._marks) <= keys.SPAN
            and 0 < len(looked_up) >= len(estimates) - MOST_CROWDED
            and begun < CROWDED
        )
        is_small = sample.is_counted and all(guesses[place] < CROWDED for place in looked_up)
        return _Plan(
            looked_up, estimates=estimates, begun=begun, is_usual=is_usual, is_small=is_small
        )

    def _for_many(self, sample: Sample) -> "_Plan":
        """In many namespaces, some terms are looked up first and others only if needed.

        Terms in a quarter of the memories are not looked up unless there is a filter: they find too
        many memories to tell them apart.
        """
        terms = self._question.terms
        seen = [sample.seen(term) if sample.is_telling else 0 for term in terms]
        # Long words are rarer than short ones.
        order = sorted(range(len(terms)), key=lambda it: (seen[it], -len(terms[it])))
        estimates = [sample.estimate(term) for term in terms] if sample.is_telling else None
        if estimates is None or self._question.is_only_function:
            count = _LOOKED_UP
        else:
            is_filtered = self._kinds is not None or self._where is not None
            order = [it for it in order if 4 * seen[it] < sample.taken or is_filtered]
            count = min(sum(seen[it] <= 1 for it in order), _LOOKED_UP) or 1
        if self._vector is not None:
            # Embeddings fill the answer, so its length does not show whether words find too little.
            order, count = order[: 2 * _LOOKED_UP], _LOOKED_UP
        return _Plan(order[:count], order[count : 2 * _LOOKED_UP], estimates)

    def _has_last_word(self, found: Sequence[Sequence[Any]]) -> bool:
        """Whether a memory contains the last word as it is, so that it is probably complete."""
        word = self._question.last_word
        return word is None or any(word in row[2].lower() for row in found)

    async def _as_usual(self, plan: "_Plan") -> Sequence[Sequence[Any]] | None:
        """What `_with_some` finds, in less time; None if that may be something else."""
        statement, arguments = usual.search(
            self._question,
            plan.estimates or (),
            self._request.limit,
            self._marks,
            self._filter,
            is_small=plan.is_small,
        )
        found = await self._fetch(
            statement,
            text_array(self._namespaces),
            self._kinds,
            self._request.limit,
            self._where,
            *arguments,
        )
        if found and found[0][0] is None:
            return None if found[0][-2] else []
        if found and found[-1][-1] < (least := _LEAST_SHARE * found[0][-1]):
            return [row for row in found if row[-1] >= least]
        return found

    async def _with_some(
        self, plan: "_Plan", *, beginnings: bool = True, is_last: bool = True
    ) -> Sequence[Sequence[Any]]:
        """The memories with some of the terms, of which those of the plan are looked up.

        `is_last`: whether this is the last attempt, even if it finds too little.
        """
        if self._families:
            found = await self._in_families(
                plan, beginnings=beginnings, is_last=is_last and not plan.looked_up
            )
            # Terms that are not looked up may be in the newest memories. These take longer, so
            # they are read only if the lookups find too little.
            has_others = 0 < len(plan.looked_up) < len(self._question.terms)
            if found is not None and is_last and has_others and len(found) < self._request.limit:
                found = await self._in_families(plan, beginnings=beginnings, is_last=True)
            if found is not None:
                return found
            self._families = ()
        bound, _ = self._bound()
        arguments = [
            text_array(self._namespaces),
            *self._arguments(plan, self._marks, bound, beginnings, is_last),
        ]
        if self._vector is None:
            return await self._fetch(sql.load("search_text"), *arguments)
        hybrid = vectors.statement("search_hybrid", self._vector, self._request.limit, _VECTOR)
        return await self._fetch(hybrid, *arguments, self._vector)

    async def _in_families(
        self, plan: "_Plan", *, beginnings: bool, is_last: bool
    ) -> Sequence[Sequence[Any]] | None:
        """The same by families; None if they have too much that is in other namespaces."""
        noted, families, request = self._commonness, self._families, self._request
        are_wider = noted.is_noted(families, "wider")
        bound = WITH_ALL + len(self._namespaces)
        is_partial = are_wider or request.created_after or request.created_before
        estimates = plan.estimates or [0] * len(self._question.terms)
        if is_partial and any(estimates[place] > bound for place in plan.looked_up):
            return None
        marks = [keys.mark(name) for name in families]
        shared = families[0] if len(families) == 1 else ""
        arguments = [
            *self._arguments(plan, marks, bound, beginnings, is_last),
            " | ".join(keys.lookups("'@.pin'", marks)),
            shared,
        ]
        statement = sql.load("search_text_in_families")

        async def fetch(*, with_names: bool, are_checked: bool) -> Sequence[Sequence[Any]]:
            names = [name[len(shared) :] for name in self._namespaces] if with_names else []
            return await self._fetch(statement, text_array(names), *arguments, are_checked)

        # Other steps than lookups need the names, which take long to send.
        with_names = (
            is_partial
            or is_last
            or noted.is_noted(families, "pinned")
            or len(self._namespaces) <= _SOME_NAMESPACES
            or self._question.is_only_function
            or len(self._question.terms) < 2
        )
        [(is_cut, is_enough, lacks_pinned, are_living, met, *_), *found] = await fetch(
            with_names=bool(with_names), are_checked=are_wider
        )
        if not (are_living and self._asked.issuperset(met)):
            noted.note(families, "wider")
            if is_cut:
                return None
            [(_, is_enough, *_), *found] = await fetch(with_names=True, are_checked=True)
        elif lacks_pinned:
            noted.note(families, "pinned")
            [(_, is_enough, *_), *found] = await fetch(with_names=True, are_checked=False)
        return [row[5:] for row in found] if is_enough else None

    def _bound(self) -> tuple[int, int]:
        """How much each lookup by namespace reads, and how many lookups a term has."""
        parts_count = -(-len(self._namespaces) // keys.SPAN)
        if len(self._question.terms) < 2:
            return WITH_ALL, parts_count
        return max(_WITH_ONE // parts_count, _WITH_ONE_OF_A_PART), parts_count

    def _arguments(
        self, plan: "_Plan", marks: Sequence[str], bound: int, beginnings: bool, is_last: bool
    ) -> list[object]:
        """The arguments of search_found from $2 on, for memories with these marks."""
        request, question = self._request, self._question
        terms = question.terms
        clues = [in_memory(term) for term in terms]
        factors = list(question.factors)
        templates = [(place + 1, terms[place]) for place in plan.looked_up]
        begun = word = None
        if beginnings and question.begun_only is not None:
            last = question.last_term
            clues.append(in_memory(question.begun_only))
            factors.append(BEGUN * factors[last])
            begun, word = len(clues), last + 1
            if plan.begun < CROWDED:
                templates.append((begun, question.begun_only))
        lookups: list[str] = []
        of_clue: list[int] = []
        for clue, template in templates:
            parts = keys.lookups(template + self._filter, marks)
            lookups += parts
            of_clue += [clue] * len(parts)
        of_part, parts_count = self._bound()
        most = of_part * parts_count * len(clues)
        estimates = ["0"] * len(clues)
        for place, it in enumerate(plan.estimates or ()):
            estimates[place] = str(min(it, most))
        if begun is not None:
            estimates[-1] = str(min(plan.begun, most))
        for clue, _ in templates:
            estimates[clue - 1] = "NULL"
        every = None
        if self._are_few and 2 <= len(terms) <= FEW_TERMS:
            every = " & ".join(terms) + self._filter
        wanted = request.limit * (_FUSED if self._vector is not None else 1)
        shorter = None
        if begun and question.shorter and len(self._namespaces) <= _SOME_NAMESPACES:
            shorter = f"({question.shorter}){self._filter}"
        are_newest_asked = len(self._namespaces) <= _SOME_NAMESPACES or (
            is_last and plan.estimates is not None
        )
        is_part = question.is_only_function or len(terms) < 2
        return [
            self._kinds,
            wanted,
            self._where,
            request.created_after,
            request.created_before,
            question.phrase,
            question.literal,
            question.is_question,
            text_array(clues),
            number_array(factors),
            f"{{{','.join(estimates)}}}",
            begun,
            word,
            text_array(lookups),
            number_array(of_clue),
            bound,
            every,
            max(WITH_ALL // parts_count, wanted),
            f"'@.pin' & ({' | '.join(terms)}){self._filter}" if terms else None,
            shorter,
            question.last_word if shorter else None,
            are_newest_asked,
            (question.folded or None) if is_part else None,
            question.is_only_function,
            len(self._namespaces),
        ]


class _Plan(NamedTuple):
    """Which terms to look up, by their positions: at first, and if these find too little."""

    looked_up: list[int]
    if_needed: Sequence[int] = ()
    estimates: list[int] | None = None  # about how many memories have each term; 0: few
    begun: int = 0  # the same for words that begin with the last one
    is_usual: bool = False  # whether to try `_as_usual`
    is_small: bool = False  # whether each term to look up is in fewer than `CROWDED` memories

    def has_all(self, terms: int) -> bool:
        """Whether no term is left out, so that no other plan finds more."""
        return len(self.looked_up) + len(self.if_needed) == terms and self.begun < CROWDED


def _is_crowd(sample: Sample, seen: int) -> bool:
    """Whether something seen this often in a sample is in many of the memories."""
    return seen > 0 and sample.is_telling and _CROWDED_SHARE * seen >= sample.taken
