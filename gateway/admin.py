"""Who may create users: callers with the admin token or, without one, on this machine."""

import hmac
from ipaddress import ip_address

from starlette.requests import Request

from gateway.errors import Forbidden, Unauthorized

_CHALLENGE = 'Bearer realm="memory-gateway"'
_SPEAKS_FOR_ANOTHER = ("origin", "forwarded")


class Admin:
    """The rule for admin endpoints."""

    def __init__(self, token: str | None) -> None:
        self._token = None if token is None else token.encode()

    @property
    def has_token(self) -> bool:
        return self._token is not None

    def require(self, request: Request) -> None:
        """Raises unless the request may do what only an admin may."""
        if self.has_token:
            self.require_token(request)
        elif not _is_local(request):
            raise Forbidden("only callers on this machine may do this unless an admin token is set")
        elif _is_forwarded(request):
            raise Forbidden("web pages and proxies may not do this unless an admin token is set")

    def require_token(self, request: Request) -> None:
        """Raises unless the request carries the admin token, and always if there is none."""
        given = request.headers.get("authorization", "").encode("latin-1")
        scheme, _, token = given.strip().partition(b" ")
        # Compared even if there is no token, so that the time reveals nothing.
        equal = hmac.compare_digest(token.strip(), self._token or b"\x00")
        if self._token is None or not equal or scheme.lower() != b"bearer":
            raise Unauthorized(_CHALLENGE)


def _is_local(request: Request) -> bool:
    """Whether the caller is on a loopback address or a unix socket."""
    client = request.client
    if client is None or not client.host:
        return True  # a unix socket has no address
    try:
        address = ip_address(client.host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _is_forwarded(request: Request) -> bool:
    return any(
        name in _SPEAKS_FOR_ANOTHER or name.startswith("x-forwarded-") for name in request.headers
    )
