"""Authentication: user tokens and agent keys.

A token is checked with a secret (HS256), with public keys from a URL, or not at all with
`--dev-auth`, where the token itself is the user id. Valid tokens are cached until they expire.
"""

import hashlib
import hmac
import time
from typing import TYPE_CHECKING, Any, Protocol

import jwt

from conversations.errors import Unauthorized
from conversations.fields import is_user

if TYPE_CHECKING:
    from conversations.jwks import KeySet

ASYMMETRIC = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
)
# More than a worker has followers, whose tokens are checked every second; some 20 MB when full.
_CACHED = 65_536
# How long a token without an `exp` is cached.
_WITHOUT_END_SECONDS = 60
# An `exp` may be too large a number to compare times with.
_FAR_FUTURE = 10**12
# The library's own errors, and what some of its versions let through.
_UNREADABLE = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)


class Tokens(Protocol):
    """Finds the user of a token, or raises `Unauthorized`."""

    async def user(self, token: str) -> str: ...


class DevTokens:
    """The token is the user id."""

    async def user(self, token: str) -> str:
        return checked_subject(token)


class SignedTokens:
    """Tokens signed with a secret, or with a key of a key set."""

    def __init__(
        self, *, secret: str | None, keys: "KeySet | None", issuer: str | None, audience: str | None
    ) -> None:
        self._secret = secret
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._known: dict[bytes, tuple[str, float, int]] = {}

    async def user(self, token: str) -> str:
        keys = 0 if self._keys is None else self._keys.generation
        found = self._known.get(_digest(token))
        # A withdrawn key invalidates its tokens: with new keys, all are checked again.
        if found is not None and found[1] > time.time() and found[2] == keys:
            if self._keys is not None:
                await self._keys.refresh()
                if self._keys.generation != keys:
                    return await self._check(token)
            return found[0]
        return await self._check(token)

    async def _check(self, token: str) -> str:
        try:
            header = jwt.get_unverified_header(token)
        except _UNREADABLE:
            raise _invalid() from None
        if self._keys is not None:
            candidates = await self._keys.find(header.get("kid"), header.get("alg"))
            algorithms = [header["alg"]] if header.get("alg") in ASYMMETRIC else []
        else:
            candidates, algorithms = [self._secret or ""], ["HS256"]
        for key in candidates:
            claims = self._claims(token, key, algorithms)
            if claims is not None:
                return self._cache(token, claims)
        raise _invalid()

    def _claims(self, token: str, key: Any, algorithms: list[str]) -> dict[str, Any] | None:
        try:
            return jwt.decode(
                token,
                key,
                algorithms=algorithms,
                issuer=self._issuer,
                audience=self._audience,
                options={
                    "verify_aud": self._audience is not None,
                    "verify_iss": self._issuer is not None,
                    "verify_sub": False,  # checked here, by the rules for user ids
                    "require": [
                        *(["iss"] if self._issuer is not None else []),
                        *(["aud"] if self._audience is not None else []),
                    ],
                },
            )
        except _UNREADABLE:
            return None

    def _cache(self, token: str, claims: dict[str, Any]) -> str:
        user = checked_subject(claims.get("sub"))
        # As the library has read it: a whole number, whatever its size and type in the token.
        expires = min(int(claims.get("exp", time.time() + _WITHOUT_END_SECONDS)), _FAR_FUTURE)
        while len(self._known) >= _CACHED:
            self._known.pop(next(iter(self._known)))
        generation = 0 if self._keys is None else self._keys.generation
        self._known[_digest(token)] = (user, expires, generation)
        return user


def _digest(token: str) -> bytes:
    """What the cache knows a token by: a token may be several kilobytes long."""
    return hashlib.sha256(token.encode()).digest()


def checked_subject(subject: Any) -> str:
    """The user id, or `Unauthorized` if it is not a valid one."""
    if not isinstance(subject, str) or not is_user(subject):
        raise _invalid()
    return subject


def bearer(authorization: str) -> str:
    """The token of an `Authorization` header."""
    scheme, _, rest = authorization.strip().partition(" ")
    token = rest.strip()
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized("Authorization: a bearer token is required")
    if token.isascii():
        return token
    try:
        return token.encode("latin-1").decode()
    except UnicodeError:
        raise Unauthorized("Authorization: the token must be UTF-8") from None


def read_agent_keys(text: str | None) -> dict[str, bytes]:
    """`name=key,name=key` as a dict; raises ValueError saying what is wrong."""
    agents: dict[str, bytes] = {}
    for pair in (text or "").split(","):
        if not pair.strip():
            continue
        name, equals, key = pair.strip().partition("=")
        if not equals or not is_user(name) or not key:
            raise ValueError("must be name=key pairs separated by commas")
        if name in agents:
            raise ValueError(f"names the agent {name} twice")
        if key.encode() in agents.values():
            raise ValueError(f"gives the agent {name} the key of another agent")
        agents[name] = key.encode()
    return agents


class Agents:
    """The agents that may call, by their keys."""

    def __init__(self, keys: dict[str, bytes]) -> None:
        self._keys = keys

    def name(self, key: str) -> str:
        """The agent whose key this is, or `Unauthorized`; compared in constant time."""
        given = key.encode("latin-1")  # as Starlette reads headers
        found = [name for name, known in self._keys.items() if hmac.compare_digest(given, known)]
        if not found:
            raise Unauthorized("X-API-Key: a known key is required")
        return found[0]


def _invalid() -> Unauthorized:
    return Unauthorized("Authorization: the token is not valid")
