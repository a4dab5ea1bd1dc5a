"""Finds whole sentences in which people say something worth keeping about themselves.

Their names and those of family and pets, what they like, where they live and work, what they cannot
have, what they decided, and what they ask to remember. English only, and with the rules of `facts`:
nothing from questions, quotations, code, what others say, or hypotheticals.
"""

import re
from itertools import islice

from language.facts import find_facts
from language.favorites import find_denied
from language.lookalikes import is_company
from language.objects import find_object, means_nothing
from language.page import Page
from language.standing import Standing, judge

MAX_CHARACTERS = 300
MAX_STATEMENTS = 50
# No real sentence has more.
_MOST_SUBJECTS = 20

_ = r"[ \t\u00a0]{1,8}"
_AM = rf"(?:i'?m|i{_}am|we're|we{_}are|i{_}are)"  # my wife and I are
_ADVERBS = (
    r"(?:(?:really|just|still|also|do|actually|currently|now|mostly|mainly|both|all|recently|originally)"
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
    r"|please|directly|on|at|before|after|once|late|often|daily|names|all|every|to|for|up|lazy"
    r"|weird|stupid|rude|annoying|old|mad|out|irrelevant|unimportant|secret|private|unknown"
    r"|unusual|rare|too|so|very)\b"
)
_NO_FOOD = (
    r"(?:another|any{_}more|anymore|much{_}more|out|alone|right|now|yet|here|there|dinner|lunch"
    r"|breakfast|today|tonight|to|it|this|that|or|and|when|while|because|until|before|after|well"
    r"|properly|if)\b"
).replace("{_}", _)
# Not medicine: `I can't take it anymore`, `I don't take sides`.
_NO_DOSE = (
    r"(?:the|an?|it|this|that|any|part|sides|credit|notes|photos|pictures|risks|chances|things|care"
    r"|orders|no|my|your|his|her)\b"
)
# Not windows and the like: `I can't have two windows open`.
_NO_POSSESSION = (
    r"(?:(?:one|two|three|four|five|\d+|both|all|everything|more{_}than|multiple|several|many|people"
    r"|anyone|anybody|someone|somebody|my|your|our|his|him|her|them|us|you|nice{_}things"
    r"|an?{_}(?:\w+{_})?(?:meeting|call|conversation|discussion|break|look|chat|life|say|clue))\b"
    r"|(?:[\w'-]+{_}){1,5}(?:open|running|installed|enabled|disabled|waiting|working|going|happening"
    r"|connected|loaded|closed|missing)\s*(?:[.,;!\n]|\Z|(?:at|in|on|while|when|for)\b))"
).replace("{_}", _)
# Ways of living, not places: `I live in hope`. In lower case, because there are towns named Hope.
_NO_HOME = (
    rf"(?-i:(?:(?:constant|perpetual|complete|total|permanent){_})?(?:hope|fear|denial|peace|pain"
    rf"|harmony|darkness|silence|shame|terror|misery|sin|luxury|dread|chaos|interesting{_}times"
    rf"|regrets?|guilt|coffee|caffeine|tea|pizza|noodles|ramen|takeaways?|savings|credit|a{_}budget"
    rf"|borrowed{_}time|(?:the|this|an?|my|our|your){_}"
    rf"(?:(?:own|constant|perpetual|old|golden|simple|crazy|strange|free|digital){_}){{0,2}}(?:moment|past|future|present|hope"
    rf"|fear|shadows?|edge(?!{_}of)|dream|bubble|fantasy|world|nightmare|lie|head|mind|now|motto"
    rf"|society|simulation|democracy|matrix|age|era|times?"
    rf"|state(?!{_}of{_}[A-Z])|rules?|principles?|sword|mantra|saying|calendar|fact|consequences|knowledge"
    rf"|terminal|browser|editor|(?:clock|book|code)(?=\s*(?:[.,;!\n]|\Z))))(?![\w-]))"
)
# When and how somebody works, not where: `I work at night`, `I'm working at the moment`.
_NO_JOB = (
    rf"(?:the{_}(?:moment|weekends?|dark|background)\b|(?:free|nights?|noon|weekends|silence|peace"
    rf"|parallel|present|hours|days|bursts|batches|pairs)"
    rf"(?=\s*(?:[.,;!\n]|\Z|(?:and|but|because|so|when|on|mostly|every|these|now)\b)))"
)
_TIMES = (
    r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July"
    r"|August|September|October|November|December|Christmas|Easter)\b"
)
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|today|tomorrow"
)
_ROLES = "ceo|cto|cfo|coo|vp|head|director|president|founder|co-?founder|intern|apprentice|trainee"
# What is lived or worked somewhere only in the mind, or by others.
_UNREAL = (
    "not|to|would|will|could|should|might|may|can|want|wish|hope|if|let|make|who|that|they|he|she|you"
    "|people|think|used|was|were|don't|never"
)
_SO_FAR = (
    r"[^.!?;\n]{1,60}\b(?:since|for\s+(?:[\w-]+\s+){0,3}(?:years?|months?|weeks?|decades?|ages))\b"
)
_NO_SUBJECT = r"(?:the|this|that|these|those|it|an?|my|your|our|his|her|their|for|how|what|with)"
_FIRMS = (
    r"(?:business|company|\w{0,9}shop|bakery|restaurant|studio|farm|agency|\w{0,9}store|caf[eé]"
    r"|start-?up|hotel|bar|pub|salon|gym|clinic|firm|brewery|vineyard|garage|school|gallery)"
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
_DONT = rf"do(?:n'?t|{_}not)"
_LIVE = (
    rf"(?:live|reside){_}(?:just{_}|right{_})?(?:in|at|near|on|with|by|outside)(?!{_}{_NO_HOME})"
)
_SHIFTS = (
    rf"(?:(?:part|full)[ -]?time|nights|days|(?:(?:night|day|late|early){_})?shifts|freelance)"
)
_WORK = rf"work{_}(?:{_SHIFTS}{_})?(?:at|for|as|in|with|from)(?!{_}{_NO_JOB})"
_IS_AT = (
    rf"(?:employed{_}(?:at|by)|from(?!{_}(?:the|your|this){_}(?:\w+{_})?{_OFFICES})|based{_}(?:in|out{_}of)"
    rf"|living{_}(?:in|with|at)(?!{_}{_NO_HOME})|located{_}in(?!{_}(?:the{_}wrong|this|that)\b)"
    rf"|working{_}(?:at|for|as|in|from)(?!{_}{_NO_JOB}))"
)
# What is denied must have a name, or have been so: `I don't live in a cave` says nothing.
_NAMED = rf"{_}(?:the{_}(?:{_AREAS}|{_CAPITAL})|(?!{_TIMES}){_CAPITAL})"
_ANYMORE = r"[^.!?;,\n]{1,60}\bany[ \t]{0,8}(?:more|longer)\b"
_DENIED = rf"(?={_NAMED}|{_ANYMORE})"
_NO_ADJECTIVE = r"(?:about|with|who|whose|that|for|of|on|to|from|in|and|or|friends?|questions?)"
# `We agreed to the terms`, `we agreed to disagree`
_NO_DEED = r"(?:the|an?|it|this|that|these|those|his|her|their|your|my|our|all|any|disagree|differ)"
_ILL = (
    r"(?:allerg(?:y|ies)|intolerances?|(?:celiac|coeliac|crohn'?s){_}disease|diabetes)"
    r"(?=\s*(?:[.,;:!()\n。]|\Z|(?:and|but|so|since|because|to|for|against|as|too|anymore)\b))"
).replace("{_}", _)
_ABOUT_ME = re.compile(
    rf"""(?ix)(?:
      my{_}(?:(?:full|first|last|real|middle|nick|legal){_})?(?:name{_}is|name's|names?{_}are
      |nickname{_}is)(?!{_}{_NO_NAME})
    | {_AM}{_}(?:called|named)(?={_A_NAME})
    | (?:people|friends|everyone|everybody|they){_}(?:usually{_})?calls?{_}me(?={_A_NAME})
    | (?:my|our){_}(?:{_RELATIVE}s?|family|colleagues|co-?workers|mates|students)
        {_}(?:(?:all|usually){_})?calls?{_}me(?={_A_NAME})
    | (?:please{_}|just{_}|you{_}can{_})?call{_}me
        (?={_}(?:(?-i:[A-Z])|(?!{_NO_NAME})\w+\s*(?:[.!,]|\Z)))
    | i{_}go{_}by(?={_}(?-i:[A-Z]))
    | my{_}(?:(?:full|first|last|real|middle|nick|legal){_})?
        (?:name{_}is(?:{_}not|n't)|name's{_}not)(?={_}{_CAPITAL})
    | {_AM}{_}{_ADVERBS}not{_}{_ADVERBS}(?:called|named)(?={_}{_CAPITAL})
    | (?:i|we){_}{_ADVERBS}(?:no{_}longer{_}{_ADVERBS})?(?:{_LIVE}|{_WORK})
    | (?:i|we){_}{_ADVERBS}work{_}on(?:{_}(?!{_NO_SUBJECT}\b)[\w-]+){{1,3}}?{_}at(?={_NAMED})
    | (?:i|we){_}{_ADVERBS}{_DONT}{_}{_ADVERBS}(?:
        (?:{_LIVE}|{_WORK}){_DENIED} | {_WORK}(?:(?<=as)(?={_}an?\b)|(?<=from)(?={_}home\b)
        |(?<=for|.at)(?={_}(?:the|an?)\b)))
    | {_AM}{_}{_ADVERBS}(?:no{_}longer{_}{_ADVERBS})?{_IS_AT}
    | (?:{_AM}{_}{_ADVERBS}not|(?:i|we){_}a(?:re|i)n't){_}{_ADVERBS}{_IS_AT}{_DENIED}
    | (?:i|we)(?:'?ve|{_}have){_}{_ADVERBS}(?:
        been{_}(?:living{_}(?:in|near|on|at)(?!{_}{_NO_HOME})|working{_}(?:at|for|as)(?!{_}{_NO_JOB}))
        | (?:lived{_}(?:in|near|on|at)(?!{_}{_NO_HOME})|worked{_}(?:at|for|as|in))(?={_SO_FAR}))
    | (?:i|we)(?:'?ve|{_}have)?{_}{_ADVERBS}(?:moved|relocated)
        {_}(?:from{_}{_CAPITAL}[^.!?;,\n]{{1,40}}?{_})?to(?!{_}(?:strike|the{_}(?!{_AREAS}|{_CAPITAL})|another
    |this|that|using|step|section|phase|line|page|chapter|level|row|column|slide|stage|part)\b)
    | (?:i|we)(?:'?ve|{_}have)?{_}{_ADVERBS}started{_}working{_}
        (?:(?:at|for)(?={_NAMED})|as(?={_}an?\b))
    | i{_}(?:was{_}born|grew{_}up){_}in
    | (?:i|we){_}{_ADVERBS}come{_}from(?={_NAMED})
    | (?:{_AM}|i|we){_}(?:(?!(?:{_UNREAL})\b)[\w',-]+{_}){{1,9}}?and{_}{_ADVERBS}(?:{_LIVE}|{_WORK})
    | my{_}(?:home[ ]?town|time[ ]?zone){_}is(?!{_}{_TROUBLE})
    | my{_}(?:(?:home[ ]?)?address|phone{_}number|birthday){_}is(?!{_}{_TROUBLE})
        (?=[^.!?\n]{{0,40}}(?:\d|{_}{_CAPITAL}|{_}(?:{_MONTHS})\b))
    | my{_}e-?mail(?:{_}address)?{_}is(?={_}[^\s!?@]{{1,64}}@)
    | my{_}home{_}is(?={_}(?:(?:in|near|on|at){_}(?:the{_})?)?{_CAPITAL})
    | my{_}(?:home[ ]?town|time[ ]?zone|birthday){_}is(?:{_}not|n't)
        (?={_}(?:(?:in|on){_})?{_CAPITAL})
    | my{_}(?:job|profession|occupation|job{_}title){_}is(?!{_}{_TROUBLE})
    | my{_}(?:employer|company){_}is(?!{_}(?:{_TROUBLE}|\w+ing\b))
    | my{_}(?:boss|manager|team|title|wife|husband|partner|son|daughter
        |dog|cat|girlfriend|boyfriend){_}is(?={_}(?:an?\b|based\b|(?-i:[A-Z])))
    | (?:my|our){_}{_RELATIVE}(?:e?s)?'?s?{_}names?{_}(?:is|are)(?={_A_NAME})
    | (?:my|our){_}{_RELATIVE}(?:e?s)?(?:{_}(?:is|are)|'s|'re){_}(?:called|named)(?={_A_NAME})
    | (?:i|we)(?:'?ve{_}got|{_}have){_}{_RELATIVE}(?:e?s)?{_}(?:called|named)(?={_A_NAME})
    | we{_}(?:named|called){_}our{_}{_RELATIVE}s?(?={_}{_CAPITAL})
    | (?:(?:i|we){_}{_ADVERBS}(?:study|teach)|{_AM}{_}{_ADVERBS}(?:studying|teaching))
        (?:{_}(?!{_NO_SUBJECT}\b)[\w-]+){{0,3}}?{_}(?:at|in)(?!{_}(?:{_NO_JOB}|detail|depth|\w+ing\b))
    | (?:{_AM}{_}{_ADVERBS}(?:(?:not|no{_}longer){_}{_ADVERBS})?
        |(?:i|we){_}a(?:re|i)n't{_}{_ADVERBS})
        (?:(?:severely|very|highly|deathly|slightly|mildly){_})?allergic{_}to
    | (?:i|we){_}{_ADVERBS}(?:can(?:'?t|not|{_}not)|may{_}not|must{_}not|mustn't|shouldn't
    |should{_}not){_}
        (?:(?:eat|have(?!{_}{_NO_POSSESSION})|drink(?!{_}(?:and{_}drive|enough)\b))(?!{_}{_NO_FOOD})|take(?!{_}{_NO_DOSE})|tolerate|digest|consume|wear)
    | {_AM}{_}not{_}(?:allowed|able|supposed){_}to{_}(?:eat|have|drink|take)
    | (?:i|we){_}{_ADVERBS}(?:do(?:n'?t|{_}not)|never){_}
        (?:(?:eat|consume)(?!{_}{_NO_FOOD})|take(?!{_}{_NO_DOSE}))
    | (?:i|we)(?:'?ve|{_}have)?{_}{_ADVERBS}decided{_}that{_}(?:i|we)(?:'\w+)?(?={_})
    | (?:i|we)(?:'?ve|{_}have)?{_}{_ADVERBS}agreed{_}(?:on|against|that{_}(?:i|we)(?={_})
        |(?:not{_})?to(?={_}(?!{_NO_DEED}\b)\w))
    | let'?s{_}(?:not{_})?(?:(?P<go>go{_}with)|switch{_}to|stick{_}with|settle{_}on|opt{_}for
        |use(?={_}{_CAPITAL})(?![^.!?\n]{{0,200}}?\b(?:to|examples?|instance|it)\b))
    | {_AM}{_}{_ADVERBS}(?:(?:the|an?){_})?(?:(?:{_ROLES}){_}(?:at|for)|(?:{_ROLES}){_}of
        (?!{_}(?:this|that|it|the{_}(?:line|queue|table|class|game|pack))\b))
    | (?P<whole>
        {_AM}{_}{_ADVERBS}an?{_}(?:[\w-]+{_}){{0,4}}(?:{_JOBS})s?
      | {_AM}{_}no{_}longer{_}an?{_}(?:[\w-]+{_}){{0,4}}(?:{_JOBS})s?
      | {_AM}{_}not{_}{_ADVERBS}an?{_}
        (?:(?:software|web|data|civil|professional|trained){_})?(?:{_JOBS})s?
      | {_AM}{_}{_ADVERBS}(?:(?:not|no{_}longer){_}{_ADVERBS})?
        (?:(?:a|strict|strictly|mostly){_}){{0,2}}(?:{_DIETS})
      | i(?:{_}{_ADVERBS}(?:{_DONT}{_}|no{_}longer{_})?have|'?ve{_}got){_}
        (?:(?!{_NO_ADJECTIVE}\b)[\w-]+{_}){{0,4}}{_ILL}
      | (?:i|we){_}{_ADVERBS}work{_}remotely
      | (?:i|we){_}{_ADVERBS}(?:run|own){_}(?:an?|the|our){_}(?:[\w-]+{_}){{0,3}}{_FIRMS}
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
    r"(?i)(?<![\w'./@#-])(?:i|we|my|our|im|ive|weve|i'm|people|friends|everyone|everybody|please|just|you|call"
    r"|let's|lets)(?![\w/@.-])"
)
_HAPPENS = r"(?:is|are|was|were|has|have|will|must|can|should|needs?|starts?|opens?|closes?|ends?)"
_REMEMBER = re.compile(
    rf"""(?ix)\W*(?:(?:please|also|and|ok|okay|hey|hi|just|always|oh|btw|so)[ ,]+){{0,3}}
    (?:remember|note|keep{_}in{_}mind|bear{_}in{_}mind|(?:do(?:n'?t|{_}not)|never){_}forget)
    (?: (?:{_}(?:this|that|the{_}following))?[ \t]{{0,8}}:[ \t]{{0,8}}
      | [ \t]{{0,8}},[ \t]{{0,8}} | {_}that{_}
      | {_}(?=(?:i|i'm|my|we|our|he|she|the\b[^.!?\n]{{1,80}}\b{_HAPPENS})\b)
      | (?<=mind){_} )
    (?=(?P<what>.+))"""
)
_DECISION = re.compile(
    rf"""(?ix)\W*(?:(?:ok|okay|so|and|well|right|great|then)[ ,]+){{0,3}}(?:
        (?:(?:the|our|my){_})?(?:final{_})?decision[ \t]{{0,8}}:[ \t]{{0,8}}
      | (?:the|our|my){_}(?:final{_})?decision{_}is{_}
        (?:(?:not{_})?to{_}(?!be\b)|that{_}(?:i|we){_}|against{_})
      | it{_}(?:was|has{_}been|is){_}decided{_}(?:that{_}(?:i|we|our|my)|not{_}to){_}
    )(?!(?:tbd|tba|pending|none|open|postponed|unclear|unknown|to{_}be|not{_}yet|still|n/?a|later
        |yes|no|maybe|perhaps|if|whether|who|what|when|why|how)\b)(?=(?P<what>\w.+))"""
)
_NOTHING = re.compile(r"(?i)\W*(?:it|this|that|these|those|me|us|you|everything|\w{0,2})\W*")
_BULLET = re.compile(r"\A\s*(?:[-*+•]|\d{1,3}[.)])\s+")


def find_statements(text: str) -> list[str]:
    """The distinct sentences, as written, of at most 300 characters each.

    A longer one is dropped, because a part of it may say the opposite.
    """
    page = Page(text)
    facts = {
        page.sentence_start(start)
        for start, fact in find_facts(page, "user")
        if fact.category != "pattern"
    }
    found: dict[str, None] = {}
    for start, end in page.sentences():
        masked = page.masked[start:end]
        if masked.rstrip().endswith("?"):
            continue
        sentence = " ".join(_BULLET.sub("", page.text[start:end]).split())
        if len(sentence) > MAX_CHARACTERS or (page.is_cut and start == 0):
            continue
        if start in facts or _is_about_me(page, start, end) or _is_to_be_kept(masked):
            found[sentence] = None
    return list(found)[-MAX_STATEMENTS:]


def _is_about_me(page: Page, start: int, end: int) -> bool:
    for subject in islice(_START.finditer(page.masked, start, end), _MOST_SUBJECTS):
        if not _says_something(page, subject.start(), end):
            continue
        prefix = page.masked[max(start, subject.start() - 400) : subject.start()]
        if judge(prefix) is Standing.STATED:
            return True
    return False


def _says_something(page: Page, start: int, end: int) -> bool:
    said = _ABOUT_ME.match(page.masked, start, end)
    if said is None:
        if _NAME.match(page.masked, start, end):
            return True
        denied = find_denied(page.masked, start)
        if denied is None:
            return False
        found = find_object(page.masked, denied.end)
    else:
        found = find_object(page.masked, said.end())
    if found.is_question:
        return False
    if said is not None and said["whole"] is not None:
        return True
    about = page.text[found.start : found.end].strip()
    if said is not None and said["go"] is not None and is_company(about):
        return False
    return bool(about) and not means_nothing(about)


def _is_to_be_kept(masked: str) -> bool:
    """Whether somebody asks to remember it, or calls it a decision."""
    asked = _REMEMBER.match(masked) or _DECISION.match(masked)
    return asked is not None and not _NOTHING.fullmatch(asked["what"])
