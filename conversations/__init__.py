"""Conversations: messages, forks, sharing, search, resumable answers."""
