"""The tool `memory`: the model keeps its own notes in `MEMORY.md` and `USER.md`."""

import asyncio
from collections.abc import Mapping
from typing import Any

from agent.errors import CuratedMemoryError, CuratedMemoryFull
from agent.memory_service import MemoryService
from agent.memory_store import TARGETS

_NEEDS = {"add": ("content",), "replace": ("old_text", "content"), "remove": ("old_text",)}


class MemoryTool:
    """Works on the files only."""

    name = "memory"
    description = (
        "Keep short notes that you will see at the beginning of every later conversation. Save what"
        " stays true: preferences, corrections, names, decisions, facts about the work. Target"
        " 'user' is for who the user is and what they like, target 'memory' for everything else."
        " Changes show in your prompt from the next message on. Entries are plain statements, and"
        " space is limited: merge entries rather than add similar ones. For replace and remove,"
        " old_text is a piece of the entry that no other entry has."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(_NEEDS)},
            "target": {"type": "string", "enum": list(TARGETS), "default": "memory"},
            "content": {"type": "string", "description": "The entry, for add and replace."},
            "old_text": {
                "type": "string",
                "description": "A piece of the entry to change, for replace and remove.",
            },
        },
        "required": ["action"],
        "additionalProperties": False,
    }

    def __init__(self, service: MemoryService) -> None:
        self._service = service

    async def run(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        # In a thread, because it waits for the lock and for the disk.
        return await asyncio.to_thread(self._run, arguments)

    def _run(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        action, target = arguments["action"], arguments.get("target", "memory")
        missing = [name for name in _NEEDS[action] if name not in arguments]
        if missing:
            return {"success": False, "error": f"{action} needs {missing[0]}."}
        try:
            given = {name: arguments[name] for name in _NEEDS[action]}
            getattr(self._service.store, action)(target, **given)
        except CuratedMemoryFull as error:
            return {"success": False, "error": str(error), **self._seen(target)}
        except CuratedMemoryError as error:
            return {"success": False, "error": str(error)}
        return {"success": True, **self._seen(target)}

    def _seen(self, target: str) -> dict[str, Any]:
        store = self._service.store
        return {
            "entries": list(self._service.shown(target)),
            "chars": store.chars(target),
            "limit": store.limit(target),
        }
