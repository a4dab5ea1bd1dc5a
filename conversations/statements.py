"""The statements and the schema, by name."""

from postgres.schema import Schema
from postgres.statements import Statements

SCHEMA = Schema("memory_conversations", package="conversations.schema")
load = Statements("conversations.sql").load
