"""PostgreSQL for all our servers: embedded server, pool, database, schema, SQL loader."""
