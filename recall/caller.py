"""Who calls a tool."""

from dataclasses import dataclass

from recall.errors import Denied, invalid


@dataclass(frozen=True)
class Caller:
    """An owner for itself only, or (None) the operator for every owner."""

    owner: str | None

    def chosen(self, asked: str | None) -> str:
        """The owner whose memories are meant; raises `ApiError` where that may not be."""
        if self.owner is None:
            if asked is None:
                raise invalid("apiKeyId", "is required")
            return asked
        if asked not in (None, self.owner):
            raise Denied("apiKeyId: an API key can access only its own memories")
        return self.owner
