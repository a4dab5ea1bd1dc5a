"""Clauses that follow one another without a mark: `i love sushi i hate ramen`."""

import re

# More than these characters before the next clause make no statement anyway.
_REACH = 200
# Another statement, with an object of its own: not `the people I love most`.
_STATEMENT = (
    r"(?:i|we)\s+(?:(?:also|really|just|still|do|absolutely|actually|much)\s+){0,2}"
    r"(?:(?:do(?:n't|nt|\s+not)\s+(?:really\s+)?)?(?:prefer|like|love|enjoy|hate|dislike|avoid)"
    r"|can(?:'?t|not)\s+stand)"
    r"\s+(?!(?:to|most|best|more|less|the\s+(?:most|best)|and|or|but|in|on|at|for|with|from|about"
    r"|when|because|so|very|too|a\s+lot|much|as|than|\w+(?:ly|ing))\b)\w"
    r"|(?:i'?m|we're|i\s+am|we\s+are)\s+(?:not\s+)?(?:(?:a\s+)?(?:\w+\s+)?fans?\s+of"
    r"|an?\s+\w+\s*\Z|from|vegan|vegetarian|allergic)\b"
    r"|my\s+(?:least\s+)?favou?rite\s+(?:[\w'-]+\s+){1,3}?(?:is|are)\s"
)
# A question, or a word to the reader.
_ADDRESS = (
    r"(?:"
    r"(?:how|what|why|where|which)\s+(?:do|does|did|can|could|should|would|is|are|about)\s+"
    r"(?:i|you|u|we|it|the|your)\b|what\s+am\s+i\b|which\s+one\s+(?:should|do|would)\s+(?:i|you|u|we)\b|got\s+any\b"
    r"|what\s+(?:\w+\s+){1,2}(?:would|should|could|do|does)\s"
    r"|(?<!what\s)is\s+there\b|(?:is|was)\s+(?:that|it|this)\s+(?:enough|ok|okay|normal|weird|bad|good|fine|dumb"
    r"|stupid|healthy|possible|too)\b"
    r"|(?:can|could|would|will|do)\s+(?:you|u)\s+\w|(?:should|can|could|shall)\s+i\s+\w"
    r"|any\s+(?:ideas?|tips?|suggestions?|advice|recommendations?|recs|thoughts)\b)"
    r"|(?<!say\s)(?<!saying\s)(?:idk|dunno|btw|thx|thanks|thank\s+you|anyways?|lol|lmao|ngl|fwiw|tbh"
    r"|imo|imho|pls|plz|please)\s+\w"
)
_NEXT_CLAUSE = re.compile(rf"(?i)\s(?=[abcdfghilmnpstw])(?:{_STATEMENT}|{_ADDRESS})")
# A clause that could also describe the noun before it: `the bread I usually buy`. Who writes `i` in
# lower case seldom ends a clause with a mark. Not `my`, `they`, `you` and the like: `food my wife
# loves` cut short would say something else.
_MAYBE_CLAUSE = re.compile(
    r"\s(?=[iwIW])(?:(?:i|we)\s+(?:never|always|usually|rarely|often|mostly|mainly|normally|typically"
    r"|generally|sometimes|only|also|just|am|was|think|live|work|know|wish|hope|guess|went|tried"
    r"|started|moved|grew)\b|(?:i|we)\s+\w+\s+(?:it|them)\b"
    r"|(?:I|We)\s+(?:never|always|usually|rarely)\s+\w+\s+(?!(?:in|on|at|for|with|from|when|to)\b)\w)"
)
# One that seldom does.
_OTHER_CLAUSE = re.compile(
    r"\s(?=[ibgyu])(?:been\s+\w+ing\b|got\s+(?:it|them|one|mine)\b|(?:you|u)\s+know\b"
    r"|it(?:'?s|\s+(?:is|was|keeps?|makes?|helps?|feels?|tastes?|gives?|takes?|hurts?|just|always))"
    r"\s(?!(?:easy|hard|possible|nice|fun|safe)\s+to\b))"
)
# Said to the reader; it describes nothing.
_ORDER = re.compile(
    r"\s(?=[kgwhtsld])(?:keep\s+it|get\s+to\s+the|wish\s+me|help(?:\s+me)?\s*\Z|(?:tell|give|show|let)\s+me\b"
    r"|let'?s\b|don'?t\s+(?:use|give|make|add|suggest|tell|include|write)\b)"
)
_DESCRIBED = (
    r"(?i)\b(?:the|an?|our|his|her|their|any|every|each|some|most|all|no|\w*thing|things|stuff"
    r"|people|that|what|whatever|when|where|how|if|who|which|to|you)\b"
)
_MAY_BE_DESCRIBED = re.compile(_DESCRIBED)
# Also a plural: `friends i work with`.
_MAY_BE_OF_MINE = re.compile(rf"{_DESCRIBED}|[a-z]{{2}}(?<!s)s\Z")
_SUBORDINATE = re.compile(r"(?i)\b(?:that|what|when|where|how|if|who|which|people|you|they|not)\b")
_NEEDS_MORE = re.compile(
    r"(?i)(?:^|\s)(?:the|an?|my|our|your|his|her|their|as|than|until|before|after|while|once|because"
    r"|like|of|for|with|to|way|whether|why|watching|seeing|and|or|by|in|on|at|from|about)\Z"
)
_JOINT = re.compile(r"(?i)(?:\s+(?:anyways?|so|and|but|also))+\Z")


def next_clause(masked: str, start: int, end: int) -> int | None:
    """Where the next clause starts within the object from `start` to `end`, if one does."""
    start, end = start + 1, min(end, start + _REACH)
    following = _NEXT_CLAUSE.search(masked, start, end)
    starts = [following.start()] if following else []
    for clause, describes in (
        (_MAYBE_CLAUSE, _MAY_BE_OF_MINE),
        (_OTHER_CLAUSE, _MAY_BE_DESCRIBED),
        (_ORDER, _SUBORDINATE),
    ):
        maybe = clause.search(masked, start, end)
        if maybe is None:
            continue
        before = masked[start : maybe.start()]
        if not (describes.search(before) or _NEEDS_MORE.search(before)):
            starts.append(maybe.start())
    before = _JOINT.sub("", masked[start : min(starts)]) if starts else ""
    return start + len(before) if before.strip() else None


# A second clause whose start is unclear: `[I love] Tokyo the food is amazing`. The verbs in lower
# case, to keep titles.
_SECOND_CLAUSE = re.compile(
    r"\s*(?!(?:make|made)\s+sure|(?:think|hope|say|feel|believe|assume|pretend|know|act|wish|find|tell"
    r"|ask|check|see)\b)"
    r"(?:(?!(?:that|which|who|whose|whom|when(?:ever)?|where(?:ver)?|because|if|how|what(?:ever)?|while"
    r"|as|since|why|than|until|till|before|after|once|whether|like|unless|though|whichever|so|sure)\b)"
    r"\S+\s+){1,12}?(?<!\bI\s)(?<!\bwe\s)(?<!\byou\s)"
    r"(?:is|are|was|were|does|did|has|(?:is|are|was|were|does|did|has)n'?t|won't|wont|can't|cant|cannot|don't|dont"
    r"|(?:makes|keeps|says|hates|loves|feels|annoys|seems|gets|gives|goes|wants)(?=\s+(?!(?:at|in|on|for|with|every)\b)\w))\b"
)


def has_second_clause(masked: str, start: int, end: int) -> bool:
    """Whether another clause follows, with no word between them that would join it.

    One in parentheses is an aside: `I prefer tea (it is healthy)`.
    """
    aside = masked.find(" (", start, end)
    return _SECOND_CLAUSE.match(masked, start, end if aside < 0 else aside) is not None
