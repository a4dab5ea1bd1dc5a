"""What an assistant says about the user: whether it counts, and how to rephrase it as `I`."""

import re
from enum import IntEnum

from language.standing import CONDITION, LEADING_MARKS, LETTER


class Report(IntEnum):
    """How certain it is, from the words before it, that `you` means the user."""

    NONE = 0
    CLAIMED = 1  # at the start of a sentence, or after `since`
    NOTED = 2  # after `noted`, `I'll remember that` or `you said`


_SAID = re.compile(
    r"(?ix)\byou(?:'?ve|\s+have)?\s+(?:(?:already|just|also|once|previously|earlier)\s+)*"
    r"(?:said|mentioned|told\s+me|stated|noted|wrote)(?:\s+(?:earlier|before|that|once"
    r"|previously))*[\s,:]*\Z"
)
_NOTED = re.compile(
    r"(?ix)(?:\A|[\s,.!(])(?:noted|understood|got\s+it|good\s+to\s+know|i(?:'?ve"
    r"|\s+have)\s+(?:noted|saved|remembered)"
    r"|i(?:'?ll|\s+will)\s+(?:remember|note|keep\s+in\s+mind))(?:\s+that)?[\s,:;.!—–-]*\Z"
)
_CAUSE = re.compile(
    r"(?i)(?:\A|[\s,(—–-])(?:since|because|given that|now that"
    r"|(?<!such )(?<!long )(?<!soon )(?<!much )(?<!many )"
    r"(?<!often )(?<!far )(?<!well )(?<!same )as)\s*\Z"
)
_FILLER = re.compile(
    r"(?i)(?:(?:ok|okay|great|nice|cool|awesome|excellent|wonderful|lovely"
    r"|sure|thanks|thank you|perfect|alright|right|yes|also|ah|oh|hi"
    r"|hello|welcome back|good)\b[\s,!—–-]*)+\Z"
)
_AND = re.compile(r"(?i)\b(?:and|but)(?: that)?\s*\Z")
_GENERIC = re.compile(
    rf"(?i)\b(?:{CONDITION}|when|whenever|whatever|whichever|which|once|until|never|not|n't|hope"
    rf"|before|after)\b"
)


def judge_report(prefix: str, before: Report = Report.NONE) -> Report:
    """Judge the words before `you`; `before` is the judgement of the preceding clause."""
    prefix = LEADING_MARKS.sub("", prefix, count=1)
    if not LETTER.search(prefix):
        return Report.CLAIMED
    said = _SAID.search(prefix)
    if _GENERIC.search(prefix, 0, said.start() if said else len(prefix)):
        return Report.NONE
    if said or _NOTED.search(prefix):
        return Report.NOTED
    if _CAUSE.search(prefix) or _FILLER.match(prefix):
        return Report.CLAIMED
    return before if _AND.search(prefix) else Report.NONE


_PRONOUN = re.compile(
    r"(?i)\b(?:(you)(['’]?(?:re|ve|ll|d)\b|\s+are\b|\s+were\b)?|(your|yours|yourself)"
    r"|(i)(['’](?:m|ve|ll|d)|\s+am\b)?|(me|my|mine|myself))\b(?!['’-]\w)"
)
_AS_SUBJECT = re.compile(
    r"\s+(?:can|could|will|would|do|don['’]?t|did|have|had|need|want|use|like|love|hate|prefer"
    r"|get|go|work|eat|drink|feel|see|know|think|write)\b"
)
_FORMS = {"your": "my", "yours": "mine", "yourself": "myself"}
_OPPOSITE = {"me": "you", "my": "your", "mine": "yours", "myself": "yourself"}
_ENDINGS = {"re": "m", " are": " am", " were": " was", "m": "re", " am": " are"}


_YOU_ARE_NOT = re.compile(r"(?i)\byou\s+aren['’]?t\b")


def to_first_person(text: str) -> str:
    """Rephrase a statement in the first person: `You like your job` as `I like my job`."""

    def replacement(found: re.Match[str]) -> str:
        you, you_are, your, i, i_am, mine = found.groups()
        if your:
            word = _FORMS[your.lower()]
        elif mine:
            word = _OPPOSITE[mine.lower()]
        elif i:
            word = "you" + _ending(i_am)
        elif you_are or found.start() == 0 or _AS_SUBJECT.match(text, found.end()):
            return "I" + _ending(you_are)
        else:
            word = "me" if you else ""
        return word.capitalize() if found.group()[0].isupper() and found.start() == 0 else word

    return _PRONOUN.sub(replacement, _YOU_ARE_NOT.sub("you're not", text))


def _ending(ending: str | None) -> str:
    if not ending:
        return ""
    bare = ending.lstrip("'’")
    mark = ending[: len(ending) - len(bare)]
    return mark + _ENDINGS.get(" " + bare.strip() if bare[0].isspace() else bare, bare)
