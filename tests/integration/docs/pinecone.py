"""The Pinecone example in this process: plugin and stand-in, connected without sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from pinecone_plugin.app import create_app
from pinecone_standin import StandIn

from contract import MemoryClient, MemoryWrite, NamespaceUpsert

HOST = "http://index.invalid"
PLUGIN = "http://plugin.invalid"


def app_on(standin: StandIn, api_key: str = "stand-in") -> Any:
    """A fresh plugin process, as it were, on an index that may have data."""
    return create_app(HOST, api_key, transport=httpx.ASGITransport(standin.app))


@asynccontextmanager
async def client_on(standin: StandIn, api_key: str = "stand-in") -> AsyncIterator[MemoryClient]:
    transport = httpx.ASGITransport(app_on(standin, api_key))
    async with MemoryClient(PLUGIN, transport=transport, attempts=1, timeout=60) as client:
        yield client


async def put(client: MemoryClient, name: str) -> None:
    await client.put_namespace(name, NamespaceUpsert(kind="custom"))


def fact(content: str, **fields: Any) -> MemoryWrite:
    return MemoryWrite(content=content, kind="fact", source="agent", **fields)
