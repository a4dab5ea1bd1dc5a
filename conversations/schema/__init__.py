"""The schema of `memory-conversations`: numbered SQL files, applied once and in order."""
