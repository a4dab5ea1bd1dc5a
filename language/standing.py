"""Whether a clause is a statement, judged by what precedes it in the sentence.

`I prefer tea` is a statement on its own, after `but` and after `I told you that`, but not after
`if`, `my wife thinks`, `the editor that` or `maybe`.
"""

import re
from enum import Enum

from language.masking import HIDDEN
from language.words import words


class Standing(Enum):
    """How the words before a clause affect it."""

    STATED = 1
    DENIED = -1  # `I don't think`
    NOT_STATED = 0


LETTER = re.compile(r"[^\W\d_]")
LEADING_MARKS = re.compile(
    r"\A\s{0,9}(?:@[a-zA-Z][\w.-]{0,60}[,:]?\s{1,9}){0,3}[\W\d_]*(?:[a-zA-Z]\)\s+)?"
)
# Words before these do not govern what comes after them.
_NEW_CLAUSE = re.compile(
    r"(?i)(?<!\btl);|\b(?:but|however|nevertheless|yet|and now)\b"
    r"|(?:,\s*)?\b(?:(?<!even )(?<!as )though|although|whereas|even though"
    r"|so(?! that\b| far| long| much)"
    r"|(?<!not )(?<!just )(?<!only )because|since|(?:given|now|considering)\s+that)\b"
)
# Except that a reason without a comma is still governed: `if you left because I …`.
_GOVERNS_REASONS = re.compile(
    r"(?i)\b(?:if|unless|whether|suppos\w+|imagin\w+|pretend\w*|assum\w+|says?|said|saying|thinks?"
    r"|thought|believes?|believed|claims?|claimed|insists?|insisted|tells?|told|heard"
    r"|according\s+to)\b"
)
_ADVERBS = (
    r"(?:(?:also|already|just|really|still|do|did|have|actually|always|honestly|even"
    r"|certainly)\s+){0,3}"
)
_SAID = (
    r"(?:think|believe|guess|feel|know|said|mentioned|admit|reali[sz]ed?|noticed|swear|repeat"
    r"|mean|f(?:ou|i)nd(?:\s+out)?|discovered|learn(?:ed|t)|come\s+to\s+reali[sz]e|decided|keep\s+telling\s+\w+"
    r"|confess|reckon|figured?|say|(?:told|(?<=did\s)tell)\s+(?:you|him|her|them|us|everyone|everybody|people|(?:my|our|the)\s+\w+|\w+))"
)
_GOVERNED = re.compile(
    rf"(?ix)(?:\A|(?<=[\s,(—–-]))(?:"
    rf"(?:i|we)\s+{_ADVERBS}{_SAID}(?:\s+(?:before|earlier|already|once|again|clearly|yesterday"
    rf"|today))?"
    rf"|(?:i|we)(?:'?ve|\s+have)\s+{_ADVERBS}{_SAID}"
    r"|i(?:\s+(?:must|have\s+to|should|gotta|need\s+to|can|will|have\s+got\s+to)|'?ve\s+got\s+to|'ll)"
    r"\s+(?:say|admit|add|mention|confess|note|confirm|tell\s+you)"
    r"|(?:it|that)(?:'s|\s+is)\s+(?:also\s+)?(?:true|a\s+fact|no\s+secret|clear|obvious"
    r"|worth\s+(?:noting|mentioning|knowing))"
    r"|if\s+(?:at\s+all\s+)?possible|you\s+ask(?:ed)?|tl;?\s?dr|long\s+story\s+short|(?:\w+ly|funny|strange|sure|fair|odd|true)\s+enough|what\s+can\s+i\s+say|all\s+in\s+all|\w+ly\s+speaking|all\s+things\s+considered"
    r"|the\s+(?:very\s+)?(?:next|other|following|same)\s+(?:day|week|month|year|morning|evening|night)"
    r"|(?:speaking|talking)\s+(?:of|about)\s+(?!the\b|an?\b|my\b|our\b|people\b|things\b)\w+"
    r"|i\s+(?:forgot\s+to|wanted\s+to|want\s+to)\s+(?:say|mention|add|tell\s+you)"
    r"|(?:i(?:'?m|\s+am)|we(?:'re|\s+are))\s+(?:(?:very|so|pretty|quite|really|absolutely|fairly"
    r"|\w+ly|just|also|rather|a\s+(?:bit|little))\s+){0,2}(?:sure|certain|positive|convinced|confident|afraid"
    r"|aware|glad|happy|proud|sorry|sad|ashamed|embarrassed|relieved|lucky|surprised)"
    r"(?:\s+to\s+(?:say|admit))?"
    r"|i\s+(?:want|need|would\s+like)\s+you\s+to\s+(?:know|remember)|i(?:'d"
    r"|\s+would)\s+(?:also\s+)?(?:say|add)"
    r"|(?:(?:please|also|just|and|always|one|another|an?|more|last|final|quick|small|side"
    r"|short|personal|general|important)\s+)*(?:remember|note|know|keep\s+in\s+mind"
    r"|bear\s+in\s+mind"
    r"|do(?:n't|nt|\s+not)\s+forget|never\s+forget|be\s+aware|mind\s+you)"
    r"|you\s+(?:(?:should|already|do|must)\s+)*know|let\s+me\s+(?:tell\s+you|say|add)"
    r"|(?:as|like)\s+(?:i|you)(?:'?ve|\s+have)?\s+(?:already\s+)?(?:said|mentioned|told\s+you"
    r"|know|say)(?:\s+(?:before|earlier|already|yesterday|above|last\s+time|many\s+times))?"
    r"|just\s+to\s+let\s+you\s+know|(?:considering|seeing)(?:\s+as)?"
    r"|(?:(?:my|the|our)\s+)?(?:(?:whole|only|main|one|big)\s+)?(?:point|reason|thing|bottom\s+line|result|upshot|fact|truth"
    r"|problem|issue|trouble|reality)\s+is|what\s+i\s+mean\s+is"
    r"|if\s+(?:you\s+(?:must|want\s+to)\s+know|(?:it|that|this)\s+helps|you\s+ask\s+me)"
    r"|(?:that|this|which)(?:'s|\s+is)\s+(?:(?:also|exactly|partly)\s+)?why"
    r"|unlike\s+(?:my|our|most)\s+\w+|just\s+so\s+you\s+know|(?:it\s+)?turn(?:s|ed)\s+out|given|now(?=\s+that\b)"
    r"|for\s+(?:the\s+record|your\s+information)"
    r")(?:\s+that)?[\s,:—–-]*\Z"
)
DENIAL = re.compile(
    r"(?i)(?:\A|(?<=[\s,(]))(?:i|we)\s+(?:really\s+|honestly\s+)?(?:do(?:n't|nt"
    r"|\s+not))\s+(?:really\s+)?"
    r"(?:think|believe|feel)(?:\s+that)?\s*\Z"
)
_HARMLESS = re.compile(
    r"(?ix)\bif\s+(?:you\s+(?:ask\s+me|must\s+know)|possible|i(?:'m|\s+am)\s+(?:being\s+)?honest"
    r"|anything"
    r"|i\s+(?:have|had)\s+(?:to\s+choose|the\s+choice|a\s+choice)|that\s+helps)\b"
    r"|\b(?:i|we)\s+(?:\w+ly\s+)?(?:think|believe|guess|feel|know|mean|say|said|told\s+\w+|hear"
    r"|see|understand)\b"
    r"|\b(?:i|we)\s+do(?:n't|nt|\s+not)\s+(?:think|believe|know|feel|say|expect)\b"
    r"|\bbelieve\s+it\s+or\s+not\b|\byou\s+know\s+(?:me|us)\b|\b(?:i|we)(?:'m|'re|\s+(?:am|are|was|were))\s+thinking\b"
    r"|(?:\A|\b(?:i|we)(?:'ve|\s+have)\s+)been\s+thinking\b|\bwhat\s+can\s+i\s+say\b"
    r"|\b(?:not\s+(?:gonna|going\s+to)|won't|can't|cannot|no)\s+lie\b|\b(?:joke|joking|kidding)s?\s+aside\b"
    r"|\b(?:some|much|careful|further|long)\s+thought\b|\b(?:without\s+a|no)\s+doubt\b"
    r"|\b(?:truth\s+be\s+told|needless\s+to\s+say|that\s+(?:being\s+)?said|having\s+said\s+that)\b"
    r"|\bwhat\s+(?:people|others|they|you)\s+(?:say|think)\b"
)
CONDITION = (
    r"in\s+(?:this|the|my|a|that|our)\s+(?:story|novel|game|play|dream|film|movie|song|scene|poem"
    r"|scenario|hypothetical|exercise|role)"
    r"|for\s+the\s+sake\s+of\s+argument|as\s+a\s+persona|in\s+character"
    r"|if|unless|whether|suppos(?:e|ing)|imagin(?:e|ing)|assum(?:e|ing)|pretend(?:ing)?|maybe"
    r"|perhaps|possibly|probably|presumably|worst[\s-]case"
    r"|provid(?:ed|ing)|as\s+long\s+as|apparently|supposedly|allegedly|reportedly"
    r"|might|doubt|unsure|wish|wonder(?:ing)?|hypothetically|theoretically|either|otherwise|lied"
    r"|lying|joking|kidding"
    r"|make\s+sure|ensure|so\s+that|to\s+quote|hopefully|in\s+theory|ideally|on\s+paper"
    r"|in\s+an?\s+(?:ideal|perfect)\s+world|in\s+another\s+life"
    r"|(?:\A|(?<=,\s))(?:should|had|were)\s+(?:i|we|you|he|she|it|they|there|the|my|our)"
    r"|would|dream(?:ed|t|ing)?|in\s+case|as\s+though|only\s+then|not\s+(?:\w+\s+)?(?:sure"
    r"|certain|true|convinced)|n't\s+sure"
)
_OTHERS = (
    r"says?|said|saying|tells?|told|telling|thinks?|thought|thinking|believes?|believed"
    r"|claim(?:s|ed|ing)?|insist(?:s|ed)?"
    r"|assum(?:es|ed)|jokes?|joked|knows?|knew|wr(?:ites|ote|iting\s+that)|shout(?:s|ed)?|yell(?:s|ed)?"
    r"|repl(?:y|ies|ied)"
    r"|answer(?:s|ed)|complain(?:s|ed)?|argu(?:es|ed)|whisper(?:s|ed)?|remark(?:s|ed)"
    r"|announc(?:es|ed)|remind(?:s|ed)?|(?:he|she|they|who)\s+(?:goes|go|went)"
    r"|heard|hears?|guess(?:es|ed)?|accus(?:es|ed)|according\s+to|convinced|notic(?:es|ed)"
    r"|suspect(?:s|ed)?|expect(?:s|ed)?"
    r"|(?:in|from)\s+(?:his|her|their|your|\w+'s)\s+(?:view|opinion|words|eyes|mind|version"
    r"|perspective)|(?:puts|sees|tells|has)\s+it|per\s+the"
    r"|(?:difference\s+between|the\s+(?:phrases?|sentences?|expressions?|words?|idiom|line))"
    r"(?=\s+(?:i|we)\b)"
    r"|translate|rewrite|rephrase|paraphrase|proofread|summari[sz]e|repeat|false|lie|myth|untrue"
)
_GOVERNS = re.compile(rf"(?i)\b(?:{CONDITION}|{_OTHERS})\b")
_LAST_WORD = re.compile(r"([^\W_][\w'’-]*)\s*\Z")
_BEFORE_STATEMENT = words(
    """
    absolutely actually ago ah aha alright also always and anyway anyways as basically btw
    certainly clearly currently eventually fair finally first forward frankly fwiw fyi
    awesome bro cool damn dude generally gosh great haha hehe hello hence hey heya hi hiya hm hmm
    honestly imho imo indeed instead lately lmao lol look luckily man mostly nah naturally ngl
    nice no nope normally now nowadays obviously ofc often oh ok okay omg ooh perfect personally
    plus please ps recently regularly seriously similarly sometimes sorry still sure surely
    tbh thanks then therefore thus thx today tonight tomorrow too truthfully typically ugh uh um
    ultimately unfortunately usually welp well while wow yay yea yeah yep yes yesterday yup
    """
)
# These mean something else inside a sentence than at its start: `she was sure I …`.
_INTERJECTIONS = words(
    """
    ah aha alright awesome bro cool damn dude gosh great haha hehe hello hey heya hi hiya hm hmm
    lmao lol look man nah nice no nope ofc oh ok okay omg ooh perfect please sorry sure thanks thx
    ugh uh um welp well wow yay yea yeah yep yes yup
    """
)
_SUBORDINATES = words(
    """
    after am are before but can could did do does don't for had has have how if is like
    may must nor of once or shall should than that the till to until was were what
    whatever when whenever where wherever whether which whichever who whom whose why will
    with would
    """
)
# A sentence that starts with one of these has a place, time or reason before its subject.
_BEGINS_ADVERBIAL = words(
    """
    according after although among apart around as aside at because before besides between by
    compared concerning depending despite due during each every for from given in inside instead
    last lately most next of on once out over regarding right since some sometimes thanks these
    this though throughout to today under until upon via when whenever while with within without
    yesterday
    """
)
_BEGINS_ADVERBIAL |= words(
    """
    mornings afternoons evenings nights weekends weekdays mondays tuesdays wednesdays thursdays
    fridays saturdays sundays summers winters
    """
)
# These need a time: `every song I love` only describes the song.
_POINTS = words("each every last most next some these this")
_TIME = re.compile(
    r"(?i)\b(?:(?:mor|eve)nings?|(?:after)?noons?|(?:week|mon|tues|wednes|thurs|fri|satur|sun|holi"
    r"|birth)?days?|nights?|week(?:end)?s?|months?|years?|times?|summers?|winters?|springs?|autumns?"
    r"|falls?|seasons?|hours?|minutes?|while|then|often|semesters?|quarters?|terms?|sprints?|christmas"
    r"|easter|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|way|far|round|once)(?![\w'])"
)
# Any adverb, but for those that nearly deny what follows: `rarely I …`.
_STATES = re.compile(r"(?!(?:hard|bare|scarce|rare|infrequent|former)ly)\w+ly")
# Something to be done then is not decided yet.
_NOT_YET = words("after depending failing once potentially until when whenever")
_ABOUT_TIME = re.compile(
    r"(?i)after\s+(?:all|some|much|careful|long|a\s+(?:long|lot|lengthy))\b|when\s+it\s+comes\s+to\b"
)
# True in the past, but maybe not now: `as a kid I always read in bed`.
_LONG_AGO = re.compile(
    r"(?i)\b(?:as\s+a\s+(?:young\s+)?(?:kid|child|teen\w*|boy|girl|baby)|back\s+(?:then|in|when)"
    r"|in\s+(?:those|the\s+old)\s+days|when\s+(?:i|we)\s+(?:was|were)|growing\s+up)\b"
)
_TURNS = words("but however nevertheless yet") | {"and now"}
_AS_BEFORE = words("long soon many often far same such")


def judge(prefix: str, *, future: bool = False, lasting: bool = False) -> Standing:
    """Judge a clause in the first person by the start of its sentence.

    `future`: the clause is about the future; `lasting`: it is about a lasting state.
    """
    prefix = _EVEN.sub("", LEADING_MARKS.sub("", prefix, count=1), count=1)
    stated = Standing.STATED
    for _ in range(3):
        prefix = _after_new_clause(prefix)
        if not LETTER.search(prefix):
            return Standing.NOT_STATED if HIDDEN in prefix[-2:] else stated
        if denied := DENIAL.search(prefix):
            stated, prefix = Standing.DENIED, prefix[: denied.start()]
        elif governed := _GOVERNED.search(prefix):
            prefix = prefix[: governed.start()]
        else:
            break
    if not LETTER.search(prefix):
        return stated
    if _GOVERNS.search(_HARMLESS.sub(" ", prefix)) or (lasting and _LONG_AGO.search(prefix)):
        return Standing.NOT_STATED
    return stated if _is_complete(prefix, future) else Standing.NOT_STATED


def judge_run_on(before: str) -> Standing:
    """The same for a clause in an endless sentence: only the words right before it count."""
    last = _LAST_WORD.search(before.rstrip())
    follows = last is not None and last[1].lower() in _SUBORDINATES
    return Standing.NOT_STATED if follows or _GOVERNS.search(before) else Standing.STATED


_EVEN = re.compile(r"(?i)\A(?:even\s+(?=(?:when|though|while|after)\b)|ever\s+(?=since\b))")
_SINCE_THEN = re.compile(
    r"(?i)since\s+(?:(?:the|my|our|last|this|that|early)\s+){0,2}(?:\d{4}|accident|surgery|operation"
    r"|illness|diagnosis|divorce|break-?up|wedding|marriage|move|birth|baby|pandemic|lockdowns?|covid"
    r"|college|university|school|graduation|childhood|retirement|then"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|week|month|year|summer|winter|spring|autumn)\s*\Z"
)
# A whole clause before the main one: `although it was late we …`
_WHOLE_CLAUSE = re.compile(
    r"(?i)(?:(?:al)?though|because|since)\s+(?:i|we|it|he|she|they|there)"
    r"(?:'(?:m|re|s|ve|d|ll)|\s+\w+)(?:\s+(?!and\b)[\w'-]+){1,8}\s*\Z"
)


def _after_new_clause(prefix: str) -> str:
    if _WHOLE_CLAUSE.match(prefix) or _SINCE_THEN.match(prefix):
        return prefix
    end = 0
    for found in _NEW_CLAUSE.finditer(prefix):
        is_reason = found.group()[0] not in ",;" and found.group().lower() not in _TURNS
        if is_reason and _GOVERNS_REASONS.search(_HARMLESS.sub(" ", prefix[end : found.start()])):
            continue
        end = found.end()
    return prefix[end:].lstrip(" \t,")


# `We` is anybody: `in physics we often neglect friction`, `in this tutorial we will use React`.
_GENERAL = re.compile(
    r"(?i)\bin\s+(?:(?:pure|applied|linear|modern|classical|computer|machine|deep|quantum)\s+)?(?:math\w*"
    r"|physics|chemistry|biology|statistics|economics|linguistics|grammar|algebra|calculus|geometry"
    r"|science|learning|philosophy|psychology|medicine|law|english|german|french|spanish)\b"
    r"|\bin\s+(?:this|the\s+(?:next|following|previous|last))\s+(?:tutorial|chapter|section|post|article"
    r"|video|lesson|guide|example|paper|course|episode|part|module|step|proof|lecture|exercise)\b"
    r"|\bin\s+the\s+(?:code|example|snippet|figure|diagram|text|proof)\b|\bfor\s+(?:simplicity|brevity)\b"
    r"|\bin\s+(?:an?\b|what\s+follows)|\bwe\s+all\b"
    r"|\bas\s+(?:humans?|people|a\s+(?:society|species|culture)|humanity|consumers|citizens)\b"
)
# The steps of an explanation: `First, we'll use grep`.
_NUMBERED = re.compile(
    r"(?i)\A\W*(?:first|firstly|second|secondly|third|next|lastly|step\s+\w+)\b(?:[\s,:]*|.*\b(?:then|next|finally|that),?\s*)\Z"
)


def speaks_in_general(prefix: str, *, future: bool) -> bool:
    """Whether `we`, after these words, is anybody and not the author."""
    return bool(_GENERAL.search(prefix) or (future and _NUMBERED.match(prefix)))


def describes(prefix: str, about: str) -> bool:
    """Whether the clause only describes the noun before: `in the bar [I love] there is a cat`."""
    last = _LAST_WORD.search(prefix)
    if last is None or last[1].lower() in _BEFORE_STATEMENT | _SUBORDINATES:
        return False
    return _ANOTHER_VERB.match(about) is not None


# A verb that belongs to none of the words before it, as there is no `that` or `when`.
_ANOTHER_VERB = re.compile(
    r"(?i)(?!(?:that|when|how|what|it|the\s+(?:way|fact))\b)"
    r"(?:(?!(?:that|which|who|when|where|because|if|how|what|while|as|since|whose|why|than)\b)\S+\s+)"
    r"{1,9}?(?:is|are|was|were|isn't|aren't|wasn't|weren't)\b"
)


def _is_complete(prefix: str, future: bool) -> bool:
    """Whether the subject after this prefix starts a new clause."""
    text = prefix.rstrip()
    first = text.split(None, 1)[0].lower().strip(",")
    if future and first in _NOT_YET and not _ABOUT_TIME.match(text):
        return False
    if text[-1] in ",:—–-(|/" or text[-1] in "\"'”’)*":
        return True
    last = _LAST_WORD.search(text)
    if last is None:
        return text[-1] not in (HIDDEN, ">", "=", "→")
    word = last[1].lower().replace("’", "'")
    if word == "as":
        before = text[: last.start()].split()[-1:]
        return not before or before[0].lower() not in _AS_BEFORE
    if word in _INTERJECTIONS:
        return not set(re.findall(r"[\w']+", text.lower())) - _BEFORE_STATEMENT
    if word in _BEFORE_STATEMENT or (word == text.lower() and _STATES.fullmatch(word)):
        return True
    if word in _SUBORDINATES:
        return False
    if first in _POINTS and not _TIME.search(text):
        return text.lower().startswith("most of the time")
    return first in _BEGINS_ADVERBIAL
