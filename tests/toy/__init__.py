"""A service as small as one can be: notes in one table, a stream of them, and an upload."""
