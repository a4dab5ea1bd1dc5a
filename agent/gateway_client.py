"""The three calls to a memory gateway."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from agent.config import GatewayConfig
from agent.errors import MemoryGatewayError
from agent.wire import Wire


class MemoryGatewayClient:
    """Raises MemoryGatewayError for every failure, and never retries."""

    def __init__(
        self, config: GatewayConfig, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._config = config
        # Nobody has checked a configuration that was made in code: two slashes would be a 404.
        self._base_url = config.base_url.rstrip("/")
        self._wire = Wire(config.timeout_seconds, transport)

    async def search(self, *, conversation_id: str, query: str) -> list[Any]:
        """The `results` as received."""
        config = self._config
        answer, status = await self._call(
            "search",
            conversation_id=conversation_id,
            query=query,
            scope=list(config.scope),
            top_k=config.top_k,
        )
        results = answer.get("results")
        if not isinstance(results, list):
            raise MemoryGatewayError("search", "invalid_response", status)
        return results

    async def add(
        self, *, session_id: str, messages: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        plain = [dict(message) for message in messages]
        answer, _ = await self._call("add", session_id=session_id, messages=plain)
        return answer

    async def flush(self, *, session_id: str) -> dict[str, Any]:
        answer, _ = await self._call("flush", session_id=session_id)
        return answer

    async def is_reachable(self) -> bool:
        """Whether `GET /health` is answered with 2xx."""
        outcome = await self._wire.get(f"{self._base_url}/health")
        return outcome.category in (None, "invalid_json", "invalid_response") and (
            outcome.status_code is not None
        )

    async def aclose(self) -> None:
        await self._wire.aclose()

    async def _call(self, operation: str, **fields: Any) -> tuple[dict[str, Any], int | None]:
        outcome = await self._wire.post(
            f"{self._base_url}/memories/{operation}", self._identified(fields)
        )
        if outcome.category is not None:
            raise MemoryGatewayError(operation, outcome.category, outcome.status_code)
        return outcome.body, outcome.status_code

    def _identified(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        config = self._config
        return {
            "user_id": config.user_id,
            "user_key": config.user_key,
            **fields,
            "app_id": config.app_id,
            "project_id": config.project_id,
        }
