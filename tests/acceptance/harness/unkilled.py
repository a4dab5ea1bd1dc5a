"""Checks that no mutant of the in-memory example can show to work, and why not."""

_PROCESSES = (
    "It needs processes, commands and a database, which a mutant inside this one has not;"
    " tests/integration/harness/test_run_operational.py shows that it fails a plugin that breaks"
    " its sentence."
)

REASONS: dict[str, str] = {
    "operational.503-while-the-store-is-down": _PROCESSES,
    "operational.backfill-twice": _PROCESSES,
    "operational.keeps-what-it-acknowledged": _PROCESSES,
    "operational.survives-a-restart": _PROCESSES,
}
