"""Estimates the number of tokens in a text, without a model."""

import re

# These take about one token each; letters of an alphabet take about a quarter.
_WHOLE = re.compile(
    "["
    # Scripts written without spaces: Han, kana, Bopomofo, Yi, and those of South East Asia.
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
    "\u0e01-\u0e3a\u0e40-\u0e5b\u0e80-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df"
    "\u1a20-\u1aaf\u1b00-\u1b7f\ua980-\ua9df\uaa60-\uaadf"
    # Hangul syllables.
    "\uac00-\ud7a3"
    # Emoji.
    "\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u2600-\u27bf\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f000-\U0001faff"
    "]+"
)


def estimate_tokens(text: str) -> int:
    """A quarter of a token per character, rounded up. A character of a script written
    without spaces, a Hangul syllable or an emoji counts as one."""
    whole = 0 if text.isascii() else sum(map(len, _WHOLE.findall(text)))
    return whole + (len(text) - whole + 3) // 4
