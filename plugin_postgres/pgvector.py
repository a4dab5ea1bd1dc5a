"""The PostgreSQL extension pgvector: whether it is available, and in which schema.

If it is missing or too old, the plugin supports everything except embeddings.
"""

import math
import struct
from collections.abc import Sequence

import asyncpg

# The most dimensions that a vector can have.
MAX_DIMENSION = 16_000

# Iterative index scans came with 0.8; without them a filtered search loses rows.
_OLDEST = (0, 8)


async def ensure(connection: asyncpg.Connection) -> bool:
    """Whether pgvector can be used, after trying to create it."""
    version = await connection.fetchval(
        "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    )
    if version is not None:
        return tuple(int(part) for part in version.split(".")[:2]) >= _OLDEST
    try:
        async with connection.transaction():
            await connection.execute("CREATE EXTENSION vector WITH SCHEMA memory_plugin")
    except (
        asyncpg.FeatureNotSupportedError,  # not installed on this server
        asyncpg.UndefinedFileError,  # the same on PostgreSQL 14
        asyncpg.InsufficientPrivilegeError,  # installed, but this role may not create it
    ):
        return False
    return await ensure(connection)


async def search_path(connection: asyncpg.Connection) -> str:
    """The search_path in which the plugin's tables and pgvector's types and operators are found."""
    schema = await connection.fetchval(
        "SELECT quote_ident(nspname) FROM pg_extension"
        " JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'"
    )
    return "memory_plugin" if schema in (None, "memory_plugin") else f"memory_plugin, {schema}"


async def register(connection: asyncpg.Connection) -> None:
    """Make this connection accept vectors, as lists of numbers or as returned by `encode`.

    In an array only the latter: a list of lists would be a two-dimensional array.
    """
    schema = await connection.fetchval(
        "SELECT nspname FROM pg_extension"
        " JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'"
    )
    await connection.set_type_codec(
        "vector", schema=schema, encoder=_encode_once, decoder=_decode, format="binary"
    )


def encode(values: Sequence[float]) -> bytes:
    """A vector in pgvector's binary form."""
    # Only the direction matters, and vectors are stored in half precision, in which the numbers of
    # very long or short ones would overflow or vanish.
    length = math.hypot(*values)
    if not 0.01 < length < 1000 and length > 0:
        values = [value / length for value in values]
    return struct.pack(f">HH{len(values)}f", len(values), 0, *values)


def _encode_once(value: Sequence[float] | bytes) -> bytes:
    return value if isinstance(value, bytes) else encode(value)


def _decode(data: bytes) -> tuple[float, ...]:
    return struct.unpack_from(f">{(len(data) - 4) // 4}f", data, 4)
