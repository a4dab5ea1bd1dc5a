"""A transport of httpx behind the client: for tests that run a plugin in their own process."""

import asyncio
from collections.abc import Mapping

import httpx

from contract.http1 import Answer, AnswerTooLarge
from contract.transport import Interrupted, NotConnected, Undecodable

_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError)


class HttpxTransport:
    """Sends through `httpx.ASGITransport`, or any other httpx transport."""

    def __init__(self, transport: httpx.AsyncBaseTransport, url: str, max_answer: int) -> None:
        self._transport = transport
        self._url = url
        self._max_answer = max_answer

    async def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        deadline: float | None = None,
        repeatable: bool = False,  # noqa: ARG002 - no connection is kept that could be closed
    ) -> Answer:
        """Send a request and wait for its answer, whatever its status."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self._exchange(method, path, headers, body)
        except _ERRORS as error:
            failure = _translated(error)
        # Raised here, outside the handler: an httpx error holds the request, including the token.
        raise failure

    async def aclose(self) -> None:
        """Close what the transport holds open."""
        await self._transport.aclose()

    async def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        request = httpx.Request(method, self._url + path, headers=dict(headers), content=body)
        response = await self._transport.handle_async_request(request)
        response.request = request
        content = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > self._max_answer:
                    raise AnswerTooLarge(response.status_code)
        finally:
            await response.aclose()
        lines = [b"%b: %b" % header for header in response.headers.raw]
        return Answer(response.status_code, b"\r\n".join([b"HTTP/1.1", *lines]), bytes(content))


def _translated(error: Exception) -> Exception:
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, httpx.TimeoutException):
        return TimeoutError(reason)
    if isinstance(error, httpx.DecodingError | httpx.TooManyRedirects):
        return Undecodable(reason)
    if isinstance(error, httpx.ConnectError | httpx.UnsupportedProtocol):
        return NotConnected(reason)
    return Interrupted(reason)
