"""The address of a plugin: `http://host:port`, `https://…` or `unix:/path/of/the.sock`."""

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

DEFAULT_URL = "http://localhost:9100"


@dataclass(frozen=True)
class Address:
    """A plugin's address; `socket` is the path of a unix socket, and None over TCP."""

    url: str
    socket: str | None = None

    def __str__(self) -> str:
        return self.url if self.socket is None else f"unix:{self.socket}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse an address; raises ValueError with the accepted forms."""
        if text.startswith("unix:"):
            path = text.removeprefix("unix:").removeprefix("//")
            if not path.startswith("/"):
                raise ValueError("the plugin's unix address must be unix:/absolute/path")
            return cls("http://localhost", path)
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                "the plugin's address must be http://host:port, https://host or unix:/path"
            )
        if parts.username is not None or parts.password is not None:
            # A password in a URL ends up in logs; a token does not.
            raise ValueError(
                "the plugin's address must not contain a password; set a token instead"
            )
        if parts.query or parts.fragment:
            raise ValueError("the plugin's address must not contain ? or #")
        try:
            _ = parts.port
        except ValueError:
            raise ValueError("the plugin's address must have a port from 0 to 65535") from None
        return cls(text.rstrip("/"))

    @classmethod
    def find(cls, given: str | None) -> "Address":
        """The given address, else `MEMORY_PLUGIN_URL`, else the default."""
        return cls.parse(given or os.environ.get("MEMORY_PLUGIN_URL") or DEFAULT_URL)
