"""The numbered migrations of the toy."""
