"""Hides the parts of a text that are not its author's statements: code, quotations, given texts.

A masked text has the same length as the original, so indexes are valid in both. Blocks become line
breaks; hidden parts of a line become a private-use character.
"""

import re

HIDDEN = "\ue000"

_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})", re.MULTILINE)
_QUOTED_LINES = re.compile(r"^[ \t]{0,3}>[^\n]*", re.MULTILINE)
_INDENTED = re.compile(
    r"(?<=\n)[ \t]*\n((?:(?: {4}|\t)(?![ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t])[^\n]*(?:\n|\Z))+)"
)
_TRIPLE_QUOTED = re.compile(r'"""(?:[^"]|"(?!""))*"""')
_COMMENTS = re.compile(r"^(?:[ \t]*//|(?: {4}|\t)[ \t]*#)[^\n]*", re.MULTILINE)
_INLINE_CODE = re.compile(r"(`{1,2})(?!`)[^`\n]{1,2000}\1")
_SINGLE_QUOTED = re.compile(
    r"(?<![\w\ue000])['‘](?=\S)[^\n'‘’]{1,300}(?:['’]\w[^\n'‘’]{0,300}){0,8}['’](?!\w)"
)
_OPENING = re.compile(r"(?:^|(?<=[\s(\[{:,—–-]))\"(?=\S)|“|«|„|「|『")
_CLOSING = {'"': '"', "“": "”", "«": "»", "„": "“”", "「": "」", "『": "』"}

_INLINE_COMMENT = re.compile(r"/\*[^*\n]{0,400}\*/[^\n]*|<!--[^<\n]{0,400}-->")
_AFTER_CODE = re.compile(r"^[^\n#]{0,200}[;)}][ \t]{1,8}(?:#|//)[ \t][^\n]*", re.MULTILINE)
_LOG_LINE = re.compile(
    r"^[^\n]{0,60}?\b(?:INFO|DEBUG|TRACE|WARN|ERROR|FATAL)(?::|\]| [\[\w]| {2})[^\n]*", re.MULTILINE
)
# A command and what it printed.
_SHELL = re.compile(r"^(?:\$ [a-z]|>>> )[^\n]*(?:\n(?![ \t\r]*\n)[^\n]*)*", re.MULTILINE)
_UNCHECKED = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?\[ \][^\n]*", re.MULTILINE)
_LOG_LEVELS = ("INFO", "DEBUG", "TRACE", "WARN", "ERROR", "FATAL")
# A pasted e-mail, to the end of the text.
_MAIL = re.compile(
    r"^[ \t]*(?:[-_]{3,}[ \t]*(?:Forwarded|Original)[ \t]+message\b"
    r"|On\s[^\n]{5,150}\swrote:[ \t]*(?=\n)"
    r"|Subject:[^\n]*\n[ \t]*\n"
    r"|From:[^\n]*\n(?:Sent|Date|To|Subject|Cc|Reply-To):)[^\n]*(?:\n[^\n]*)*",
    re.MULTILINE | re.IGNORECASE,
)
# Comments at the start of a line, if code follows; otherwise `#` starts a heading.
_COMMENTS_ABOVE = re.compile(
    r"^((?:#|--[ \t])[^\n]*(?:\n(?:#|--[ \t])[^\n]*)*+)"
    r"(\n(?:(?:SELECT|INSERT|UPDATE|CREATE|WITH|def|class|import|from|return|async|const|let|var|func"
    r"|fn|export|sudo|echo)\s|@\w|[$%]\s|[\w.\[\]]{1,80}\s?(?:=|\+=|:=|\()))?",
    re.MULTILINE,
)

# --- text given as a task, or as somebody's speech ------------------------------------------

# With the time before the name, as chats are exported: `[10:32] Ben: …`
_TIME = (
    r"[\[(]?(?:[\d/.-]{6,10},?[ \t])?\d{1,2}:\d\d(?::\d\d)?(?:[ \t]?[apAP][mM])?[\])]?[ \t–-]{1,4}"
)
_LEAD = re.compile(
    rf"^({_TIME})?([^\n:]{{0,200}})((?<=[(\[])\d{{1,2}}:\d\d(?:\s?[ap]m)?[)\]])?:(?=\s|\Z|\ue000)",
    re.MULTILINE,
)
_LAST_SENTENCE = re.compile(r"[.!?][ \t]+(?=[^.!?]*\Z)")
_OWN_LABEL = re.compile(
    r"(?ix)\W*(?: (?:ps|p\.s\.?|note|notes|fyi|btw|update|edit|tl;?dr|me|myself|context"
    r"|background|preferences?"
    r"|reminder|also|info|about\ (?:me|us)|style|correction|clarification|decisions?|conclusion"
    r"|status|answer"
    r"|in\ short|important|one\ (?:more\ )?thing|habits?|facts?|bottom\ line|long\ story\ short"
    r"|to\ be\ clear"
    r"|(?:\w+\ )?(?:opinion|confession|take|rant)"
    r"|noted|understood|got\ it|sure|great|so|ok|okay|well"
    r"|(?:please\ )?(?:note|remember|do(?:n['’]?t|\ not)\ forget)"
    r"(?:\ (?:this|that|the\ following))?"
    r"|(?:\w+\ ){0,2}(?:info|facts|details|things)\ about\ (?:me|us|myself)"
    r"|full\ disclosure|real\ talk|heads[ -]up|constraints?|requirements?|situation"
    r"|yes|no|thanks|hint|warning|caveat|disclaimer|rules?|(?:fun|random|quick|little)\ fact"
    r"|(?:\w+\ ){0,2}(?:note|thing)|(?:(?:ok|okay|so|my)\ )?"
    r"(?:honest|short|quick|simple|real|final)\ answer"
    r"|(?!(?:the\ )?(?:character|villain|hero|narrator|patient|employee|worker|customer|client|user"
    r"|student|teacher|player|guest|sample|example|his|her|their|your)\b)"
    r"(?:\w+\ ){0,2}(?:food|diet|drinks?|meals|breakfast|lunch|dinner|snacks|travel|sports?"
    r"|music|movies|films|books|games|gaming|hobby|hobbies|interests|likes|dislikes|sleep|health"
    r"|fitness|exercise|routine|schedule|mornings?|evenings?|weekends?|weekdays|work|coding"
    r"|programming|editor|tools|tooling|stack|setup|workflow|formatting|communication|tone|style"
    r"|language|pets|allergies|name|location|job|occupation|birthday|clothes|shopping"
    r"|commute|dealbreakers?|pet\ peeves?))"
    r"| (?:my|our)\ (?:\w+\ )?(?:answer|thoughts?|view|choice|decision|pick|rule)"
    r"| (?:as|like)\b.* | .*\b(?:i|we)\ (?:already\ )?(?:said|told\ you|mentioned|say"
    r"|mean|think|wrote|repeat)) \W*"
)
_MINE = re.compile(r"(?i)\W*(?:here'?s|my|our)\b.*")
_MY_PERSON = re.compile(
    r"(?i)\W*(?:my|our|the)\s+(?:\w+\s+){0,2}(?:wife|husband|partner|spouse|girlfriend|boyfriend|gf|bf|son"
    r"|daughter|kid|child|mother|mum|mom|father|dad|sister|brother|aunt|uncle|cousin|friend|roommate"
    r"|flatmate|neighbou?r|boss|manager|colleague|co-?worker|client|customer|agent|doctor|dentist"
    r"|therapist|teacher|student|coach|landlord|lawyer|waiter|seller|buyer|recruiter|interviewer"
    r"|candidate|patient|ex)\W*"
)
_TASK = re.compile(
    r"(?i)\b(?:translat\w*|re-?write|rephrase|paraphrase|reword|correct|fix|proof-?read"
    r"|summar[iy]\w*|sentences?"
    r"|phrases?|text|paragraph|poem|story|examples?|prompt|repeat|complete|finish|continue"
    r"|classify|analy[sz]e"
    r"|sentiment|quote|title|lyrics|caption|essay|dialog(?:ue)?|script|input|output|for instance"
    r"|e\.g|review"
    r"|tweet|e-?mail|message|letter|pronounce|grammar|convert|slogan|transcript|headline"
    r"|excerpt|draft|bio|profile|cv|r[eé]sum[eé]|speech|toast|vows|diary|journal|joke)\b"
)
# Sentences that start like this ask to do something with the text that follows.
_ORDER = re.compile(
    r"(?ix)\W*(?:(?:please|now|then|next|also|can\ you|could\ you|would\ you),?\s+)*(?:"
    r"(?:turn|make|improve|polish|edit|check|shorten|lengthen|expand|explain|describe|define|format"
    r"|simplify|transform|type|print|echo|say|sing|recite|spell|parse|label|extract|identify|count"
    r"|reverse|encode|decode|elaborate|respond|rate|judge|evaluate|critique|restate|express"
    r"|replace|write|compose|draft|generate|create|act|simulate|detect|punctuate|capitali[sz]e"
    r"|render|play|guess|solve|change(?!\ of))\b"
    r"|(?!(?:remember|note|know|consider|keep|get|listen|save|store|add|about|on|for|regarding|with"
    r"|in|to|all|but|and|so|is|was|do)\b)\w+\s+(?:this|these|it|the\ following)\b)"
)
_SPEECH = re.compile(
    r"(?i)\b(?:sa(?:y|ys|id|ying)|goes|went|going|repl(?:y|ies|ied|ying)|answer(?:s|ed|ing)?"
    r"|ask(?:s|ed|ing)?|telling|thinking|writing|shouting|insist(?:s|ed|ing)?|words|motto|repeat\w*"
    r"|wr(?:ite|ites|ote)|tells?|told"
    r"|shout(?:s|ed)?|yell(?:s|ed)?|whisper(?:s|ed)?|think(?:s)?|thought|reads?|states?|stated"
    r"|claims?|claimed"
    r"|respond(?:s|ed)?|quot(?:es|ed)|announc(?:es|ed)|mutter(?:s|ed)?|sings?|sang|prompts?)\W*\Z"
)
_NAME = re.compile(
    r"\W*+(?!(?:About|Regarding|For|On|From|In|At|Keep|Just|Quick|One|Another|Spoiler|Heads)\b"
    r"|.*\b(?:update|notes?|summary|recap|decisions?|preferences|facts|context|news|status|plans?)\W*\Z)"
    r"(?:[A-Z][\w.'’-]*)(?:[ \t]+[\w.'’()-]+){0,2}\W*|\W*(?:user|assistant|human|system|ai"
    r"|bot)\W*"
)
# In a chat with times: `[10:32] ben: …`
_NICKNAME = re.compile(r"\W*\w+(?:[ \t.'’-]+\w+){0,2}\W*")
# A line of one's own makes it a chat: `me: …`
_MY_LINE = re.compile(r"(?im)^me:[ \t]")
# After a role is assigned, the rest of the paragraph may be spoken in that role.
_ROLE = re.compile(
    r"(?im)(?:^|(?<=[.!?]\s))(?:(?:please|now|ok|okay|let['’]s|let\s+us|so|can\s+you|could\s+you),?\s+){0,3}"
    r"(?:(?:pretend|imagine|suppos(?:e|ing)|(?<=let['’]s\s)(?:say|assume))\s+"
    r"(?:that\s+)?(?:you|to\s+be|i|we)\b"
    r"|role-?play\w*)\b[^\n]*(?:\n(?![ \t\r]*\n)[^\n]*)*"
)
_ROLE_WORDS = ("pretend", "imagine", "suppos", "s say", "s assume", "roleplay", "role-play")
# `Can you proofread? I am go to school.`
_TEXT_FOLLOWS = re.compile(
    r"(?im)^(?:(?:please|pls|hi|hey|can\s+you|could\s+you),?\s+){0,3}(?:(?:proof-?read|translate|rephrase"
    r"|paraphrase|rewrite|spell-?check)(?:\s+(?:this|it|that|for\s+me|please|(?:in)?to\s+\w+)){0,3}"
    r"|(?:is|are)\s+(?:this|these|my|the\s+following)\s+(?:sentences?|english|grammar|text|phrases?)\s+"
    r"(?:ok|okay|correct|right|good|fine|natural|grammatical)"
    r"|(?:check|correct|fix|improve)\s+(?:my|this|the)\s+(?:english|grammar|spelling|text|sentence))"
    r"[ \t]*[.?!]+[ \t]+(\S[^\n]*(?:\n(?![ \t\r]*\n)[^\n]*)*)"
)
_TEXT_VERBS = (
    "proof",
    "translate",
    "phrase",
    "rewrite",
    "check",
    "grammar",
    "spelling",
    "english",
    "sentence",
    "text",
)
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


def mask(text: str) -> str:
    """The text with everything hidden that its author does not state."""
    masked = _mask_fences(text) if "```" in text or "~~~" in text else text
    if '"""' in masked:
        masked = _TRIPLE_QUOTED.sub(_hidden, masked)
    if "$ " in masked or ">>> " in masked:
        masked = _SHELL.sub(_lines, masked)
    if ">" in masked:
        masked = _QUOTED_LINES.sub(_lines, masked)
    masked = _INDENTED.sub(_lines, masked)
    if ":" in masked:
        masked = _MAIL.sub(_lines, masked)
    if "[ ]" in masked:
        masked = _UNCHECKED.sub(_lines, masked)
    if "*/" in masked or "-->" in masked:
        masked = _INLINE_COMMENT.sub(_hidden, masked)
    if "//" in masked or "#" in masked or "--" in masked:
        masked = _AFTER_CODE.sub(_lines, masked)
        masked = _COMMENTS_ABOVE.sub(_comment_hidden, _COMMENTS.sub(_lines, masked))
    if any(word in masked for word in _LOG_LEVELS):
        masked = _LOG_LINE.sub(_lines, masked)
    lower = masked.lower()
    if any(word in lower for word in _ROLE_WORDS):
        masked = _ROLE.sub(_lines, masked)
    if any(word in lower for word in _TEXT_VERBS):
        masked = _TEXT_FOLLOWS.sub(_last_group_hidden, masked)
    if "`" in masked:
        masked = _INLINE_CODE.sub(_hidden, masked)
    masked = _mask_quotations(masked)
    masked = _SINGLE_QUOTED.sub(_hidden, masked)
    return _mask_given_texts(text, masked) if ":" in masked else masked


def _lines(found: re.Match[str]) -> str:
    return "\n" * len(found.group())


def _comment_hidden(found: re.Match[str]) -> str:
    return _lines(found) if found[2] else found.group()


def _last_group_hidden(found: re.Match[str]) -> str:
    start = found.start(1) - found.start()
    return found.group()[:start] + "\n" * (len(found.group()) - start)


def _hidden(found: re.Match[str]) -> str:
    return HIDDEN * len(found.group())


def _mask_fences(text: str) -> str:
    pieces, position = [], 0
    while opening := _FENCE.search(text, position):
        closing = text.find(opening[1], opening.end())
        end = len(text) if closing < 0 else closing + len(opening[1])
        pieces += [text[position : opening.start()], "\n" * (end - opening.start())]
        position = end
    return "".join([*pieces, text[position:]])


def _mask_quotations(text: str) -> str:
    """Hide quotations, up to the closing mark, or to the end of the line if there is none."""
    pieces, position = [], 0
    while opening := _OPENING.search(text, position):
        start = opening.start()
        paragraph = _BLANK_LINE.search(text, start, start + 4000)
        limit = paragraph.start() if paragraph else start + 4000
        ends = [text.find(mark, start + 1, limit) for mark in _CLOSING[opening.group()]]
        end = min((it + 1 for it in ends if it >= 0), default=0)
        if not end:
            line = text.find("\n", start)
            end = len(text) if line < 0 else line
        pieces += [text[position:start], HIDDEN * (end - start)]
        position = end
    return "".join([*pieces, text[position:]])


def _mask_given_texts(text: str, masked: str) -> str:
    pieces, position = [], 0
    is_chat = _MY_LINE.search(masked) is not None
    for lead in _LEAD.finditer(masked):
        if lead.start() < position:
            continue
        end = _end_of_given_text(text, masked, lead, is_chat)
        if end:
            pieces += [masked[position : lead.end()], "\n" * (end - lead.end())]
            position = end
    return "".join([*pieces, masked[position:]])


def _end_of_given_text(text: str, masked: str, lead: re.Match[str], is_chat: bool) -> int:
    """Where the text that this line announces ends; 0 if it announces none."""
    said = lead[2][max((it.end() for it in _LAST_SENTENCE.finditer(lead[2])), default=0) :]
    if _OWN_LABEL.fullmatch(said):
        return 0
    is_task = bool(_TASK.search(said) or _ORDER.match(said))
    named = _NICKNAME if lead[1] or lead[3] or is_chat else _NAME
    is_name = named.fullmatch(said) and not _MINE.match(said)
    if not (is_task or _SPEECH.search(said) or is_name or _MY_PERSON.fullmatch(said)):
        return 0
    begin = lead.end()
    while begin < len(text) and text[begin].isspace():
        begin += 1
    if text.startswith(("```", "~~~", ">"), begin):
        return 0  # already hidden, and what follows is the author's
    if "\n" in text[lead.end() : begin] and is_task:
        return len(text)
    paragraph = _BLANK_LINE.search(masked, begin)
    return paragraph.start() if paragraph else len(text)
