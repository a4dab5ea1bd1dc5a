"""Public keys from a URL: cached for a while, and fetched again when a token names an unknown one.

Unknown keys cause at most one request every ten seconds, however many tokens name them: otherwise
anybody could flood the key server. While that server is unavailable, the known keys stay valid.
"""

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any

import httpx
import jwt

from conversations.errors import Unavailable
from conversations.tokens import ASYMMETRIC

_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_KEPT_SECONDS = 300.0
_BETWEEN_SECONDS = 10.0
_TIMEOUT_SECONDS = 5.0
_LARGEST = 1024 * 1024

log = logging.getLogger(__name__)


class KeySet:
    """The keys of one URL. `generation` changes when they do."""

    def __init__(
        self, url: str, *, kept: float = _KEPT_SECONDS, between: float = _BETWEEN_SECONDS
    ) -> None:
        self.generation = 0
        self._url = url
        self._kept = kept
        self._between = between
        self._keys: list[Key] = []
        self._published: list[dict[str, Any]] = []
        self._fetched_at: float | None = None
        self._asked_at: float | None = None
        self._asking = asyncio.Lock()

    async def find(self, kid: object, algorithm: object) -> list[Any]:
        """The keys that may have signed a token with this header."""
        if not isinstance(algorithm, str) or algorithm not in ASYMMETRIC:
            return []
        await self.refresh()
        found = self._matching(kid, algorithm)
        if not found and await self._ask_again():
            found = self._matching(kid, algorithm)
        if self._fetched_at is None:
            raise Unavailable("the keys for checking tokens cannot be fetched")
        return found

    async def refresh(self) -> None:
        """Fetch the keys again if they are too old."""
        if self._fetched_at is None or time.monotonic() - self._fetched_at > self._kept:
            await self._ask_again()

    def _matching(self, kid: object, algorithm: str) -> list[Any]:
        return [key.public for key in self._keys if key.fits(kid, algorithm)]

    async def _ask_again(self) -> bool:
        """Fetch, unless that was done a moment ago; whether the keys may have changed."""
        before = self._asked_at
        async with self._asking:
            if self._asked_at != before:
                return True  # another request fetched them while we waited
            now = time.monotonic()
            if before is not None and now - before < self._between:
                return False
            self._asked_at = now
            try:
                self._keep(await self._fetch())
            except (httpx.HTTPError, httpx.InvalidURL, ValueError, jwt.PyJWTError) as error:
                log.warning("cannot fetch keys", extra={"reason": type(error).__name__})
                return False
            return True

    async def _fetch(self) -> list[dict[str, Any]]:
        async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS, trust_env=False) as client:
            answer = await client.get(self._url, headers={"accept": "application/json"})
        answer.raise_for_status()
        if len(answer.content) > _LARGEST:
            raise ValueError("the key set is too large")
        keys = answer.json()["keys"] if isinstance(answer.json(), dict) else None
        if not isinstance(keys, list):
            raise ValueError("the answer is not a key set")
        return [key for key in keys if isinstance(key, dict)]

    def _keep(self, keys: list[dict[str, Any]]) -> None:
        self._fetched_at = time.monotonic()
        if keys == self._published:
            return
        self._published = keys
        self._keys = [key for key in map(_read, keys) if key is not None]
        self.generation += 1


@dataclass(frozen=True)
class Key:
    """A public key for signatures."""

    kid: str | None
    kind: str
    curve: str | None
    algorithm: str | None  # if the key is for one only
    public: Any

    def fits(self, kid: object, algorithm: str) -> bool:
        """Whether it may have signed a token with this header."""
        if kid is not None and self.kid is not None and self.kid != kid:
            return False
        if self.algorithm is not None:
            return self.algorithm == algorithm
        return (
            self.kind == _KINDS[algorithm[:2]] and _CURVES.get(algorithm, self.curve) == self.curve
        )


def _read(key: dict[str, Any]) -> Key | None:
    """A key for signatures, or None: a set may hold keys that we cannot use."""
    if key.get("kty") == "oct" or key.get("use", "sig") != "sig":
        return None
    try:
        read = jwt.PyJWK(key)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    return Key(key.get("kid"), key["kty"], key.get("crv"), key.get("alg"), read.key)
