"""The statements of the gateway, by name."""

from postgres.statements import Statements

load = Statements("gateway.sql").load
