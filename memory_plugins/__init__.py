"""The installed commands; one whose extra is missing says which."""
