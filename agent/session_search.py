"""The tool `session_search`: the model looks up what was said before, in any session."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agent.sessions import SessionHit, SessionStore

_MOST_CHARACTERS = 2000


class SessionSearchTool:
    """Works on the session store only."""

    name = "session_search"
    description = (
        "Search the messages of this and all earlier conversations for words. Use it when the user"
        " refers to something that was said before and that you do not see."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to look for."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
        },
        "required": ["query"],
        "additionalProperties": False,
    }

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions

    async def run(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        hits = await asyncio.to_thread(
            self._sessions.search, arguments["query"], limit=arguments.get("limit", 10)
        )
        return {"results": [_shortened(hit) for hit in hits]}


def _shortened(hit: SessionHit) -> dict[str, Any]:
    return asdict(hit) | {"text": hit.text[:_MOST_CHARACTERS]}
