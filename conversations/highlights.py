"""Excerpts of found messages, with the matched words between `**`."""

import re

MAX_EXCERPT = 300
_MARK = "**"
_BEFORE = 60


def excerpt(text: str, headline: str | None, query: str) -> str | None:
    """At most 300 characters; PostgreSQL's headline if it marks a word, otherwise our own."""
    if headline is not None and _MARK in headline:
        first = headline.index(_MARK)
        # PostgreSQL counts words: a very long one may fill the excerpt before the first mark.
        return _cut(headline if first <= MAX_EXCERPT // 2 else headline[first - _BEFORE :])
    found = _find(text, query)
    if found is None:
        return text[:MAX_EXCERPT].strip() or None
    start, end = found
    first = max(0, start - _BEFORE)
    end = min(end, start + MAX_EXCERPT - 2 * len(_MARK) - _BEFORE)
    marked = f"{text[first:start]}{_MARK}{text[start:end]}{_MARK}{text[end : end + MAX_EXCERPT]}"
    return _cut(marked)


def _find(text: str, query: str) -> tuple[int, int] | None:
    """The position of the query in the text, or of the first of its words that occurs."""
    for part in (query.strip(), *re.findall(r"\w+", query)):
        if part:
            match = re.search(re.escape(part), text, re.IGNORECASE)
            if match:
                return match.span()
    return None


def _cut(marked: str) -> str:
    """The first 300 characters, without a mark that is cut in half or not closed."""
    if len(marked) <= MAX_EXCERPT:
        return marked
    cut = marked[:MAX_EXCERPT]
    if cut.endswith("*") and not cut.endswith(_MARK):
        cut = cut[:-1]
    if cut.count(_MARK) % 2:
        cut = cut[: cut.rindex(_MARK)]
    return cut.rstrip()
