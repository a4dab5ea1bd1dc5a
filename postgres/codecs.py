"""JSON columns as Python values, for services that do not pass the text on unchanged."""

import asyncpg
import orjson


async def json_as_python(connection: asyncpg.Connection) -> None:
    """Make this connection use Python values for json and jsonb."""
    for name in ("json", "jsonb"):
        await connection.set_type_codec(
            name,
            schema="pg_catalog",
            encoder=lambda value: orjson.dumps(value).decode(),
            decoder=orjson.loads,
        )
