"""Embeddings of any dimension: compared one by one while they are few, by an index when many.

An index for approximate search holds one dimension. It costs about a millisecond a row, once to be
built and then with every write, so one is built for a dimension when enough memories have it.
"""

import logging
from collections.abc import Sequence
from functools import cache

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from plugin_postgres import sql

Connection = asyncpg.Connection | PoolConnectionProxy

# As many candidates as a statement takes off the index, and more of them where a filter refuses
# most. The statement puts them in order.
SESSION = "SET hnsw.ef_search = 120; SET hnsw.iterative_scan = relaxed_order"
# What pgvector can index, in half precision.
_MAX_INDEXED = 4_000

log = logging.getLogger(__name__)


def few(dimension: int) -> int:
    """How many embeddings are compared one by one, which takes about 10 ms."""
    return 8_000_000 // (dimension + 512)


def statement(name: str, embedding: Sequence[float], parameter: str) -> str:
    """The statement `name` for an embedding that is passed as the given parameter."""
    return _for_dimension(name, len(embedding), parameter)


@cache
def _for_dimension(name: str, dimension: int, parameter: str) -> str:
    text = sql.load(name)
    values = {
        "{embedding}": parameter,
        "{dimension}": str(dimension),
        "{few}": str(few(dimension)),
        "{index}": _index_name(dimension),
    }
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text


def _index_name(dimension: int) -> str:
    return f"memory_records_embedding_{dimension}"


async def build_indexes(connection: Connection) -> list[int]:
    """Index every dimension that has become large, without blocking writes; return those built.

    One that an earlier attempt left half built is built again. The connection must not be inside
    a transaction, and nobody else may build at the same time.
    """
    built = []
    for dimension in await _large_dimensions(connection):
        name = _index_name(dimension)
        await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS memory_plugin.{name}")
        await connection.execute(
            f"CREATE INDEX CONCURRENTLY {name} ON memory_plugin.memory_records"
            f" USING hnsw ((embedding::halfvec({dimension})) halfvec_cosine_ops)"
            # In these words in the statement as well, or it does not know that the index serves it.
            f" WHERE (vector_dims(embedding) = {dimension}) IS TRUE"
        )
        log.info("embeddings indexed", extra={"dimension": dimension})
        built.append(dimension)
    return built


async def _large_dimensions(connection: Connection) -> list[int]:
    """The dimensions that an index would pay for and that have none."""
    large = []
    dimension = await connection.fetchval(sql.load("find_next_dimension"), 0)
    while dimension is not None:
        if dimension <= _MAX_INDEXED and await connection.fetchval(
            sql.load("needs_vector_index"), dimension, few(dimension), _index_name(dimension)
        ):
            large.append(dimension)
        dimension = await connection.fetchval(sql.load("find_next_dimension"), dimension)
    return large
