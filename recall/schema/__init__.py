"""The schema of recall's own tables: numbered SQL files, applied once and in order."""
