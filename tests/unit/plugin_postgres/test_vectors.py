"""The statements for embeddings, one for each dimension."""

from plugin_postgres import vectors


def test_statements_for_every_dimension_that_clients_think_of_are_not_kept() -> None:
    for dimension in range(1, 1001):
        vectors.statement("search_embedding", [0.0] * dimension, 10, "$7")
    assert vectors._for_dimension.cache_info().currsize < 200
