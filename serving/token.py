"""The bearer token of a server."""

import hmac

from starlette.types import Scope


class BearerToken:
    """Checks whether a request carries the token; the case of the word Bearer does not matter."""

    def __init__(self, token: str) -> None:
        # Spaces around it cannot be sent: they do not belong to the value of a header.
        self._token = token.strip(" ").encode()

    def is_in(self, scope: Scope) -> bool:
        given: bytes = next(
            (value for name, value in scope["headers"] if name == b"authorization"), b""
        )
        scheme, _, token = given.partition(b" ")
        return hmac.compare_digest(token.strip(b" "), self._token) and scheme.lower() == b"bearer"
