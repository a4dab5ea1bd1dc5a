"""The caller of an MCP tool."""

from dataclasses import dataclass

from recall.errors import Denied, invalid


@dataclass(frozen=True)
class Caller:
    """One owner, limited to its own memories, or (None) the operator, who may use all."""

    owner: str | None

    def chosen(self, asked: str | None) -> str:
        """The owner to act on; raises `ApiError` if the caller may not."""
        if self.owner is None:
            if asked is None:
                raise invalid("apiKeyId", "is required")
            return asked
        if asked not in (None, self.owner):
            raise Denied("apiKeyId: an API key can access only its own memories")
        return self.owner
