"""Finds text that addresses the model instead of describing the user.

Such a sentence in a memory file would be part of every later prompt. The list is short on purpose:
a fact about a person that happens to use the same words must pass.
"""

import re

from agent.lookalikes import as_latin

_DROP = r"(?:ignore|disregard|forget|override|bypass|discard)"
_FILLER = r"(?: (?:all|any|every|each|of|the|your|my|our|these|those|and|or))*"
_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|former|existing|original|initial|system|developer)"
)
_ORDERS = r"(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|messages?)"
_SAID = r"(?:that|was|is|said|written|you|were|told)"
_MAY = r"(?:must|should|shall|may|can|will|are)"
_TELL = r"(?:tell|inform|mention|reveal|disclose|warn|notify|alert|admit)"
_IT = r"(?: (?:it|this|that|these|anything|any|of|about|to))*"
_USER = r"the (?:user|human)\b(?!'s)"
_SHOW = (
    r"(?:reveal|disclose|expose|leak|print|show|display|output|repeat|recite|quote|share|send|give"
    r"|tell|summari[sz]e|translate)"
)
_FILLER_OF_SHOW = r"(?: (?:me|us|out|all|of))*"
_WHOLE = r"(?: (?:full|entire|whole|exact|own))*"
_OWN = r"(?:system|developer|initial|original|hidden|secret|internal)"
_SPEAKER = r"(?:system|user|human|assistant|instructions?|response)"

# Matched against plain Latin letters in lower case, with single spaces.
_PATTERNS = {
    "it tells the assistant to drop its instructions": (
        rf"\b{_DROP}{_FILLER} {_EARLIER}(?: (?:system|user|developer))? {_ORDERS}\b",
        rf"\b{_DROP}(?: (?:all|any|of))* (?:your|these|those) {_ORDERS}\b",
        rf"\b{_DROP} (?:all|any)(?: of)?(?: (?:the|its|my))? {_ORDERS}\b",
        rf"\b{_DROP} (?:everything|anything|all)(?: {_SAID})* (?:above|before this)\b",
    ),
    "it asks the assistant to hide something from the user": (
        rf"\byou {_MAY} ?(?:not|never)(?: to)? {_TELL}{_IT} {_USER}",
        rf"\b(?:do not|don't|dont|never) {_TELL}{_IT} {_USER}",
        rf"\b(?:do not|don't|dont|never) let {_USER} (?:know|see|find out)\b",
        rf"\b(?:hide|conceal|keep) (?:this|it|that)(?: secret| hidden)? from {_USER}",
        rf"\bwithout (?:telling|informing|asking|notifying) {_USER}",
    ),
    "it contains a token of a chat template": (
        r"<\|[^|<>\s]{1,40}\|>",
        r"\[/?inst\]",
        r"<</?sys>>",
        r"</?(?:start|end)_of_turn>",
        r"</?(?:system|assistant|tool_call|function_call)>",
        # The first is also a type parameter, as in List<S>.
        r"(?<!\w)<s>|</s>|<[be]os>",
        rf"#{{3,}} ?{_SPEAKER} ?:",
        r"(?m)^(?:[>#][># ]*)?[*_]{0,3}human[*_]{0,3} ?:",
    ),
    "it asks for the instructions of the assistant": (
        rf"\b{_SHOW}{_FILLER_OF_SHOW} your{_WHOLE} (?:(?:{_OWN} )+{_ORDERS}|prompt)\b",
    ),
    "it looks like a system prompt": (
        r"\bsystem (?:prompt|instructions?) ?:",
        r"\b(?:new|updated|revised) (?:system )?instructions? ?:",
    ),
    "it gives the assistant another role": (
        r"\bfrom now on,? you (?:must|will|shall|are|should)\b",
        r"\byou are now (?:an?|the|in|dan|free|unrestricted|jailbroken)\b",
    ),
}
_COMPILED = [
    (reason, re.compile(pattern)) for reason, some in _PATTERNS.items() for pattern in some
]
# A phrase may be broken over lines, quoted or marked up.
_BETWEEN_WORDS = re.compile(r"[\s*`\"“”_~]+")


def addresses_the_model(text: str) -> str | None:
    """Why this text may not be in a memory file; None if it may."""
    folded = as_latin(text).replace("’", "'")
    # Line by line, because a turn begins a line; with underscores, because template tokens contain
    # them; and without, because they are also markup.
    lines = "\n".join(" ".join(line.split()) for line in folded.splitlines())
    forms = (lines, " ".join(folded.split()), _BETWEEN_WORDS.sub(" ", folded))
    for reason, pattern in _COMPILED:
        if any(pattern.search(form) for form in forms):
            return reason
    return None
