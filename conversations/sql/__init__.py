"""The statements of `memory-conversations`, one `.sql` file each, named after what they do."""
