"""A server that speaks OpenAI's API: one way to ask it, for whatever it is asked.

EndpointFailed    no usable answer; its text names the kind of failure, and never quotes the
                  address, the key or what was sent
"""

import json
from typing import Any
from urllib.parse import urlsplit

import httpx

MAX_ANSWER = 32 * 2**20


class EndpointFailed(Exception):
    """The server gave no usable answer."""


class Endpoint:
    """Where a server is, and with which key it is asked."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 10.0) -> None:
        """`url`: the base, with its `/v1`; an address without a path gets it."""
        url = url.rstrip("/")
        self._base = url if urlsplit(url).path else f"{url}/v1"
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.AsyncClient(headers=headers, timeout=timeout)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def post(self, path: str, body: object) -> Any:
        """The answer's JSON; raises `EndpointFailed`."""
        try:
            async with self._http.stream("POST", f"{self._base}{path}", json=body) as answer:
                if answer.status_code != 200:
                    raise EndpointFailed(f"status {answer.status_code}")
                content = bytearray()
                async for piece in answer.aiter_bytes():
                    content += piece
                    if len(content) > MAX_ANSWER:
                        raise EndpointFailed("the answer is too large")
            return json.loads(content)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise EndpointFailed(type(error).__name__) from None
        except (ValueError, RecursionError):
            raise EndpointFailed("the answer is not JSON") from None
        except RuntimeError:  # closed meanwhile
            raise EndpointFailed("closed") from None
