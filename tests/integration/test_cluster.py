import asyncio

import asyncpg


def test_a_fresh_database_is_empty_and_has_pgvector_at_hand(database: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(database)
        assert (
            await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname='public'")
            == 0
        )
        await connection.execute("CREATE EXTENSION vector")
        await connection.close()

    asyncio.run(run())
