"""A client for servers that implement OpenAI's API.

EndpointFailed    no usable response; the message names the kind of failure and never contains the
                  address, the key or what was sent
"""

import asyncio
import json
import ssl
from typing import Any

MAX_ANSWER = 32 * 2**20


class EndpointFailed(Exception):
    """The server gave no usable response."""


class Endpoint:
    """The URL of a server, and the key to call it with."""

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 10.0, proxies: bool = False
    ) -> None:
        """`url`: the base URL, including `/v1`; `timeout`: in seconds, for the whole response;
        `proxies`: whether to use the proxies set in the environment.
        """
        # Imported here: it takes long to load, and a server may use no model.
        import httpx

        self._base = url.rstrip("/")
        self._timeout = timeout
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._failures = (httpx.HTTPError, httpx.InvalidURL, UnicodeError)
        self._http = httpx.AsyncClient(
            headers=headers,
            timeout=None,  # noqa: S113 - `post` limits the whole request
            trust_env=proxies,
            verify=_certificates(needed=proxies or url.startswith("https:")),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def post(self, path: str, body: object) -> Any:
        """Post JSON and return the JSON response; raises `EndpointFailed`."""
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._http.stream("POST", f"{self._base}{path}", json=body) as answer,
            ):
                if not answer.is_success:
                    raise EndpointFailed(f"status {answer.status_code}")
                content = bytearray()
                async for piece in answer.aiter_bytes():
                    content += piece
                    if len(content) > MAX_ANSWER:
                        raise EndpointFailed("the response is too large")
            return json.loads(content)
        except TimeoutError:
            raise EndpointFailed("timeout") from None
        except self._failures as error:
            raise EndpointFailed(type(error).__name__) from None
        except (ValueError, RecursionError):
            raise EndpointFailed("the response is not JSON") from None
        except RuntimeError:  # closed in the meantime
            raise EndpointFailed("closed") from None


def _certificates(*, needed: bool) -> ssl.SSLContext:
    if needed:
        return ssl.create_default_context()
    # Not used for plain HTTP, so skip loading the certificates, which is slow.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
