"""Generous timeouts for servers under test: on a busy machine, requests wait and get no 503."""

from typing import Any

from tests.waiting import SECONDS

LIMITS: dict[str, Any] = dict.fromkeys(
    ("pool_timeout", "connect_timeout", "statement_timeout"), SECONDS
)
ENVIRONMENT = {
    f"MEMORY_{server}_{name.upper()}": str(seconds)
    for server in ("PLUGIN", "GATEWAY", "RECALL", "CONVERSATIONS", "TOY")
    for name, seconds in LIMITS.items()
}
