"""What can go wrong. There is no common base class, because different people handle each error.

    ConfigError            the configuration is invalid: the operator edits it
    MemoryGatewayError     a call to the gateway failed: it is recorded, and the run continues
    CuratedMemoryError     a change to MEMORY.md or USER.md was refused: the model reads why
    └── CuratedMemoryFull  it would exceed the limit: the model is shown the entries, to merge them
    ProviderError          the model's server failed: the run ends with `error`
    SessionStoreError      the session database cannot be read or written: the run raises it

No text contains a key, a request, or anything from the body of a response.
"""


class ConfigError(Exception):
    """The text names the place in the JSON (`memory.gateway.topK`) and the rule."""


class _CallError(Exception):
    """A failed HTTP call. Compares, copies and pickles by its fields."""

    def __init__(self, *fields: str | int | None) -> None:
        super().__init__(*fields)

    def _describe(self, what: str, category: str, status_code: int | None) -> str:
        status = "" if status_code is None else f" status={status_code}"
        return f"{what} failed: {category}{status}"


class MemoryGatewayError(_CallError):
    """A call to the gateway failed. `status_code` is None when no response came."""

    def __init__(self, operation: str, category: str, status_code: int | None = None) -> None:
        super().__init__(operation, category, status_code)
        self.operation = operation
        self.category = category
        self.status_code = status_code

    def __str__(self) -> str:
        return self._describe(f"Memory Gateway {self.operation}", self.category, self.status_code)


class CuratedMemoryError(Exception):
    """A change was refused and nothing was changed; the text says what to do instead."""


class CuratedMemoryFull(CuratedMemoryError):
    """The change would make the file exceed its limit."""


class ProviderError(_CallError):
    """The model's server did not give a usable reply."""

    def __init__(self, category: str, status_code: int | None = None) -> None:
        super().__init__(category, status_code)
        self.category = category
        self.status_code = status_code

    def __str__(self) -> str:
        return self._describe("Provider", self.category, self.status_code)


class SessionStoreError(Exception):
    """The session database cannot be opened, read or written."""
