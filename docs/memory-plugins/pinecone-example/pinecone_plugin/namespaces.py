"""Namespaces, as documents `ns/<name>` in the Pinecone namespace `registry`.

A namespace keeps its memories in a Pinecone namespace of its own, its space. A space is never used
twice: a namespace that was deleted, or expired and was made anew, gets another one, so nothing of
the old one can come back, however late the service carries out the deletion.
"""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from contract import Namespace, NamespacePatch, NamespaceUpsert, NotFound
from pinecone_plugin import documents
from pinecone_plugin.index import Index
from pinecone_plugin.times import micros, now

REGISTRY = "registry"
LOCKS = 64  # changes of one namespace wait for each other; those of others rarely do


@dataclass(frozen=True)
class Home:
    """A namespace and the space that holds its memories."""

    namespace: Namespace
    space: str

    def is_live(self, moment: datetime) -> bool:
        return self.namespace.expires_at is None or self.namespace.expires_at > moment


class Namespaces:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._locks = [asyncio.Lock() for _ in range(LOCKS)]

    async def live(self, names: Iterable[str], moment: datetime) -> dict[str, Home]:
        """Those of the named namespaces that exist and have not expired, by name."""
        homes = await self._read(names)
        return {name: home for name, home in homes.items() if home.is_live(moment)}

    async def put(self, name: str, body: NamespaceUpsert) -> Namespace:
        async with self._lock(name):
            moment = now()
            old = (await self._read([name])).get(name)
            if old is not None and old.is_live(moment):
                home = Home(_changed(old.namespace, body), old.space)
            else:
                fields = body.model_dump(exclude_unset=True)
                namespace = Namespace(name=name, created_at=moment, **fields)
                home = Home(namespace, f"{name}#{micros(moment):x}")
            if home != old:  # callers PUT before every write, and most of these change nothing
                await self._save(home)
            if old is not None and old.space != home.space:
                await self._empty(old.space)
            return home.namespace

    async def patch(self, name: str, body: NamespacePatch) -> Namespace:
        async with self._lock(name):
            old = (await self._read([name])).get(name)
            home = old and Home(_changed(old.namespace, body), old.space)
            if old is None or home is None or not (old.is_live(now()) or home.is_live(now())):
                raise no_namespace(name)
            await self._save(home)
            return home.namespace

    async def delete(self, name: str) -> None:
        async with self._lock(name):
            home = (await self.live([name], now())).get(name)
            if home is None:
                raise no_namespace(name)
            await self._index.delete(REGISTRY, [f"ns/{name}"])
            await self._empty(home.space)
            await self._index.settle(REGISTRY)

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks[hash(name) % LOCKS]

    async def _read(self, names: Iterable[str]) -> dict[str, Home]:
        keys = [f"ns/{name}" for name in set(names)]
        homes = {}
        for fields in (await documents.read(self._index, REGISTRY, keys)).values():
            stored = json.loads(fields["text"])
            home = Home(Namespace.model_validate(stored["namespace"]), stored["space"])
            homes[home.namespace.name] = home
        return homes

    async def _save(self, home: Home) -> None:
        namespace = home.namespace.model_dump(mode="json", exclude_unset=True)
        text = json.dumps({"namespace": namespace, "space": home.space}, ensure_ascii=False)
        values = await self._index.placeholder()
        key = f"ns/{home.namespace.name}"
        records = documents.to_records(key, micros(now()), text, values)
        await self._index.upsert(REGISTRY, records)
        await self._index.settle(REGISTRY)

    async def _empty(self, space: str) -> None:
        """Give back the room of a space that nothing points to any more."""
        await self._index.delete_matching(REGISTRY, {"space": space})
        await self._index.drop(space)


def no_namespace(name: str) -> NotFound:
    return NotFound(f"namespace {name} does not exist: PUT /v1/namespaces/{name} first")


def _changed(namespace: Namespace, body: NamespaceUpsert | NamespacePatch) -> Namespace:
    """Absent leaves the stored value, null clears it."""
    return namespace.model_copy(update=body.model_dump(exclude_unset=True))
