"""Generous timeouts for servers under test: on a busy machine, requests wait and get no 503."""

from typing import Any

LIMITS: dict[str, Any] = {"pool_timeout": 30.0, "connect_timeout": 30.0, "statement_timeout": 30.0}
ENVIRONMENT = {
    f"MEMORY_{server}_{name.upper()}": str(seconds)
    for server in ("PLUGIN", "GATEWAY", "RECALL", "CONVERSATIONS", "TOY")
    for name, seconds in LIMITS.items()
}
