"""The statements of the toy."""
