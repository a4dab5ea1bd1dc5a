"""`make demo`: the whole cutover as a story, on databases that are thrown away afterwards."""
