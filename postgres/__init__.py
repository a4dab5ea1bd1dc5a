"""PostgreSQL for every server of ours: embedded server, pool, database, schema, SQL loader."""
