"""One request and its answer: httpx behind it, the exceptions of `contract.errors` before it."""

import asyncio
import ssl
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import httpx
from pydantic import ValidationError

from contract.address import Address
from contract.envelope import Error
from contract.errors import (
    BadRequest,
    ContractViolation,
    Forbidden,
    MemoryPluginError,
    NotFound,
    Timeout,
    Unavailable,
)
from contract.retry import read_retry_after

_HTTPX_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError)
MAX_ANSWER = 64 * 1024 * 1024
_LONGEST_MESSAGE = 500
_SHORTEST_SECRET = 4

# Idle connections are dropped before a server with the usual 5 s drops them: a request that
# meets a closing connection fails, and a write without an id could not be repeated.
_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=100, keepalive_expiry=3.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a plugin answered."""

    status: int
    body: bytes
    retry_after: str | None = None


class Wire:
    """Sends requests to one plugin. It has no memory of them: no retries, no breaker."""

    def __init__(
        self,
        address: Address,
        token: str | None,
        transport: httpx.AsyncBaseTransport | None,
        max_answer: int = MAX_ANSWER,
    ) -> None:
        if max_answer < 1:
            raise ValueError("max_answer must be at least 1")
        self._max_answer = max_answer
        if token is not None and not (token.isascii() and token.isprintable() and token.strip()):
            raise ValueError("the token must be printable ASCII")
        self._token = token
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self.headers = httpx.Headers(headers)
        self._url = httpx.URL(address.url)
        # The transport itself, not a client around it: no proxy that happens to be in the
        # environment, no cookies, no redirects, and less than half of the work for a request.
        self._transport = transport or _transport(address)

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        deadline: float,
        secrets: Collection[str] = (),
    ) -> bytes:
        """The body of a 2xx answer. Anything else raises, and no message holds a secret.

        `deadline` is in the loop's time; `secrets` are the texts that the request carries.
        """
        hidden = [*secrets, self._token or ""]
        try:
            async with asyncio.timeout_at(deadline):
                answer = await self._exchange(method, path, body)
        except TimeoutError:
            failure: MemoryPluginError = Timeout("the plugin did not answer in time")
        except _HTTPX_ERRORS as error:
            failure = no_answer(error, hidden)
        else:
            if 200 <= answer.status < 300:
                return answer.body
            failure = refusal(answer, hidden)
        # Raised here, outside the handlers: an httpx error holds the request, token and all.
        raise failure

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _exchange(self, method: str, path: str, body: bytes | None) -> Answer:
        url = _join(self._url, path)
        request = httpx.Request(method, url, headers=self.headers, content=body)
        response = await self._transport.handle_async_request(request)
        response.request = request
        try:
            return await self._read(response)
        finally:
            await response.aclose()

    async def _read(self, response: httpx.Response) -> Answer:
        """The response with its body; raises before it holds more than is allowed."""
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self._max_answer:
                if not response.is_success:
                    body.clear()
                    break
                raise ContractViolation(
                    f"the plugin's answer is larger than {self._max_answer} bytes: ask for fewer"
                    " memories at a time, or allow more with max_answer"
                )
        return Answer(response.status_code, bytes(body), response.headers.get("Retry-After"))


@lru_cache(maxsize=1024)
def _join(base: httpx.URL, path: str) -> httpx.URL:
    """The same few paths are asked for again and again, and reading a URL is slow."""
    return base.copy_with(raw_path=base.raw_path.rstrip(b"/") + path.encode())


def no_answer(error: Exception, hidden: Collection[str] = ()) -> MemoryPluginError:
    """The exception for an httpx error: there was no answer, or none that can be read."""
    reason = _without(hidden, f"{type(error).__name__}: {error}")
    if isinstance(error, httpx.TimeoutException):
        return Timeout(f"the plugin did not answer in time ({reason})")
    if isinstance(error, httpx.DecodingError | httpx.TooManyRedirects):
        return ContractViolation(f"the plugin's answer cannot be read ({reason})")
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return BadRequest(f"the plugin's address is wrong ({reason})")
    return Unavailable(f"the plugin cannot be reached ({reason})")


def refusal(answer: Answer, hidden: Collection[str] = ()) -> MemoryPluginError:
    """The exception for an answer that is not 2xx, with the plugin's own words when it has some."""
    status = answer.status
    message, details = _envelope(answer, hidden)
    if status in (408, 429) or status >= 500:
        wait = read_retry_after(answer.retry_after)
        return Unavailable(message, status=status, details=details, retry_after=wait)
    if status < 400:
        return ContractViolation(message, status=status)
    kinds = {401: Forbidden, 403: Forbidden, 404: NotFound}
    return kinds.get(status, BadRequest)(message, status=status, details=details)


def _envelope(answer: Answer, hidden: Collection[str]) -> tuple[str, dict[str, Any] | None]:
    try:
        error = Error.model_validate_json(answer.body)
    except ValidationError:
        # Whatever it is, a proxy's page or the request echoed back, it does not belong in a log.
        return f"the plugin answered {answer.status} without an Error envelope", None
    return _without(hidden, error.message), _hide(hidden, error.details)


def _without(hidden: Collection[str], text: str) -> str:
    for secret in hidden:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[hidden]")
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + "…"


def _hide(hidden: Collection[str], value: Any) -> Any:
    if isinstance(value, str):
        return _without(hidden, value)
    if isinstance(value, list):
        return [_hide(hidden, item) for item in value]
    if isinstance(value, dict):
        return {_without(hidden, key): _hide(hidden, item) for key, item in value.items()}
    return value


def _transport(address: Address) -> httpx.AsyncBaseTransport:
    if address.url.startswith("https:"):
        context = ssl.create_default_context()
    else:
        # Never used over plain HTTP; loading the certificates would only cost time.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.AsyncHTTPTransport(verify=context, uds=address.socket, limits=_LIMITS)
