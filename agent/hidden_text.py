"""Drops characters that people do not see but models read."""

import re

# Control characters except newline and tab; the soft hyphen; the Mongolian vowel separator; zero
# widths and bidirectional marks; invisible operators; the byte order mark; interlinear marks; tags;
# halves of surrogate pairs, which no file can contain.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
# Persian and emoji need a joiner between two characters. Several in a row mean nothing to a reader,
# but could hide a message.
_OTHER = r"[^\x00-\x7f\u200c\u200d]"
_JOINER = re.compile(rf"(?<={_OTHER})([\u200c\u200d])(?={_OTHER})|[\u200c\u200d]")


def visible(text: str) -> str:
    """The text without hidden characters; joiners stay where languages and emoji need them."""
    return _JOINER.sub(lambda found: found[1] or "", _HIDDEN.sub("", text))
