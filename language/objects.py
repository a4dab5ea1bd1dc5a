"""The object of a statement: the words after its verb, to the end of the clause."""

import re
from dataclasses import dataclass

from language.assignments import REDACTED
from language.run_ons import next_clause
from language.sentences import ends_sentence
from language.words import words

MIN_CHARACTERS = 3
MAX_CHARACTERS = 500
# More than 500, because white space between words does not count.
_REACH = 700

_SUBJECTS = r"i|we|you|he|she|they|it|there|i'm|i've|i'll|i'd|im|ive|we're|it's|that's|that\s+is"
_VERBS = (
    r"(?:(?:really|also|just|absolutely|always|usually)\s+)?(?:hate|dislike|love|like|prefer"
    r"|enjoy|avoid|can't\s+stand"
    r"|cannot\s+stand|don't\s+\w+|do\s+not\s+\w+|never|always|usually|rarely|often|tend|will"
    r"|won't|decided|chose|switched"
    r"|am|was|have|had|want|need|think|use|used)\s+\w"
)
_OTHERS = r"(?:my|our|his|her|their|the)\s+\w+\s+"
# Tried at every character, so with few branches: punctuation first, then words after white space.
_END = re.compile(
    r"(?i)[\n\r\u2028\u2029;…),—。｡]|[!?](?!\w+=)|\.(?=\s|\Z|[\"'”’)\]*_.]|(?-i:I|We)(?:'\w+)?\s)|</"
    r"|[-–](?<=\w[-–])(?=\s+(?!(?:and|or|to)\b))"
    r"|(?<=\s)(?:[–-]-?(?=\s)|(?=[abcejmopstw'(])(?:"
    r"(?:but|(?:(?:simply|just|mainly|mostly|only|purely|partly)\s+)?because|although|though|whereas|'?cause|coz|cuz|bcu?z?|bcs|cos(?!\s+lettuce)|even\s+though)\b"
    r"|while\s+(?:\w+\s+){1,3}?(?:likes?|loves?|hates?|prefers?|enjoys?|uses?)\b"
    rf"|(?:and|or)\s+(?:(?:(?:that\s+)?(?:{_SUBJECTS})|please|then|so|now)(?![\w-])|{_VERBS}|{_OTHERS}"
    r"(?:\w+ly\s+|also\s+|always\s+|never\s+)?"
    r"(?:likes?|loves?|hates?|prefers?|is|are|was|has|wants?|thinks?|uses?|does|can|will|agrees?"
    r"|enjoys?|says?|knows?|needs?|gets?)\b"
    r"|(?:my|our|your|his|her|their)\s+(?:(?!(?:that|which|who|where)\b)[\w'-]+\s+){1,4}?"
    r"(?:is|are)\b)"
    rf"|\((?={_OTHERS}(?:likes?|loves?|hates?|prefers?|uses?)\b)"
    r"|so\s+(?:i|we|you|he|she|they|it|please|don't|do|let|use|can|could|make|keep|recommend"
    r"|suggest|give|show|tell|find|write|avoid|skip|pick|choose|put|set|send|add|leave|no|what"
    r"|which|where|how|who|is|are|should|would|maybe|any)\b"
    r"|since\s+(?:i|we|you|he|she|they|it|the|my|that|this|there|a)\b))"
)
_AND = re.compile(r"(?i)(?:\A|\s)(?:and|or|nor|&|as well as|plus)\s")
_CONTRAST = re.compile(
    r"(?i)\s*not\s+(?!because\b|that\b|sure\b|only\b|really\b|to\s+mention|much\b|yet\b|at\s+all"
    r"|anymore|if\b|when\b)"
)
# A question mark after nothing but these words turns the statement before them into a question.
_TAG = re.compile(
    r"(?i)\s*(?:(?:right|correct|true|wrong|mistaken|no|not|yes|eh|huh|hm+|ok|okay|yeah|innit|surely"
    r"|agreed|or|what|i|we|it|that|this|so|(?:do|did|was|would|wo|ca|could|should|have|has|is|are|ai"
    r"|does)n't|isnt|dont|didnt|do|did|am|was|will|would|can|have|is|are|you\s+(?:think|agree|say"
    r"|reckon))\b[\s,]*)+\?"
)
# Unless they ask what the other thinks of it, which is a question of its own.
_OPINION = re.compile(
    r"(?i)\s*(?:(?:so|and|but|now|ok|okay|or)[\s,]+){0,2}"
    r"(?:what\s+(?:do|did|would)\s+you\s+(?:think|say|reckon)|(?:(?:do|would|did)\s+)?you\s+agree"
    r"|(?:is|was)\s+(?:that|this|it)\s+(?:ok|okay|wrong)|was\s+(?:i|we)\s+wrong)[\s,]*\?"
)
# `I chose Postgres, or was it MySQL?`
_OR_ELSE = re.compile(
    r"(?i)\s*or\s+(?:am|is|was|were|do|did|have|had|will)(?:n't)?\s+(?:i|we|it|that)\b[^.!?\n]{0,80}\?"
)
_IF = re.compile(
    r"(?i)\b(?:if|unless|provided|providing|assuming|(?:as|so) long as|in case|depending|only when"
    r"|whether|pending|subject to|permitting|barring|on (?:the )?condition|maybe|perhaps|probably"
    r"|possibly|might|given enough|should (?:it|they|the|that|there)"
    r"|either\s(?:\S+\s){1,6}or)\b"
)
_NOT_BEFORE = re.compile(
    r"(?i)\b(?:once|as\s+soon\s+as|until|when(?:ever)?\s+(?:i|we|you|he|she|they|it|the|my|our|there))\b"
)
_FINITE = words(
    """
    am are aren't can can't could did didn't do does doesn't don't had has hasn't have
    haven't is isn't it's makes may might must needs says seems should that's was wasn't
    were will won't would works likes loves hates prefers wants thinks uses goes helps
    gives gets keeps feels looks sounds costs
    """
)
_NO_LIST_ITEM = words(
    """
    actually ad after also although and anyway as at based because before besides but can
    compared could depending do don't e.g e.g. especially even every except for generally
    given go he hence his however i i'm i've if in instead it its just let let's like make
    mainly maybe mostly no not now ok okay on or otherwise particularly perhaps please
    preferably probably rather regardless right she since so some sometimes still such
    sure thanks thank that that's the then there therefore they this though thus to too
    try unless until use usually we what when where whereas which while who why with
    without yes you your
    """
) - words("the no some every")


@dataclass(frozen=True)
class Object:
    """Where an object is in the text, and whether it is part of a question.

    `runs_on`: the next clause follows without a mark between them.
    """

    start: int
    end: int
    is_question: bool
    runs_on: bool = False


def find_object(masked: str, start: int, *, is_action: bool = False) -> Object:
    """The object that starts here, to the end of its clause. `is_action`: it starts with a verb."""
    found = _marked_object(masked, start, is_action)
    end = next_clause(masked, found.start, found.end)
    return found if end is None else Object(start, end, False, runs_on=True)


def _marked_object(masked: str, start: int, is_action: bool) -> Object:
    """The object, to the next mark or word that ends a clause."""
    stop = min(len(masked), start + _REACH)
    commas: list[int] = []
    end, mark = stop, ""
    for found in _END.finditer(masked, start, stop):
        first = found.group()[0]
        if first == "," and (commas or not _is_number(masked, found.start())):
            commas.append(found.start())
            continue
        if first == "," or (first == "." and not _is_period_end(masked, found.start())):
            continue
        if is_action and commas and _GOES_ON.match(masked, commas[-1]):
            continue
        if first == ")" and masked.count("(", start, found.start()) > masked.count(
            ")", start, found.start()
        ):
            continue
        end, mark = found.start(), first
        break
    while commas:
        goes_on = _end_of_list(masked, start, commas, end, is_action)
        if goes_on is None:
            return Object(start, commas[0], _is_asked(masked, commas[0] + 1))
        commas = [it for it in commas if it >= goes_on]
    is_question = mark == "?" or (mark == "!" and masked[end : end + 2] == "!?")
    if mark and mark in "-–—":
        is_question = _is_asked(masked, end + 1)
    return Object(start, end, is_question)


def _is_asked(masked: str, start: int) -> bool:
    """Whether the words after a statement turn it into a question."""
    if _OPINION.match(masked, start):
        return False
    return bool(_TAG.match(masked, start) or _OR_ELSE.match(masked, start))


def end_at_main_clause(masked: str, found: Object, *, is_mine: bool = True) -> Object:
    """The object without the main clause after it: `[as I like] cats I should get one`.

    `is_mine`: the clause before it is in the first person, too.
    """
    main = (_MAIN_CLAUSE if is_mine else _MY_CLAUSE).search(masked, found.start, found.end)
    return Object(found.start, main.start(), False) if main else found


_MY_CLAUSE = re.compile(
    r"(?i):\s|\s+(?:(?:i|we)(?:'\w+)?(?=\s)|you\s+(?:should|could|can|might|may|will|would)|please|let's)\b"
)
_MAIN_CLAUSE = re.compile(
    r"(?i)\s+(?:(?:i|we)(?:'\w+|\s+(?:should|will|would|can|could|need|want|think|always|never"
    r"|usually|rarely|often|tend|decided|chose|prefer|like|love|hate|avoid|use|take|am|are|just))"
    r"|you\s+(?:should|could|can)|please|let's|(?:can|could|would|should|do)\s+(?:you|i|we))\b"
)


def has_condition(masked: str, found: Object, *, future: bool = False) -> bool:
    """Whether there is a condition in or after the object, in the same sentence.

    `future`: the statement is about the future, so waiting for something is a condition too.
    """
    stop = found.end
    for end in re.finditer(
        r"[\n;!?。｡]|\.(?=\s|\Z)|\bbut\b(?!\s+only)|\band\s+if\b",
        masked[found.end : found.end + 200],
    ):
        stop = found.end + end.start()
        break
    else:
        stop = found.end + 200
    return bool(
        _IF.search(masked, found.start, stop)
        or (future and _NOT_BEFORE.search(masked, found.start, stop))
    )


def _is_period_end(text: str, index: int) -> bool:
    following = text[index + 1 : index + 2]
    if following and not following.isspace():  # `...`, or a closing quote
        return True
    return ends_sentence(text, index)


def _is_number(text: str, comma: int) -> bool:
    """`10,000`"""
    return text[comma - 1 : comma].isdecimal() and text[comma + 1 : comma + 2].isdecimal()


def _end_of_list(text: str, start: int, commas: list[int], end: int, is_action: bool) -> int | None:
    """The end of the list or contrast after the first comma; None if it is neither."""
    borders = [*commas[:9], end]
    kind = "ing" if _GERUND.match(text, start) else "verb" if is_action else ""
    if _CONTRAST.match(text, commas[0] + 1):
        return borders[1]
    for position, comma in enumerate(commas[:9]):
        item = text[comma + 1 : borders[position + 1]]
        conjunction = _AND.search(item)
        if conjunction is None:
            if not _is_item(item, kind):
                return None
            continue
        before, after = item[: conjunction.start()], item[conjunction.end() :]
        if before.strip() and not _is_item(before, kind):
            return None
        alone = position == 0 and not before.strip()
        return borders[position + 1] if _is_item(after, kind, 4 if alone else 7) else None
    return None


_GERUND = re.compile(r"(?i)\s*[a-z]{2,}ing\b")


def _is_item(text: str, kind: str, most: int = 6) -> bool:
    """Whether this continues a list of things, gerunds (`ing`) or verbs."""
    parts = text.split()
    if kind == "ing" and parts[1:] and parts[0].lower() in ("just", "even", "also"):
        parts = parts[1:]
    if kind == "ing" and parts and _GERUND.match(parts[0]):
        most = 10
    elif kind == "verb" and parts and parts[0].lower() in _VERBS_IN_LISTS:
        parts = parts[1:]
    if not 1 <= len(parts) <= most:
        return False
    is_name = parts[0][0].isupper() and parts[0][0] != "I"  # Go is a language
    first = parts[0].lower()
    if not is_name and (first in _NO_LIST_ITEM or first.partition("'")[0] in _NO_LIST_ITEM):
        return False
    return not any(it.lower() in _FINITE for it in parts)


_VERBS_IN_LISTS = words("have do go make try use")
# `I usually walk, read, and have coffee`
_GOES_ON = re.compile(r"(?i),\s*(?:and|or)\s+(?:have|use|need)\s")


# --- objects that mean nothing later --------------------------------------------------------

_THINGS = (
    r"ones?|options?|approach(?:es)?|suggestions?|ideas?|choices?|versions?|answers?"
    r"|alternatives?|solutions?|variants?"
    r"|examples?|proposals?|way|part|thing|bit|point|drafts?|paragraphs?|sentences?|variations?"
    r"|wording|phrasing|explanations?|tone|title|intro|outline|layout|ending|structure|list"
)
_ORDINALS = (
    r"first|second|third|fourth|fifth|last|latter|former|other|others|same|previous|next|above"
    r"|following|new|old|one|two|three"
    r"|middle|top|bottom|left|right|1st|2nd|3rd|original|rest"
)
_POINTING = r"(?:it|this|that|these|those|them)"
_EMPTY = re.compile(
    rf"""(?ix)(?:
      (?:it|this|these|those|them|'?em|him|her|me|us|you|they|one|ones|both|all|some|any|none|neither
      |either|such|so|too|more
        |most|less|best|better|worse|everything|anything|something|nothing|everyone|everybody
        |someone|anyone|nobody|others|lots
        |here|there|now|then|later|today|tomorrow|yesterday|already|yet|again|instead|not|to
        |wisely|poorly|well|carefully|badly|right|wrong|correctly|wrongly
        |quickly|myself|ourselves|yours|hers|theirs|his|much|the\ most|the\ best|a\ lot
        |very\ much|differently)
        (?:\s+(?:too|better|more|most|best|all|a\ lot|so\ much|very\ much|much|now|as\ well|here
        |there|guys|both|either|anymore|at\ all
        |one|ones|then|instead|for\ now|this\ way|that\ way|again|yet|today|already|too\ much
        |really|alone|equally))*
      | (?:it|them|him)\b(?!\s+(?:when|if|that)\s+(?!you\b|it\b|this\b|that\b)).*
      | (?:this|these|those)\b.*
      | that(?:'s)?(?:\s+(?:{_THINGS}|kind|sort|stuff|a\ lot|too|better|more|very\ much
      |so\ much)\b.*)?
      | that\s+(?:you|this|it|that|was|were|is|would|will)\b.*
      | the\s+(?:\w+\s+)?(?:{_ORDINALS})\s+of\s+(?:(?:the|these|those|them|your)\b.*|two|three
      |four)
      | the\s+ones?\s+(?:on|in|at|to|from|with|we|you|that)\b.* | the\s+other\s+\w+
      | the\s+(?:\w+\s+){{1,3}}(?:(?:that|which)\s+)?you(?:'ve|'d|\s+have)?\s+(?:just\s+)?
        (?:\w+ed|gave|sent|wrote|said|made|showed|told|put|did|built|found|chose|meant)\b.*
      | .*\s(?:of|about|with|like|for|at|before|after|than|over|without|to|as|from)\s+{_POINTING}
      | (?!.*\swith\s).*\s(?:in|on)\s+{_POINTING}
      | (?:both|all|any|some|neither|either|these|those)\s+(?:{_THINGS}) | all\s+of\s+the\s+above
      | (?:some|any|every)thing\s+(?:(?:a\ (?:bit|little)|slightly|much|way|even)\s+)?
        (?:else|different|similar|(?:more|less)\s+\w+|simpler|\w+[dghklmnprtw]er)
      | (?:to\s+)?(?:have|take|use|get|keep)\s+the\s+(?:{_ORDINALS})
      | .*\sfrom\s+(?:before|yesterday|earlier|above)
      | the\s+(?:\w+\s+and\s+)?\d*(?:st|nd|rd|th)\s+ones?
      | the\s+(?:\w+\s+){{1,2}}of\s+(?:the\s+)?(?:two|three|four|lot|bunch) | things|stuff
      | do\s+(?:both|either|neither|all|nothing|the\ same)
      | the\s+following\b.* | .*\sto\s+\w+\s+(?:it|them|this|that)
      | an?\s+\w+\s+(?:{_THINGS})\s+here
      | .*\s(?:of|in|on|about|with|for|from)\s+(?:this|that|these|those)\s+(?:{_THINGS}|text|e-?mail
      |letter|essay|code|function|file|page|image|picture|photo|song|video|poem|story|article|chapter
      |scene|slide|document|thread|chat|conversation|message|reply|response|logo|design|graph|chart
      |table|plot|commit|snippet|script|query|line|section|sketch|mock-?up|screenshot)
      | give\s+(?:it|this|that|them)\s+an?\s+\w+
      | (?:both|all|any|some|none|neither|either|one|most|each|everything|lots|half
      |parts?)\s+(?:of|about)\s+
        (?:it|this|that|these|those|them|you|your)\b.*
      | (?:any\s+|either\s+)?(?:one|either)\s+(?:(?:over|to|above|than|more\s+than|as\s+much\s+as
      |or)\s+(?:the\s+other|another)|of\s+the\s+(?:two|three|options)|better\s+than\s+the\s+other)\b.*
      | (?:myself|ourselves)\s+(?:for|when|because)\b.*
      | (?:your|ur)\b.* | you(?!\s+to\b).*
      | the\s+(?:\w+\s+)?(?:{_ORDINALS})(?:\s+(?:{_THINGS}))?(?:\s+(?:better|best|more|most
      |instead|for\ now|too|please))?
      | the\s+(?:\w+\s+)?(?:{_THINGS})(?:\s+(?:better|best|more|most|instead|for\ now|too
      |you\b.*|we\b.*|that\s+you.*|above|below|here))?
      | (?:a|an|another|some)\s+(?:\w+\s+)?(?:{_THINGS})
      | (?!(?:loved|little|dear)\s)\w+\s+ones
      | (?:how|what|where|whatever|whichever|wherever|the\ way|the\ fact\ that|when)\s+(?:you
      |your|this|that|it|things?)\b.*
      | how\s+\w+\s+(?:this|that|it|you|your)\b.*
      | what\s+(?:happen\w*|(?:he|she|they)\b.*)
      | what\s+(?:i|we)\s+(?:see|saw|hear|heard|read|have|got|like|love|want|do|need|prefer)\b.*
      | (?:whatever|whichever)\b.*
      | (?:to\s+)?(?!keep\b)\w+\s+(?:it|this|that|them|him|her|'?em)(?:\s+\w+)?
      | (?:to\s+)?(?!(?:keep|make|play|take|call|find)(?:ing)?\b)\w+\s+(?:it|them|him)\b
        (?!\s+(?:when|if)\b).*
      | (?:option|choice|number|variant|version|plan|answer|solution|approach)\s+(?:\#?\w{{1,2}}
      |one|two|three|four)(?:\s+(?:best|better|more|most|in\s+.*))?
      | \w+ing\s+(?:it|this|that|these|those|so|them)
      | (?:to\s+)?(?:say|tell|answer|comment|discuss|believe)(?:\s+(?:it|that|this|so))?
      | \#?\d{{1,2}} | [a-d] | (?:the\s+)?(?:above|below|following|rest|change|changes|idea|plan
      |sound|look|result)
      | to\s+(?:do\s+(?:it|this|that|so)|(?:not\s+)?say|admit|ask|bother|break\s+it|think
      |interrupt|disturb|intrude|complain|brag|nag|impose|pry|disagree|believe|imagine|pretend|joke
      |see\s+(?:it|that|you).*|be\s+(?:that|the\s+one|sure|honest|clear|fair)|know|hear\s+(?:it|that)|differ)\b.*
      | (?:do|try|use|keep|make|take|buy|change|fix|leave|skip|drop)\s+(?:it|this|that|so|them
      |these|those|that\s+one|this\s+one)\b(?!\s+\w+\s+\w+).*
      | (?:will|do|did|does|have|had|has|am|are|was|were|be|been|would|could|can|should
      |is)(?:\s+(?:not|been|so|too))*
      | (?:i|we|he|she|they)(?:'\w+)?\b(?![/.]\w).* | that\s+(?:i|we|he|she)(?:'\w+)?\b.*
      | (?:is|are|was|were|has|had|does|would|could|should|might|must)\b.*
    )"""
)
_SECRET_NAME = re.compile(
    r"(?i)[\w.-]*(?:key|token|password|secret|bearer|url)s?\s*(?:is\b)?\s*[=:]*"
)


# Objects that turn the stance around: `I like neither tea nor coffee`, `I like tea no more`.
_REVERSED = re.compile(
    r"(?i)(?:(?:almost|next\s+to|absolutely|practically|virtually)\s+)?"
    r"(?:neither|none|nobody|no\s+one|nothing(?!\s+(?:more|better)\b)"
    r"|(?:hardly|barely|scarcely)|(?:very\s+)?(?:little\s+(?:about|of)|few\s+(?:about|of|things))"
    r"|not\s+(?:a|an|any|one|many|much|only|all|every\w*))\b.*"
    r"|.*\s(?:no\s+(?:more|longer)|(?:the\s+)?least(?:\s+of\s+all)?|less\s+and\s+less|not\s+at\s+all"
    r"|never)"
)


def reverses(text: str) -> bool:
    """Whether the object denies what the verb says, so that the stance is not what it seems."""
    return bool(_REVERSED.fullmatch(text))


def means_nothing(text: str) -> bool:
    """Whether the object has no meaning outside of the conversation."""
    text = text.replace("’", "'")
    if REDACTED.search(text):
        rest = _SECRET_NAME.sub("", REDACTED.sub("", re.sub(r"(?i)\Ause\s", "", text)))
        if not re.search(r"\w{2}", rest):
            return True
    if not text[0].isalnum() and not re.search(r"\w{2}", text):
        return True
    parts = text.lower().split()
    if parts[0] == "that" and not any(it in _FINITE for it in parts):
        return True  # `that guy`, but not `that the tests are fast`
    text = _LEADING_ADVERBS.sub("", text).rstrip(".:! ")
    return bool(_EMPTY.fullmatch(text) or _EMPTY.fullmatch(_ASIDE.sub("", text)))


# Said to the reader, not about the object: `option B please`.
_ASIDE = re.compile(
    r"(?i)(?:\s+(?:please|pls|plz|thanks|thx|thank\s+you|then|btw|tbh|lol|haha|imo|imho|ngl"
    r"|honestly|actually|though|tho|i\s+guess|i\s+think|for\s+sure|for\s+now|instead|too))+\Z"
)

_LEADING_ADVERBS = re.compile(r"(?i)\A(?:(?:still|definitely|always|now|really|just|actually)\s+)+")
