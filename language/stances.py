"""The verbs for what people like, what they decided and what they usually do."""

import re
from dataclasses import dataclass
from typing import Literal

Category = Literal["preference", "decision", "pattern"]
Polarity = Literal["positive", "negative"]


@dataclass(frozen=True)
class Verb:
    """The meaning of a group of the pattern."""

    category: Category
    polarity: Polarity
    future: bool = False


_ = r"[ \t\u00a0]{1,8}"
_OFTEN = r"usually|always|typically|normally|generally|often|frequently|regularly"
_SELDOM = (
    r"never(?:{_}ever)?|(?:rarely|seldom|infrequently)(?:{_}ever|,?{_}if{_}ever,?)?"
    r"|(?:hardly|barely|scarcely){_}ever"
).replace("{_}", _)
_ADVERB = (
    r"really|just|still|also|actually|absolutely|totally|definitely|mostly|mainly|truly|simply"
    r"|personally|certainly|strongly"
    r"|currently|particularly|especially|quite|much|now|only|finally|recently|ultimately|already"
    r"|eventually|honestly|genuinely"
    r"|deeply|greatly|obviously|clearly|naturally|even|both|all|so|very{_}much|kind{_}of"
    r"|sort{_}of|kinda|almost|completely"
    r"|very|nearly|pretty{_}much|practically|literally"
    r"|firmly|secretly|sincerely|thoroughly|do|instead|therefore|then|vastly|slightly|first"
    r"|long{_}ago|since|too|fully|rather"
    r"|(?!(?:hard|bare|scarce|rare|infrequent|probab|possib|potential|supposed|alleged|reported"
    r"|apparent|false|former|previous|original|initial|brief|temporari|theoretical|hypothetical"
    r"|presumab|necessari|like|unlike|conceivab|seeming|ostensib)ly)[a-z]{3,14}ly"
).replace("{_}", _)
_ADVERBS = rf"(?:(?:{_ADVERB}),?{_}){{0,3}}"
# After `not`, these deny only that it is all there is to say, or that it holds for all:
# `I don't just like tea`, `we don't all like tea`.
_NOT_ONLY = (
    r"(?!(?:(?:really|actually|certainly|honestly|do){_}){0,2}"
    r"(?:just|only|merely|simply|solely|purely|exclusively|all|both|absolutely|totally|entirely"
    r"|completely|fully|wholly|strongly|firmly|vastly|slightly|so{_}much)\b)"
).replace("{_}", _)
_DENIED_ADVERBS = rf"{_NOT_ONLY}{_ADVERBS}"
_HABITS = rf"(?:(?:{_ADVERB}|{_OFTEN}|tend{_}to),?{_}){{0,3}}"
_LIKE = r"(?:prefer|like|love|enjoy|favou?r)"
_HATE = r"(?:hate|dislike|avoid|despise|detest|loathe)"
_NOT = rf"(?:do(?:n't|nt|{_}not))"
# `I never not`, `I don't prefer not to`: negated twice.
_NOT_TWICE = rf"(?!{_}(?:(?:do|would|will|really|ever){_})?(?:not\b|don'?t\b|won'?t\b|fail{_}to\b))"
_FAN = (
    rf"(?:an?{_})?(?:(?:big|huge|great|real|true|massive|die-hard|lifelong|long-time|longtime"
    rf"|total){_}){{0,2}}fans?{_}of"
)
_ADOPT = rf"(?:use|adopt|go{_}with|switch{_}to)"
_GOING = rf"(?:going{_}to|gonna)"
_CHOSE = (
    rf"(?:chose|picked|selected|decided{_}(?:to|on)|decided|went{_}with|settled{_}on"
    rf"|opted{_}for|switched{_}to)"
)
_CHOSEN = (
    rf"(?:chosen|picked|selected|decided{_}(?:to|on)|decided|gone{_}with|settled{_}on"
    rf"|opted{_}for|switched{_}to)"
)
_REFUSED = (
    rf"(?:(?:decided|chose|chosen|opted){_}(?:(?:not|never){_}to|to{_}(?:not|never)|against)"
    rf"|stopped{_}using)"
)

VERBS = {
    "likes": Verb("preference", "positive"),
    "dislikes": Verb("preference", "negative"),
    "will": Verb("decision", "positive", future=True),
    "chose": Verb("decision", "positive"),
    "refuses": Verb("decision", "negative"),
    "wont": Verb("decision", "negative", future=True),
    "habit": Verb("pattern", "positive"),
    "no_habit": Verb("pattern", "negative"),
}


def _pattern(
    subject: str, am: str, arent: str, have: str, will: str, would: str
) -> re.Pattern[str]:
    """The pattern for one grammatical person; `am`, `have` … are its forms, with contractions.

    The groups are named after `VERBS`, with a digit to make the names unique.
    """
    return re.compile(
        rf"""(?ix)(?:
        {subject}{_}{_HABITS}(?:
            (?P<dislikes0>
                (?:{_NOT}|no{_}longer|{_SELDOM}|tend{_}not{_}to|tend{_}to{_}not)
                    {_}{_DENIED_ADVERBS}{_LIKE}{_NOT_TWICE}
              | prefer{_}(?:not|never(?={_}to\b)|to{_}(?:not|never))
              | {_HATE}
              | can(?:'t|t|not|{_}not){_}{_DENIED_ADVERBS}stand
            )
          | (?P<likes0>{_LIKE})
          | (?P<wont0>won'?t{_}(?:ever{_})?{_DENIED_ADVERBS}{_ADOPT})
          | (?P<refuses0>{_REFUSED}|no{_}longer{_}use)
          | (?P<chose0>{_CHOSE})
          | (?P<no_habit0>
                (?: (?:{_SELDOM})(?:{_}tend{_}to)?
                  | tend{_}not{_}to | tend{_}to{_}(?:not|no{_}longer|{_NOT})
                  | {_NOT}{_}{_DENIED_ADVERBS}(?:{_OFTEN}|tend{_}to)
                  | (?:{_OFTEN}){_}(?:not|(?:do{_})?no{_}longer|{_NOT})
                ){_NOT_TWICE}
            )
          | (?P<habit0>{_OFTEN}|tend{_}to)
        )
      | {am}{_}{_ADVERBS}(?:
            (?P<dislikes1>
                (?:not|no{_}longer){_}{_DENIED_ADVERBS}(?:much{_}of{_})?{_FAN}
              | (?:{_SELDOM}|hardly){_}{_FAN} | no{_}(?:big{_})?fans?{_}of
            )
          | (?P<likes1>(?:(?:{_OFTEN}){_})?{_FAN})
          | (?P<wont1>(?:not|never){_}{_DENIED_ADVERBS}(?:{_GOING}{_}{_ADOPT}|going{_}with))
          | (?P<will1>{_GOING}{_}{_ADVERBS}{_ADOPT}|going{_}with)
          | (?P<no_habit1>
                (?:{_SELDOM}|not{_}(?:{_OFTEN})(?!{_}{_FAN})|(?:{_OFTEN}){_}(?:not|no{_}longer)){_NOT_TWICE}
            )
          | (?P<habit1>{_OFTEN})
        )
      | {have}{_}{_ADVERBS}(?: (?P<refuses2>{_REFUSED}) | (?P<chose2>{_CHOSEN}) )
      | {will}{_}{_ADVERBS}(?:
            (?P<wont3>(?:not|never){_}(?:ever{_})?{_ADOPT}) | (?P<will3>{_ADOPT})
        )
      | {would}{_}{_ADVERBS}(?:
            (?P<dislikes4>(?:rather|prefer){_}(?:not|never)|prefer{_}to{_}(?:not|never))
          | (?P<likes4>rather(?!{_}(?:like|love|enjoy)\b)|prefer)
        )
      | {arent}{_}{_DENIED_ADVERBS}(?:
            (?P<dislikes6>{_FAN}) | (?P<wont6>{_GOING}{_}{_ADVERBS}{_ADOPT}|going{_}with)
        )
      | (?:{_OFTEN})[ \t]{{0,8}},?{_}{subject}(?:
            (?P<no_habit5>{_}(?:not|{_NOT}){_NOT_TWICE})
          | (?P<habit5>)(?!{_}{_HABITS}(?:{_LIKE}|{_HATE}|{_SELDOM}|not|{_NOT})\b)
        )
        )(?![\w'-])"""
    )


def find_verb(pattern: re.Pattern[str], text: str, start: int) -> tuple[Verb, int] | None:
    """The verb of the statement that starts here, and where the verb ends."""
    found = pattern.match(text, start)
    if found is None or found.lastgroup is None:
        return None
    return VERBS[found.lastgroup[:-1]], found.end()


# Where a statement may start: the pattern is tried only there.
_SUBJECT = rf"(?<![\w'./@#-])(?:{{}}|{_OFTEN})(?![\w/@.-])"
FIRST_PERSON_START = re.compile("(?i)" + _SUBJECT.format("i|we|my|our|im|ive|ill|id|weve"))
SECOND_PERSON_START = re.compile("(?i)" + _SUBJECT.format("you|your|youre|youve|youll|youd"))
FIRST_PERSON = _pattern(
    subject=rf"(?:i|we)(?:,{_}(?:personally|for{_}one|too|however|honestly|also),)?",
    am=rf"(?:i'?m|i{_}am|we're|we{_}are)",
    arent=rf"(?:(?:i|we){_}a(?:re|i)n'?t)",
    have=rf"(?:i'?ve|i{_}have|we'?ve|we{_}have)",
    will=rf"(?:i'?ll|i{_}will|we'll|we{_}will)",
    would=rf"(?:i'?d|i{_}would|we'd|we{_}would)",
)
SECOND_PERSON = _pattern(
    subject="you",
    am=rf"(?:you'?re|you{_}are)",
    arent=rf"(?:you{_}aren'?t)",
    have=rf"(?:you'?ve|you{_}have)",
    will=rf"(?:you'?ll|you{_}will)",
    would=rf"(?:you'?d|you{_}would)",
)
