"""The memory gateway: users with keys, conversation turns and documents become memories."""
