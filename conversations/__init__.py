"""Conversations: messages, forks, sharing, search and resumable answers: `memory-conversations`."""
