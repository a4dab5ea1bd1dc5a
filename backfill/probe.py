"""Finds one row with searches, for a plugin without `list`."""

import re
from array import array
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from uuid import UUID
from zlib import crc32

from backfill.mapping import LegacyRow, read_embedding
from backfill.target import Target
from contract import MAX_LIMIT, Memory, SearchRequest

_WORD = re.compile(r"\w+")
_COUNTERS = 1 << 20
_LONGEST_QUERY = 100
_WORDS_BEFORE = 2
_WORDS_AFTER = 3
_WORDS_TOGETHER = 4
_SHORT = 3


class Rarity:
    """About how often words occur: a fixed number of counters, however many words there are."""

    def __init__(self) -> None:
        self._counts = array("L", bytes(_COUNTERS * array("L").itemsize))

    def learn(self, content: str) -> None:
        """Count the words of one more content."""
        for word in set(_WORD.findall(content.casefold())):
            self._counts[crc32(word.encode()) % _COUNTERS] += 1

    def of(self, word: str) -> int:
        """In how many contents the word occurs; too high if words share a counter."""
        return self._counts[crc32(word.casefold().encode()) % _COUNTERS]


def queries_for(content: str, rarity: Rarity) -> list[str]:
    """Texts that should find the content, the most specific first.

    The first is a verbatim excerpt around its rarest word: that finds it by words, by phrase and by
    substring, whichever the plugin supports. Content without words is searched for as it is.
    """
    found = list(_WORD.finditer(content))
    if not found:
        return [content.strip()[:_LONGEST_QUERY]]
    by_rarity = sorted(
        range(len(found)), key=lambda at: (rarity.of(found[at][0]), -len(found[at][0]))
    )
    rarest = by_rarity[0]
    first = found[max(rarest - _WORDS_BEFORE, 0)].start()
    last = found[min(rarest + _WORDS_AFTER, len(found) - 1)].end()
    if found[rarest].end() - first > _LONGEST_QUERY:
        first = found[rarest].start()
    piece = content[first : min(last, first + _LONGEST_QUERY)]
    together = list(dict.fromkeys(found[at][0] for at in by_rarity))[:_WORDS_TOGETHER]
    asked = [piece, " ".join(together)[:_LONGEST_QUERY], found[rarest][0][:_LONGEST_QUERY]]
    return list(dict.fromkeys(asked))


def telling_word(content: str, rarity: Rarity) -> str | None:
    """The rarest word of the content that any text search finds, or None.

    Words of one to three letters and words in scripts without spaces are left out, because plugins
    search for them differently.
    """
    words = [
        word
        for word in set(_WORD.findall(content))
        if word.isascii()
        and len(word) <= _LONGEST_QUERY
        and (len(word) > _SHORT or any(char.isdigit() for char in word))
    ]
    return min(words, key=lambda word: (rarity.of(word), -len(word), word), default=None)


async def search_word(target: Target, namespace: str, word: str) -> list[Memory]:
    """What a search for one word finds in a namespace."""
    return await target.search(SearchRequest(namespaces=[namespace], query=word, limit=MAX_LIMIT))


async def newest(target: Target, namespace: str) -> list[Memory]:
    """A search without a query: everything in the namespace if that is less than the limit."""
    return await target.search(SearchRequest(namespaces=[namespace], limit=MAX_LIMIT))


async def look_for(
    target: Target, namespaces: Sequence[str], row: LegacyRow, rarity: Rarity
) -> AsyncIterator[list[Memory]]:
    """What the plugin finds for a row, trying one query after the other."""
    names = list(namespaces)
    if "fts" in target.capabilities and row.content is not None:
        for query in queries_for(row.content.decode(errors="replace"), rarity):
            yield await target.search(SearchRequest(namespaces=names, query=query, limit=MAX_LIMIT))
    if "embedding" in target.capabilities and row.embedding is not None:
        embedding = read_embedding(row.embedding)
        if embedding is not None:
            yield await target.search(
                SearchRequest(namespaces=names, embedding=embedding, limit=MAX_LIMIT)
            )


def pick(memories: Sequence[Memory], id_: UUID) -> Memory | None:
    """The memory with this id."""
    return next((memory for memory in memories if memory.id == id_), None)


def hash_of(content: str | bytes) -> str:
    """The hash of the content, which is compared and which a report may show."""
    return sha256(content.encode() if isinstance(content, str) else content).hexdigest()
