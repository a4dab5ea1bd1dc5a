"""Finds whole sentences in which people say something worth keeping about themselves.

Their names and those of family and pets, what they like, where they live and work, what they cannot
have, what they decided, and what they ask to remember. English only, and with the rules of `facts`:
nothing from questions, quotations, code, what others say, or hypotheticals.
"""

import re
from itertools import islice

from language.facts import find_facts
from language.objects import find_object, means_nothing
from language.page import Page
from language.standing import Standing, judge

MAX_CHARACTERS = 300
MAX_STATEMENTS = 50
# No real sentence has more.
_MOST_SUBJECTS = 20

_ = r"[ \t\u00a0]{1,8}"
_AM = rf"(?:i'?m|i{_}am|we're|we{_}are)"
_ADVERBS = (
    r"(?:(?:really|just|still|also|actually|currently|now|mostly|mainly|both|all|recently|originally)"
    rf"{_}){{0,2}}"
)
_JOBS = (
    r"accountant|actor|actress|analyst|architect|artist|author|baker|barista|biologist|carpenter"
    r"|chef|chemist|coach|consultant"
    r"|cook|dentist|designer|developer|director|doctor|driver|editor|electrician|engineer|farmer"
    r"|filmmaker|firefighter"
    r"|freelancer|founder|gardener|journalist|lawyer|lecturer|librarian|manager|mathematician"
    r"|mechanic|musician|nurse"
    r"|painter|paramedic|pharmacist|photographer|physicist|pilot|plumber|policeman|postdoc"
    r"|producer|professor|programmer"
    r"|psychologist|researcher|sailor|salesman|scientist|secretary|social{_}worker|soldier"
    r"|statistician|student|surgeon"
    r"|teacher|technician|therapist|translator|trainer|vet|waiter|waitress|writer"
).replace("{_}", _)
_DIETS = (
    r"vegan|vegetarian|pescatarian|diabetic|celiac|coeliac|kosher|halal|pregnant|(?:lactose"
    r"|gluten|fructose|histamine)[ -]intolerant"
    r"|intolerant|teetotal"
)
_OFFICES = r"(?:department|team|company|office|side|start|beginning|future|past)\b"
_AREAS = (
    r"(?:city|town|village|countryside|country|coast|suburbs|island|north|south|east|west|us|uk)\b"
)
# A complaint about it, not what it is: `my job is killing me`.
_TROUBLE = (
    r"(?:(?:so|very|really|too|quite|just|pretty|currently|still){_})*(?:not|hard|boring|great|fun"
    r"|stressful|fine|easy|tough|ok|okay|good|bad|awful|tiring|exhausting|wrong|done|broken|full"
    r"|invalid|incorrect|down|hacked|where|what|(?:killing|making|driving|getting){_}(?:me|us|on))\b"
).replace("{_}", _)
_NO_NAME = (
    r"(?:hard|difficult|easy|not|on|in|spelled|misspelled|wrong|missing|mentioned|common|long|short"
    r"|the|back|later|tomorrow|today|tonight|when|if|asap|anytime|now|maybe|crazy|again|soon|first"
    r"|please|directly|on|at|before|after|once)\b"
)
_NO_FOOD = (
    r"(?:another|any{_}more|anymore|much{_}more|out|alone|right|now|yet|here|there|dinner|lunch"
    r"|breakfast|today|tonight|to|it|this|that)\b"
).replace("{_}", _)
# Not medicine: `I can't take it anymore`, `I don't take sides`.
_NO_DOSE = (
    r"(?:the|an?|it|this|that|any|part|sides|credit|notes|photos|pictures|risks|chances|things|care"
    r"|orders|no|my|your|his|her)\b"
)
_FIRMS = (
    r"(?:business|company|shop|bakery|restaurant|studio|farm|agency|store|caf[eé]|start-?up|hotel)"
)
_FAMILY = (
    r"wife|wives|husband|partner|spouse|fianc[eé]e?|girlfriend|boyfriend|son|daughter|kid|child"
    r"|children|baby|babies|toddler|twin|mother|mum|mom|father|dad|parent|sister|brother|cousin"
    r"|aunt|uncle|niece|nephew|grand(?:mother|father|son|daughter|child|ma|pa)|step\w+"
    r"|(?:mother|father|sister|brother)-in-law|friend|flatmate|roommate|team|boss|manager|teacher"
    r"|dog|puppy|puppies|cat|kitten|horse|pony|ponies|rabbit|bunny|bunnies|hamster|guinea{_}pig"
    r"|parrot|budgie|bird|goldfish|fish|turtle|tortoise|snake|pet"
).replace("{_}", _)
# The speaker's own: an apostrophe in between would mean `my friend's dog`.
_RELATIVE = rf"(?:[\w-]+{_}){{0,2}}(?:{_FAMILY})"
# A capital letter, or a single word for people who write without capitals.
_CAPITAL = r"(?-i:[^\W\d_a-zß-öø-ÿ])"
_A_NAME = (
    rf"{_}(?:{_CAPITAL}|(?!(?:{_NO_NAME}|an?|it|this|that|what|wrong|unusual|weird|funny|cute|silly"
    rf"|odd|rare|nice|beautiful|lovely|unknown|secret|private|pronounced|changed|taken)\b)"
    rf"\w+\s*(?:[.!,]|\Z|and\b))"
)
_ABOUT_ME = re.compile(
    rf"""(?ix)(?:
      my{_}(?:(?:full|first|last|real|middle|nick|legal){_})?(?:name{_}is|name's|names?{_}are
      |nickname{_}is)(?!{_}{_NO_NAME})
    | {_AM}{_}(?:called|named)
    | (?:people|friends|everyone|everybody|they){_}(?:usually{_})?calls?{_}me
    | (?:please{_}|just{_}|you{_}can{_})?call{_}me
        (?={_}(?:(?-i:[A-Z])|(?!{_NO_NAME})\w+\s*(?:[.!,]|\Z)))
    | i{_}go{_}by(?={_}(?-i:[A-Z]))
    | (?:i|we){_}{_ADVERBS}live{_}(?:just{_}|right{_})?(?:in|at|near|on|with|by|outside)
    | {_AM}{_}{_ADVERBS}(?:from(?!{_}(?:the|your|this){_}(?:\w+{_})?{_OFFICES})|based{_}in
    |living{_}(?:in|with|at)|located{_}in(?!{_}(?:the{_}wrong|this|that)\b))
    | (?:i|we)(?:'?ve|{_}have)?{_}{_ADVERBS}moved{_}to(?!{_}(?:strike|the{_}(?!{_AREAS})|another
    |this|that|using|step|section|phase)\b)
    | i{_}(?:was{_}born|grew{_}up){_}in
    | my{_}(?:home[ ]?town|home[ ]?address|address|home|time[ ]?zone|birthday|phone{_}number
    |e-?mail(?:{_}address)?)
        {_}is(?!{_}{_TROUBLE})
    | (?:i|we){_}{_ADVERBS}work{_}(?:at|for|as|in|with|from)
    | {_AM}{_}{_ADVERBS}working{_}(?:at|for|as|in|from)
    | my{_}(?:job|profession|occupation|job{_}title){_}is(?!{_}{_TROUBLE})
    | my{_}(?:employer|company){_}is(?!{_}(?:{_TROUBLE}|\w+ing\b))
    | my{_}(?:boss|manager|team|title|wife|husband|partner|son|daughter
        |dog|cat|girlfriend|boyfriend){_}is(?={_}(?:an?\b|based\b|(?-i:[A-Z])))
    | (?:my|our){_}{_RELATIVE}(?:e?s)?'?s?{_}names?{_}(?:is|are)(?={_A_NAME})
    | (?:my|our){_}{_RELATIVE}(?:e?s)?(?:{_}(?:is|are)|'s|'re){_}(?:called|named)(?={_A_NAME})
    | (?:i|we)(?:'?ve{_}got|{_}have){_}{_RELATIVE}(?:e?s)?{_}(?:called|named)(?={_A_NAME})
    | we{_}(?:named|called){_}our{_}{_RELATIVE}s?(?={_}{_CAPITAL})
    | (?:i|we){_}{_ADVERBS}(?:run|own){_}(?:an?|the|our){_}(?:[\w-]+{_}){{0,3}}{_FIRMS}
    | (?:i|we){_}{_ADVERBS}(?:study|teach){_}(?:at|in)?
    | {_AM}{_}{_ADVERBS}(?:(?:severely|very|highly|deathly|slightly|mildly){_})?allergic{_}to
    | (?:i|we){_}{_ADVERBS}(?:can(?:'?t|not|{_}not)|may{_}not|must{_}not|mustn't|shouldn't
    |should{_}not){_}
        (?:(?:eat|have|drink)(?!{_}{_NO_FOOD})|take(?!{_}{_NO_DOSE})|tolerate|digest|consume|wear)
    | {_AM}{_}not{_}(?:allowed|able){_}to{_}(?:eat|have|drink|take)
    | (?:i|we){_}{_ADVERBS}(?:do(?:n'?t|{_}not)|never){_}(?:eat|consume|take(?!{_}{_NO_DOSE}))
    | (?P<whole>
        {_AM}{_}{_ADVERBS}an?{_}(?:[\w-]+{_}){{0,4}}(?:{_JOBS})s?
      | {_AM}{_}{_ADVERBS}(?:(?:a|strict|strictly|mostly){_}){{0,2}}(?:{_DIETS})
      | i{_}have{_}an?{_}(?:[\w-]+{_}){{0,3}}(?:allergy|intolerance)
      | (?:i|we){_}{_ADVERBS}work{_}remotely
      | (?:i|we){_}{_ADVERBS}(?:do(?:n'?t|{_}not)|never){_}(?:drink|smoke)(?!{_}and\b)
      )
    )(?![\w'-])"""
)
_NAME = re.compile(
    r"(?:I'm|I am|i'm|i am) (?!(?:Ok|Okay|Sorry|Fine|Sure|Back|Here|Happy|Glad|Done|Ready|Not"
    r"|Also|Just|So|Very|Still|Good|Great|Tired|Lost|Confused|Hungry|Busy|New|Off|In|On|At|Going"
    r"|Trying|Looking|Working|Using|Thinking|Feeling)\b)"
    r"[A-Z][a-z]+(?: [A-Z][a-z]+)?(?=[.,!]|\s+(?:and|from|but)\b|\s*\Z)"
)
_START = re.compile(
    r"(?i)(?<![\w'./@#-])(?:i|we|my|our|im|ive|weve|i'm|people|friends|everyone|everybody|please|just|you|call)(?![\w/@.-])"
)
_HAPPENS = r"(?:is|are|was|were|has|have|will|must|can|should|needs?|starts?|opens?|closes?|ends?)"
_REMEMBER = re.compile(
    rf"""(?ix)\W*(?:(?:please|also|and|ok|okay|hey|hi|just|always|oh|btw|so)[ ,]+){{0,3}}
    (?:remember|note|keep{_}in{_}mind|bear{_}in{_}mind|(?:do(?:n'?t|{_}not)|never){_}forget)
    (?: [ \t]{{0,8}}[:,][ \t]{{0,8}} | {_}that{_}
      | {_}(?=(?:i|i'm|my|we|our|he|she|the\b[^.!?\n]{{1,80}}\b{_HAPPENS})\b)
      | (?<=mind){_} )
    (?=(?P<what>.+))"""
)
_NOTHING = re.compile(r"(?i)\W*(?:it|this|that|these|those|me|us|you|everything|\w{0,2})\W*")
_BULLET = re.compile(r"\A\s*(?:[-*+•]|\d{1,3}[.)])\s+")


def find_statements(text: str) -> list[str]:
    """The distinct sentences, as written, of at most 300 characters each.

    Of a longer sentence, only the clause is kept, if it is short enough.
    """
    page = Page(text)
    facts = {
        page.sentence_start(start): fact.content
        for start, fact in find_facts(page, "user")
        if fact.category != "pattern"
    }
    found: dict[str, None] = {}
    for start, end in page.sentences():
        masked = page.masked[start:end]
        if masked.rstrip().endswith("?"):
            continue
        sentence = " ".join(_BULLET.sub("", page.text[start:end]).split())
        clause = facts.get(start) or _about_me(page, start, end) or _to_remember(masked, sentence)
        if clause:
            kept = sentence if len(sentence) <= MAX_CHARACTERS else clause
            if len(kept) <= MAX_CHARACTERS:
                found[kept] = None
    return list(found)[-MAX_STATEMENTS:]


def _about_me(page: Page, start: int, end: int) -> str:
    for subject in islice(_START.finditer(page.masked, start, end), _MOST_SUBJECTS):
        said = _ABOUT_ME.match(page.masked, subject.start(), end)
        if said is None:
            named = _NAME.match(page.masked, subject.start(), end)
            if named is None:
                continue
            about, stop = named.group(), named.end()
        else:
            found = find_object(page.masked, said.end())
            about = page.text[found.start : found.end].strip()
            stop = found.end
            says_enough = said["whole"] is not None
            if found.is_question or not (says_enough or (about and not means_nothing(about))):
                continue
        prefix = page.masked[max(start, subject.start() - 400) : subject.start()]
        if judge(prefix) is Standing.STATED:
            return " ".join(page.text[subject.start() : stop].split()).rstrip(" .,;:!")
    return ""


def _to_remember(masked: str, sentence: str) -> str:
    asked = _REMEMBER.match(masked)
    return sentence if asked and not _NOTHING.fullmatch(asked["what"]) else ""
