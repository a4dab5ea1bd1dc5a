"""What a plugin supports, and requests reduced to that."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final, cast

from contract.errors import MemoryPluginError, NotSupported, Unavailable
from contract.filter import Filtered
from contract.health import HealthResponse
from contract.listing import ListRequest
from contract.model import AnyModel, WireModel
from contract.scalars import Capability, Extension

CAPABILITY_OF: Final[dict[str, Capability]] = {
    "embedding": "embedding",
    "query": "fts",
    "expires_at": "ttl",
    "pin": "pin",
    "propagation": "propagation",
}
"""The request fields that only a plugin with the capability understands."""


@dataclass(frozen=True)
class LeftOut:
    """Fields that were not sent because the plugin does not list their capability."""

    operation: str
    fields: tuple[str, ...]


_FILTER: Final = ("where", "created_after", "created_before")


def extension_of(kind: type[WireModel], field: str) -> Extension | None:
    """The extension that a request field belongs to; None if every plugin knows it."""
    if issubclass(kind, Filtered) and field in _FILTER:
        return "filter"
    if issubclass(kind, ListRequest) and field in ("order", "kinds"):
        return "browse"
    return None


def understood(
    body: AnyModel, capabilities: Collection[Capability], extensions: Collection[Extension]
) -> AnyModel:
    """The body as read by a plugin that has only these capabilities and extensions."""
    body, _ = fit(body, capabilities)
    kept = {
        name
        for name in body.model_fields_set
        if extension_of(type(body), name) in (None, *extensions)
    }
    return body if kept == body.model_fields_set else _only(body, kept)


def is_gated(body: AnyModel) -> bool:
    """Whether the body has a field that not every plugin understands."""
    return not CAPABILITY_OF.keys().isdisjoint(body.model_fields_set)


def fit(body: AnyModel, capabilities: Collection[Capability]) -> tuple[AnyModel, tuple[str, ...]]:
    """The body without the fields that the plugin would ignore, and the names of what was dropped.

    A null or false means the same as leaving the field out, so it does not count as dropped.
    """
    foreign = {
        name
        for name in body.model_fields_set
        if name in CAPABILITY_OF and CAPABILITY_OF[name] not in capabilities
    }
    if not foreign:
        return body, ()
    lost = sorted(name for name in foreign if getattr(body, name) not in (None, False))
    return _only(body, body.model_fields_set - foreign), tuple(lost)


def _only(body: AnyModel, kept: Collection[str]) -> AnyModel:
    """The body with these fields and no others."""
    values = {name: getattr(body, name) for name in kept}
    return cast(AnyModel, body.model_construct(_fields_set=set(kept), **values))


def extension_fields(body: Filtered) -> dict[str, Extension]:
    """The fields of a request that only a plugin with an extension understands.

    A plugin without it would ignore them, and answer with memories that the caller excluded.
    """
    fields: dict[str, Extension] = {}
    for name in body.model_fields_set:
        extension = extension_of(type(body), name)
        if extension is not None and getattr(body, name) not in (None, [], "id"):
            fields[name] = extension
    return fields


def check_extensions(needs: dict[str, Extension], health: HealthResponse) -> None:
    """Raise `NotSupported` unless the plugin lists what each of the named things needs."""
    listed = health.extensions or ()
    for name, extension in needs.items():
        if extension not in listed:
            raise NotSupported(f"{name}: the plugin does not list the extension {extension}")


class Negotiation:
    """Asks `/v1/health` once, then again in the background when the answer is old."""

    def __init__(self, ask: Callable[[], Awaitable[HealthResponse]], refresh: float) -> None:
        self._ask = ask
        self._refresh = refresh
        self._health: HealthResponse | None = None
        self._failure: MemoryPluginError | None = None
        self._asked_at = 0.0
        self._asking: asyncio.Task[None] | None = None

    @property
    def is_known(self) -> bool:
        """Whether the plugin has ever answered."""
        return self._health is not None

    def learn(self, health: HealthResponse) -> None:
        """Store an answer that was received elsewhere."""
        self._health = health
        self._asked_at = time.monotonic()

    async def health(self) -> HealthResponse:
        """The last known health of the plugin; raises if it has never answered."""
        if self._health is None:
            # Shielded: others may wait for the same answer.
            await asyncio.shield(self._start_asking())
            if self._health is None:
                raise self._failure or Unavailable("the plugin did not report its capabilities")
        elif time.monotonic() - self._asked_at >= self._refresh:
            self._start_asking()
        return self._health

    async def aclose(self) -> None:
        """Stop asking."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    def _start_asking(self) -> asyncio.Task[None]:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._learn_from_plugin())
        return self._asking

    async def _learn_from_plugin(self) -> None:
        try:
            self.learn(await self._ask())
        except MemoryPluginError as error:
            self._failure = error
            # Keep the last answer; the next attempt waits as long as after a success.
            self._asked_at = time.monotonic()
