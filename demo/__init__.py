"""`make demo`: a complete cutover as a story, on temporary databases."""
