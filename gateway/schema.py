"""The gateway's part of the database."""

from postgres.schema import Schema

SCHEMA = Schema("memory_gateway", package="gateway.migrations")
