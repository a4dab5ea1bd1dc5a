"""Embeddings of any dimension: compared one by one while there are few, else found by an index.

An index for approximate search covers one dimension. It costs about a millisecond per row, once to
build it and then with every write, so a dimension gets one when enough memories have it.
"""

import logging
from collections.abc import Sequence
from functools import lru_cache

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from plugin_postgres import sql

Connection = asyncpg.Connection | PoolConnectionProxy

# How many candidates a statement takes from the index, for small answers and for large ones.
_CANDIDATES = (40, 200)
# If a filter rejects most, the index scan continues; the statement sorts what it returns.
SESSION = (
    f"SET hnsw.ef_search = {_CANDIDATES[0]}; SET hnsw.iterative_scan = relaxed_order;"
    " SET hnsw.max_scan_tuples = 100000"
)
# What pgvector can index, in half precision.
_MAX_INDEXED = 4_000
# Comparing this many one by one takes about 5 ms with 1,536 dimensions.
_MANY = 3_000
# At most this many are compared one by one, with an index and without one.
_ONE_BY_ONE = 20_000
_UNINDEXED = 100_000

log = logging.getLogger(__name__)


def statement(name: str, embedding: Sequence[float], limit: int, parameter: str) -> str:
    """The statement `name` for an embedding that is passed as the given parameter."""
    small, large = _CANDIDATES
    # Fusion needs a long list that includes less similar memories.
    candidates = small if limit * 2 <= small and name != "search_hybrid" else large
    return _for_dimension(name, len(embedding), candidates, parameter)


# Clients choose the dimension: there are 16,000, and the statements of all would take a gigabyte.
@lru_cache(128)
def _for_dimension(name: str, dimension: int, candidates: int, parameter: str) -> str:
    text = sql.load(name)
    values = {
        "{embedding}": parameter,
        "{dimension}": str(dimension),
        "{candidates}": str(candidates),
        "{index}": _index_name(dimension),
        "{one_by_one}": str(_ONE_BY_ONE),
        "{unindexed}": str(_UNINDEXED),
    }
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text


def _index_name(dimension: int) -> str:
    return f"memory_records_embedding_{dimension}"


async def build_indexes(connection: Connection) -> list[int]:
    """Index every dimension that has become large, without blocking writes; return those built.

    An index that an earlier attempt left incomplete is rebuilt. The connection must not be inside a
    transaction, and nobody else may build at the same time.
    """
    built = []
    for dimension in await _large_dimensions(connection):
        name = _index_name(dimension)
        await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS memory_plugin.{name}")
        await connection.execute(
            f"CREATE INDEX CONCURRENTLY {name} ON memory_plugin.memory_records"
            f" USING hnsw ((embedding::halfvec({dimension})) halfvec_cosine_ops)"
            # Twice pgvector's default, which takes 1.6 times as long to build: over 100,000
            # embeddings, 40 candidates then contain 99.8% of the ten nearest.
            " WITH (ef_construction = 128)"
            # The statement must use the same expression, or PostgreSQL does not use the index.
            f" WHERE (dimension = {dimension}) IS TRUE"
        )
        log.info("embeddings indexed", extra={"dimension": dimension})
        built.append(dimension)
    return built


async def _large_dimensions(connection: Connection) -> list[int]:
    """The dimensions that are worth an index and have none."""
    large = []
    dimension = await connection.fetchval(sql.load("find_next_dimension"), 0)
    while dimension is not None:
        if dimension <= _MAX_INDEXED and await connection.fetchval(
            sql.load("needs_vector_index"), dimension, _MANY, _index_name(dimension)
        ):
            large.append(dimension)
        dimension = await connection.fetchval(sql.load("find_next_dimension"), dimension)
    return large
