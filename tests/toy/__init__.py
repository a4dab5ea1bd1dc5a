"""A minimal service: notes in one table, a stream of them, and an upload."""
