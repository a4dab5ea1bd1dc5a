"""`make demo-chat`: a chat page on `memory-conversations`, with a scripted model that streams."""
