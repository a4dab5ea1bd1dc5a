"""`memory-backfill` as if the plugin had no extensions: `python -m bench.backfill_hidden`."""

from typing import Any
from unittest.mock import patch

from backfill import cli, target
from contract import HealthResponse, MemoryClient


class WithoutExtensions(MemoryClient):
    """A client of a plugin that offers the seven endpoints only."""

    async def health(self, **options: Any) -> HealthResponse:
        health = await super().health(**options)
        return health.model_copy(update={"extensions": []})


if __name__ == "__main__":
    with patch.object(target, "MemoryClient", WithoutExtensions):
        cli.main()
