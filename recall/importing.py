"""Imports memories from an export or another file, line by line.

An invalid line does not stop the rest.
"""

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from contract import BadRequest
from contract.model import load_json
from recall.errors import ApiError, invalid
from recall.memory import now
from recall.requests import ImportLine, check
from recall.store import UNSET, Draft, MemoryStore, OnConflict

_AT_ONCE = 100
_MAX_ERRORS = 1000


@dataclass
class Imported:
    """The result of an import."""

    imported: int = 0
    updated: int = 0
    skipped: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "imported": self.imported,
            "updated": self.updated,
            "skipped": self.skipped,
            "errors": self.errors,
        }

    def refuse(self, line: int, message: str) -> None:
        """Record an invalid line."""
        if len(self.errors) < _MAX_ERRORS:
            self.errors.append({"line": line, "message": message})


async def import_memories(
    store: MemoryStore, body: bytes, *, api_key_id: str | None, on_conflict: OnConflict
) -> Imported:
    """Write the memories in a body: JSON lines, or one JSON array."""
    result = Imported()
    waiting: dict[str, tuple[int, Draft]] = {}
    moment = now()
    for line, value in _values(body, result):
        if api_key_id is not None and isinstance(value, dict):
            value.pop("apiKeyId", None)  # replaced, so it may be anything
        try:
            given = check(ImportLine, value)
        except ApiError as error:
            result.refuse(line, error.message)
            continue
        if given.expiresAt is not None and given.expiresAt <= moment:
            result.skipped += 1
            continue
        draft = Draft(
            api_key_id=given.apiKeyId if api_key_id is None else api_key_id,
            key=given.key,
            content=given.content,
            type=given.type,
            session_id=given.sessionId,
            metadata=given.metadata,
            expires_at=given.expiresAt if "expiresAt" in given.model_fields_set else UNSET,
            created_at=given.createdAt,
            updated_at=given.updatedAt,
        )
        if draft.id in waiting or len(waiting) == _AT_ONCE:
            await _write(store, waiting, on_conflict, result)
            waiting = {}
        waiting[draft.id] = (line, draft)
    await _write(store, waiting, on_conflict, result)
    return result


async def _write(
    store: MemoryStore,
    waiting: dict[str, tuple[int, Draft]],
    on_conflict: OnConflict,
    result: Imported,
) -> None:
    if not waiting:
        return
    drafts = [draft for _, draft in waiting.values()]
    try:
        fates = [fate for _, fate in await store.put(drafts, on_conflict=on_conflict)]
    except BadRequest:
        # If the plugin refuses one, the others must still be written.
        fates = []
        for line, draft in waiting.values():
            try:
                fates += [fate for _, fate in await store.put([draft], on_conflict=on_conflict)]
            except BadRequest as error:
                result.refuse(line, error.message)
    result.imported += fates.count("created")
    result.updated += fates.count("updated")
    result.skipped += fates.count("skipped")


def _values(body: bytes, result: Imported) -> Iterator[tuple[int, Any]]:
    """The values in a body with their line numbers; the first item of an array is line 1."""
    body = body.removeprefix(BOM_UTF8)
    if body.lstrip()[:1] == b"[":
        try:
            values = load_json(body)
        except BadRequest as error:
            if not _is_json(body.lstrip().partition(b"\n")[0]):
                raise invalid("body", error.message.removeprefix("body: ")) from None
            # The first of several lines is an array, which is not a memory.
        else:
            yield from enumerate(values, 1)
            return
    for number, line in enumerate(body.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = load_json(line)
        except BadRequest as error:
            result.refuse(number, error.message.removeprefix("body: "))
            continue
        yield number, value


def _is_json(text: bytes) -> bool:
    try:
        load_json(text)
    except BadRequest:
        return False
    return True
