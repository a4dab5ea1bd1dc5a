"""Verbs that only look like those of a statement: `I picked up my kids`, `I always knew`."""

import re

from language.stances import Verb
from language.words import words

_PERSON = re.compile(
    r"(?i)(?:my|our|his|her|their|a|some|the)\s+(?:\w+\s+)?(?:wife|husband|friends?|family|mom"
    r"|mum|mother|dad|father|parents|kids?|children|son"
    r"|daughter|brothers?|sisters?|colleagues?|coworkers?|boss|girlfriend|boyfriend|partner"
    r"|cousins?|uncle|aunt|team|class|dog|group)\b.*"
    r"|(?:mum|mom|dad|friends|family|colleagues|coworkers|kids)\b(?!-).*"
    r"|(?:him|her|them|us|you|me)\b.*"
)
_TRIP = re.compile(r"(?:[A-Z]\w+ (?:and [A-Z]\w+ )?(?:to|on|for a)\b|the flow\b)")
_PAST = words(
    """
    able ate became been began blew bought broke brought built came caught chose did drank
    dreamt drew drove fell felt flew forgot fought found froze gave going got grew had hated
    heard held hid kept knew led left liked lost loved made meant met paid ran rode rose said
    sang sat saw sent shook shot slept sold spent spoke stole stood struck stuck sure swam swore
    taught thought threw told took tore understood was went were woke won wonder wondered wore
    wrote
    """
)
_NOT_PAST = words(
    "bed bleed breed embed exceed feed heed need proceed red seed shed shred speed succeed wed weed"
)
# `I'm always tired` is a state, but these are about what just happened, or done by others.
_AM = re.compile(r"(?:i'?m|i’m|we['’]re|you['’]?re|(?:i|we|you)\s+a(?:m|re))\s")
_FEELINGS = words(
    """
    amazed amused asked astonished delighted excited fascinated forced honored honoured
    impressed inspired interested invited pleased puzzled reminded shocked supposed surprised
    tempted thrilled treated used
    """
)
# `I always say that patience is a virtue`
_SAYING = re.compile(
    r"(?i)(?:say|claim|joke|insist|think|believe|feel|hope|find|(?:tell|remind|ask)\s+(?:(?:my|our|the)"
    r"\s+)?\w+)\s+(?:that|why|how|if|whether|what)\b"
)
_ADVERBS = re.compile(r"(?i)\A(?:(?:\w+ly|just|even|quite|ever|once|also|only)\s+)+(?=\w)")
# `I like totally forgot`
_FILLER = re.compile(
    r"(?i)(?:totally|literally|just|really|actually|completely|basically|already|so|never|always)\s+"
    r"(?:forgot|ran|went|had|did|got|was|were|died|cried|lost|said|told|saw|knew|thought|came|made|took"
    r"|gave|found|fell|felt|left|slept|woke|spent|bought|broke|can't|cannot|don't|didn't)\b"
)
_STANCE = re.compile(r"(?i)(?:not\s+)?(?:prefer|like|love|enjoy|hate|dislike|avoid|favou?r)\b")

# Reports of what is happening right now: steps in a program, errors, errands.
_STEP = re.compile(
    r"(?i)\Athe\s+wrong\b|\band\s+\w{3,}ed\Z|\A(?:all|everything|some|the|a|an)?\s*(?:text|lines|rows|cells|files?|area|entry|item"
    r"|option\s+\w{1,3}|checkbox)\b.*\b(?:and|then)\b"
    r"|\band\s+(?:then\s+)?(?:press|click|hit|tap|copi|past|delet|sav|submitt|confirm|got\b|ran\b)\w*"
    r"|\s>\s|[a-z]\s+then\s+[A-Z]|\b(?:on|in|from)\s+(?:the|a|that|this|my)\s+(?:\w+\s+){0,2}(?:form|menu|list"
    r"|options|drop-?down|dialog|popup|toolbar|widget|page|app|settings|checkout|wizard|installer)\b"
)
# The label of a button or menu: `I selected "Export"`, `I chose 'Save all'`.
_LABEL = re.compile(r"[\"'“‘`][^\"'“”‘’`]*[\"'”’`]")
_LABEL_AND = re.compile(r"[\"'“‘`][^\"'“”‘’`]*[\"'”’`](?:\s+\w+)?\s+and\s+(?![\"'“‘`])")
_CELLS = re.compile(
    r"(?i)(?:(?:both|all|some|the|these|those|two|three|several|a|an|first|second|third|last|next)\s+)*(?:cells?|rows?|columns?|lines?|text"
    r"|items?|files?|folders?|layers?|area|range|region|paragraphs?)"
)
_COMMAND = re.compile(
    r"(?i)[\"'“‘`](?:save|export|import|open|close|delete|remove|cancel|ok|okay|yes|no|run|print|copy|paste"
    r"|cut|download|upload|apply|submit|next|back|install|uninstall|update|restart|reset|enable|disable"
    r"|settings|options|advanced|custom|default|add|edit|share|send|sign|log|show|hide|view|new|allow|deny"
    r"|format|sync|select|insert|merge|duplicate|rename|move\s+to|skip|retry|continue|accept|decline)\b"
    r"|.*\b(?:buttons?|icons?|check-?box(?:es)?|toggle|drop-?down|dialog|pop-?up|installer|wizard"
    r"|menu\s+item)\b"
)
_FAILURE = re.compile(
    r"(?i)(?:get|see|receive|hit|have|run\s+into|end\s+up\s+with|encounter)\s+(?:this|that|these"
    r"|those|the|an?|some|such)\s+(?:\S+\s+){0,3}?(?:errors?|exceptions?|warnings?|messages?"
    r"|failures?|crash(?:es)?|issues?|problems?|bugs?|timeouts?|stack\s?traces?|(?:blank|black|white)\s+(?:page|screen)|[45]\d\d)\b"
)
# `I usually chose`, `I almost went with`
_NO_DECISION = re.compile(r"\b(?:usually|always|often|normally|almost|nearly|practically)\b")
# `I almost like it`; but not `I almost never like it`.
_ALMOST = re.compile(r"\b(?:almost|nearly)\s+(?:prefer|like|love|enjoy|favou?r)\Z")
_IDIOM = re.compile(
    r"(?i)call\s+it\s+(?:a\s+(?:day|night)|quits)\b|an?\s+(?:fight|quarrel|lock|(?:good|great|nice"
    r"|bad|perfect|lovely|wonderful|random|weird)\s+\w+)\b|sides\b"
    r"|(?:my|our)\s+(?:words|chances|odds|way|nose|brain|gut|heart|instincts?|intuition)\b"
    r"|(?:this|the)\s+(?:opportunity|chance|occasion)\b|the\s+(?:couch|sofa|floor|bench|grass|porch"
    r"|terrace|deck)(?:\s+(?:to|with|and)\b.*)?\Z"
    r"|(?:the|my|this)\s+(?:\w+\s+)?(?:time|break|turn)\b|(?:another|her|his|the|a\s+different)\s+"
    r"(?:\w+\s+)?(?:tab|branch|channel|lane|window|page|screen|side)\Z|a\s+(?:card|(?:random\s+)?number)\b|\S+\s+random\b|(?:his|her|their)\s+brains?\b"
    r"|(?:post|ask|come)(?:\s+(?:here|this|it|you|about\b.*|for\b.*))*\Z|reach\s+out\b"
    r"|write\s+(?:here|this|to\s+you)\b"
)
# What a company does for anybody: `We usually respond within 24 hours`.
_FOR_CUSTOMERS = re.compile(
    r"(?i)\A(?:need|reply|respond|recommend|suggest|advise|strive|reserve|value|aim\s+to|encourage|offer"
    r"|charge|accept)\b"
    r"|\b(?:customers?|clients?|guests|visitors|applicants|candidates|your?|orders|refunds|inquiries|enquiries"
    r"|(?:business|working)\s+days?)\b|\A(?:answer|get\s+back|ship|deliver)\b.*\bwithin\b"
)
# `I switched to airplane mode`: for a while.
_BRIEFLY = re.compile(
    r"(?i)(?:(?:air)?plane|flight|safe|silent|edit|full-?\s?screen|landscape|portrait|incognito|private"
    r"|guest|admin)(?:\s+(?:mode|view|account|window))?(?:\s+and\b.*)?\Z|(?:root|wi-?fi|mobile\s+data)\b"
    r"|.*\band\s+back\b|(?:my|the|another|a)\s+(?:\w+\s+)?(?:account|network|profile|connection)\Z"
)
# Courtesies: `I'm always happy to help`.
_COURTESY = re.compile(
    r"(?i)(?:happy|glad|delighted|grateful|thankful|proud)\s+(?:to|for|of|that)\b.*"
    r"|(?:here|there|around)\s+(?:for|to|if|when)\b.*|(?:dis)?agree|mind|right|wrong|sorry|welcome"
    r"|curious|surprised"
)
_HATE_TO = re.compile(
    r"(?i)to\s+(?:throw|burst|rain|sound|disappoint|point|tell|repeat|correct|inform|contradict"
    r"|be\s+(?:an?|so|rude|negative|picky)|do\s+this|keep\s+(?:asking|bothering))\b"
)
# Verbs that need an object: `the tool I tend to use`.
_BARE = re.compile(
    r"(?i)(?:use|get|make|take|have|do|see|want|need|put|give|buy|keep|pick|choose|go\s+with|find|say"
    r"|bring|let|include|wear|forget|mean\b.*|use\s+(?:for|as|when|in|on|to|at)(?![\w-]).*)"
)
# `I tend to my garden`
_DETERMINERS = words("my our the his her their your a an this that these those")
_PICKED_UP = re.compile(
    r"(?i)\A(?:my|our|the|his|her|their|some|a|an)\s+(?:\w+\s+){1,2}(?:up|off)\b|\s(?:up|out|off)\Z"
)
_PLANTS = re.compile(
    r"(?i)(?:(?:some|the|wild|fresh|a\s+few)\s+)*(?:\w*berries|apples|grapes|cherries|flowers|daisies"
    r"|roses|mushrooms|fruit|vegetables)\b"
)
_ERRAND = re.compile(
    r"(?i)(?:the|a|your|my)\s+(?:bathroom|restroom|toilet|loo|washroom|phone|stairs|elevator)\b"
)


_AND_DID = re.compile(
    r"(?i)\band\s+(?:then\s+)?(\w+)(?=\W*\Z|[\s,]+(?:it|the|an?|my|our|to|for|out|up)\b)"
)


def _is_told(about: str) -> bool:
    """Whether a narrative follows: `[I picked] a ring and proposed`."""
    found = _AND_DID.search(about)
    if found is None:
        return False
    word = found[1].lower()
    return word in _PAST or (word.endswith("ed") and word not in _NOT_PAST)


# What a choice in a program led to: `[I chose Advanced] but nothing happened`.
_CAME_OF_IT = re.compile(
    r"(?i),?\s*(?:and|but)\s+(?:now\s+(?!i\b|we\b)|it\s+(?:said|says|shows?|resets?|gives?|asks?|opens?|works)\b)"
    r"|,?\s*(?:(?:and|but|then|so|now|still)\s+){0,3}"
    r"(?:it|nothing|the\s+(?:\w+\s+)?(?:app|file|page|screen|window|program|dialog|text|menu|tool|button|site))\s+(?:(?:just|still|then|now|has|is|keeps?|suddenly)\s+)*"
    r"(?:happen|froze|crash|fail|hang|hung|error|broke|stopped\b|stuck|does(?:n't|\s+not)|did(?:n't"
    r"|\s+not)|wo(?:n't|uld\s+not)|disappear|vanish|clos|load|changed|greyed|blank)"
)


_CLICKED = re.compile(
    r"(?i)[^.!?\n]{0,60}\b(?:click|press|tapp|right-click|double-click|hit\s+(?:enter|ok|save|next))"
)


def is_step(said: str, masked: str, end: int) -> bool:
    """Whether a choice was only a step in a program, by what is told after it."""
    is_choice = said.lower().endswith(("picked", "chose", "chosen", "selected"))
    if not is_choice:
        return False
    return bool(_CAME_OF_IT.match(masked, end) or _CLICKED.match(masked, end))


# After `use`, these begin no object: `I will use up the milk`.
_NOT_WHAT = words("as by for in on to until up when")


def is_company(about: str) -> bool:
    """Whether one goes with somebody, not with a choice: `[let's go with] my friends`."""
    return bool(_PERSON.fullmatch(about) or _TRIP.match(about))


def is_another_verb(verb: Verb, said: str, about: str) -> bool:
    """Whether the verb, judged by the words around it, has another meaning here."""
    first = about.split(None, 1)[0].lower()
    said = said.lower()
    if verb.category == "decision" and (_NO_DECISION.search(said) or _IDIOM.match(about)):
        return True
    if verb.category == "preference":
        if said.endswith(f" {first}"):
            return True  # `I love love love this`
        if said.endswith("hate") and _HATE_TO.match(about):
            return True
        if said.endswith("like") and _FILLER.match(about):
            return True
        if _ALMOST.search(said) or (first == "no" and said.endswith(("like", "love", "enjoy"))):
            return True
    if verb.category == "pattern":
        if said.endswith("tend to") and first in _DETERMINERS:
            return True
        first = _ADVERBS.sub("", about).split(None, 1)[0].lower()
        is_past = first in _PAST or (first.endswith("ed") and first not in _NOT_PAST)
        if is_past and _AM.match(said) and first not in _PAST:
            is_past = first in _FEELINGS
        if is_past or _COURTESY.fullmatch(about) or _SAYING.match(about) or _BARE.fullmatch(about):
            return True
        if _STANCE.match(about) or _FAILURE.match(about):
            return True
        return said.startswith("we") and _FOR_CUSTOMERS.search(about) is not None
    if verb.category == "preference" and said.startswith("we") and _FOR_CUSTOMERS.search(about):
        return True
    if said.endswith("rather") and first == "die":
        return True
    if said.endswith("stand"):
        return first in ("up", "here", "there", "still", "in", "on", "by", "behind", "straight")
    if said.endswith(("went with", "going with", "gone with", "go with")):
        return is_company(about) or _STEP.search(about) is not None
    if said.endswith((" use", "using")):
        raw = about.split(None, 1)[0]
        if _ERRAND.match(about) or raw in _NOT_WHAT:
            return True
    if said.endswith(("picked", "chose", "chosen", "selected")):
        if _STEP.search(about) or _is_told(about):
            return True
        if _COMMAND.match(about) or _LABEL_AND.match(about):
            return True
        if _CELLS.fullmatch(about) or (said.endswith("selected") and _LABEL.fullmatch(about)):
            return True
        if first in ("up", "out", "on", "at", "off", "apart", "from", "between", "among", "over"):
            return True
        return said.endswith("picked") and bool(_PICKED_UP.search(about) or _PLANTS.match(about))
    if said.endswith("switched to"):
        return bool(_BRIEFLY.match(about) or _STEP.search(about))
    if said.endswith("decided"):
        return first in (
            "about",
            "between",
            "how",
            "if",
            "it",
            "it's",
            "what",
            "when",
            "where",
            "whether",
            "which",
            "who",
            "not",
        )
    return False
