"""Checks that no mutant of the in-memory example can show to work, and why not."""

REASONS: dict[str, str] = {}
