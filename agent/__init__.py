"""The agent runtime: curated memory files, the memory gateway, or both."""
