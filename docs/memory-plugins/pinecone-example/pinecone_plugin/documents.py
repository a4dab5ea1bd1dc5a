"""Texts of any size in records that hold 40 KB of metadata each.

A document is a head and, when its text is long, continuation records. The head carries the vector
and the fields that queries filter on. The ids of the continuations contain the version of the
head, so a reader never joins the beginning of one version to the end of another.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from contract import Unavailable
from pinecone_plugin.index import Index, Record

PART_CHARS = 7_500  # at most 4 bytes each in JSON: 30 KB, and the fields find room beside them
LOOKUP = 100  # 100 records of 30 KB stay below the 4 MB that a query may answer
CONTINUED = "~"  # sorts behind every key, so that a listing meets all heads first

Fields = dict[str, Any]
"""The metadata of a head: `key`, `version`, `parts`, `text` (whole, once read) and the filters."""


def to_records(
    key: str, version: int, text: str, values: Sequence[float], **filters: Any
) -> list[Record]:
    """A document as records, ready for one upsert."""
    parts = [text[at : at + PART_CHARS] for at in range(0, len(text), PART_CHARS)] or [""]
    head = {"key": key, "version": version, "parts": len(parts), **filters}
    records = [{"id": key, "values": values, "metadata": head | {"text": parts[0]}}]
    shared = {"expires_at": filters["expires_at"]} if "expires_at" in filters else {}
    for identifier, part in zip(_continuations(head), parts[1:], strict=True):
        meta = {"key": identifier, "text": part, **shared}
        records.append({"id": identifier, "values": values, "metadata": meta})
    return records


def record_ids(head: Fields) -> list[str]:
    """The ids of all records of a document."""
    return [head["key"], *_continuations(head)]


async def read(index: Index, namespace: str, keys: Iterable[str]) -> dict[str, Fields]:
    """The documents with these keys, by key; those that do not exist are left out."""
    heads = await _look_up(index, namespace, list(keys))
    return {head["key"]: head for head in await complete(index, namespace, heads)}


async def complete(index: Index, namespace: str, heads: Sequence[Fields]) -> list[Fields]:
    """The heads with their whole text, in the same order.

    A document that was replaced or deleted in the meantime is read again or left out.
    """
    for _attempt in range(5):
        wanted = [name for head in heads for name in _continuations(head)]
        parts = {part["key"]: part["text"] for part in await _look_up(index, namespace, wanted)}
        torn = [head["key"] for head in heads if not parts.keys() >= set(_continuations(head))]
        if not torn:
            return [
                head
                | {"text": head["text"] + "".join(parts[name] for name in _continuations(head))}
                for head in heads
            ]
        again = {head["key"]: head for head in await _look_up(index, namespace, torn)}
        heads = [
            again.get(head["key"], head)
            for head in heads
            if head["key"] not in torn or head["key"] in again
        ]
    raise Unavailable("a memory keeps changing while it is read", retry_after=1)


def _continuations(head: Fields) -> list[str]:
    return [
        f"{CONTINUED}{head['key']}{CONTINUED}{int(head['version']):x}{CONTINUED}{number}"
        for number in range(1, int(head["parts"]))
    ]


async def _look_up(index: Index, namespace: str, keys: Sequence[str]) -> list[Fields]:
    groups = [keys[at : at + LOOKUP] for at in range(0, len(keys), LOOKUP)]
    answers = await asyncio.gather(
        *(index.query(namespace, {"key": {"$in": group}}, top_k=LOOKUP) for group in groups)
    )
    return [match["metadata"] for matches in answers for match in matches]
