"""`My favorite editor is Vim`, and `Vim is my favorite editor`."""

import re
from dataclasses import dataclass

_ = r"[ \t\u00a0]{1,8}"
_KIND = (
    rf"(?:(?:absolute|all-time|all{_}time|new|current|personal|own|number{_}one|very|overall"
    rf"|favou?rite){_}){{0,2}}"
    rf"(?P<least>least{_})?(?:favou?rite|preferred)"
)
_FAVORITE = re.compile(
    rf"(?i)(?:my|our|your){_}{_KIND}(?:{_}(?P<thing>[^\n,;.!?:()]{{1,60}}?))?{_}(?:is|are)(?={_})"
)
# Contracted, which looks like a possessive: `my favorite band's singer`. So only with a name, or of
# things that own nothing.
_CONTRACTED = re.compile(
    rf"(?i)(?:my|our|your){_}{_KIND}{_}(?P<thing>(?P<owns_nothing>colou?r|season|number|day|month|food"
    rf"|fruit|vegetable|drink|meal|dessert|snack|sport|language|genre)|[a-z]+(?:{_}[a-z]+)?)'s"
    rf"(?={_}(?:(?-i:[A-Z])[\w'-]*(?:{_}(?-i:[A-Z])[\w'-]*)*|(?P<word>[a-z]+(?:{_}[a-z]+)?))"
    rf"\s*(?:[.,;!\n]|\Z))"
)
_IS_NOT = re.compile(
    rf"(?i)(?:my|our){_}{_KIND}(?:{_}(?P<thing>[^\n,;.!?:()]{{1,60}}?))?"
    rf"{_}(?:(?:is|are)(?:n't|{_}not|{_}no{_}longer))(?={_})"
)
_MINE = re.compile(rf"(?i)(?:my|our|your){_}{_KIND}(?![\w'-])")
_NO_THING = re.compile(
    r"(?i)\b(?:was|were|used|would|will|had|if|because|but|when|which|is|are|might|could|should"
    r"|may|has|have|i|you|be)\b"
)
_NO_VALUE = re.compile(
    rf"(?i){_}(?:not|no{_}longer|probably|maybe|perhaps|possibly|still{_}un\w+|changing|unknown"
    rf"|missing|what|why|how)\b"
)
# The current state of a favorite: `my favorite mug is broken`. In lower case, to keep titles.
_STATE = re.compile(
    rf"{_}(?:(?:still|now|already|just|always|currently|finally|again|almost|really){_})*(?:"
    rf"(?:closed|broken|taken|stolen|eaten|sold|frozen|stuck|shut|gone|open|back|dead|ready|available|unavailable|lost|over|sold{_}out|wrong"
    rf"|losing|winning|leaving|away|down|off|out|late|here|set|dirty|torn|expensive|cheap|small|big"
    rf"|old|new|good|great|bad|nice|busy|sick|ill|famous|popular|delicious|amazing|awesome|fun"
    rf"|boring|hard|easy|[a-z]{{3,}}ed|(?:too|so|very|pretty|quite){_}\w+)"
    rf"(?=\s*(?:[.!,;\n。｡]|\Z|(?:again|today|now|tonight|this|for|until|on|in|at|by|to|from|because"
    rf"|but|and|so|wrong|out)\b))|about{_}to)\b"
)
_DOES = re.compile(rf"{_}\w{{3,}}ing\b")
_DOERS = re.compile(
    r"(?i)\b(?:song|band|team|player|teacher|show|actor|actress|singer|artist|restaurant|cafe|shop"
    r"|club|person|nephew|niece|aunt|uncle|cousin|colleague|co-?worker|neighbou?r|student|friend"
    r"|author|writer|director|streamer|youtuber|podcast|podcaster|professor|series|character|pub|bar"
    r"|store|brand|company|app|site|website|player|comedian|driver)\Z"
)
_WHERE = re.compile(rf"{_}(?:on|in|at|from|near|under|behind)\b")
_PLACES = re.compile(r"(?i)\b(?:place|spot|time|seat|room|moment|part|view|hour|day)s?\b")


@dataclass(frozen=True)
class Favorite:
    """A favorite, and where its value starts; `thing` is empty in `my favorite is`."""

    thing: str
    least: bool
    end: int


def find_favorite(text: str, start: int) -> Favorite | None:
    """`my favorite [thing] is` at this position."""
    if found := _FAVORITE.match(text, start):
        return _favorite(text, found)
    found = _CONTRACTED.match(text, start)
    if found is None or (found["word"] and not found["owns_nothing"]):
        return None
    return _favorite(text, found)


def find_denied(text: str, start: int) -> Favorite | None:
    """`my favorite [thing] is not` at this position."""
    found = _IS_NOT.match(text, start)
    return _favorite(text, found) if found else None


def _favorite(text: str, found: re.Match[str]) -> Favorite | None:
    if _NO_VALUE.match(text, found.end()):
        return None
    thing = (found["thing"] or "").strip()
    if thing and (_NO_THING.search(thing) or len(thing.split()) > 7):
        return None
    if _STATE.match(text, found.end()):
        return None
    if _DOES.match(text, found.end()) and _DOERS.search(thing):
        return None
    if _WHERE.match(text, found.end()) and not _PLACES.search(thing):
        return None
    return Favorite("" if thing in ("one", "ones") else thing, bool(found["least"]), found.end())


def find_reversed(text: str, start: int) -> Favorite | None:
    """`my favorite` at this position, after `is`; the thing follows."""
    found = _MINE.match(text, start)
    return Favorite("", bool(found["least"]), found.end()) if found else None
