"""What is switched on, and how full it is. Never a key or part of one."""

from typing import Any

from agent.config import AgentConfig
from agent.memory_service import MemoryService
from agent.memory_store import TARGETS


def status_of(config: AgentConfig, memory: MemoryService | None) -> dict[str, Any]:
    """For `EngineLoadResult.status()` and `memory-agent status`."""
    return {
        "mode": config.memory.mode,
        "explicit": config.memory.explicit,
        "curated": _curated(memory),
        "gateway": _gateway(config),
    }


def _curated(memory: MemoryService | None) -> dict[str, Any]:
    if memory is None:
        return {"enabled": False}
    store = memory.store
    files = {
        target: {
            "entries": len(store.entries(target)),
            "chars": store.chars(target),
            "limit": store.limit(target),
        }
        for target in TARGETS
    }
    return {"enabled": True, **files}


def _gateway(config: AgentConfig) -> dict[str, Any]:
    gateway = config.memory.gateway
    if config.memory.mode == "curated":
        return {"state": "disabled"}
    if gateway is None:
        return {"state": "degraded"}
    return {
        "state": "active",
        "baseUrl": gateway.base_url,
        "userId": gateway.user_id,
        "appId": gateway.app_id,
        "projectId": gateway.project_id,
        "scope": list(gateway.scope),
        "topK": gateway.top_k,
        "timeoutSeconds": gateway.timeout_seconds,
    }
