"""The plugin, with waiting and retries: a bulk tool waits longer than an agent.

A plugin that is busy (429), down (503) or gone is waited for, all workers together, and the
operator is told why. Requests that it refuses are left to the caller. Too long without an answer
ends the run.
"""

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal, TypeVar
from uuid import UUID

from backfill.errors import ConfigurationError, TargetBroken, TargetUnavailable
from backfill.lanes import Lanes
from backfill.mapping import kind_of
from backfill.progress import Reporter
from contract import (
    BatchFailure,
    BatchWrite,
    Breaker,
    ContractViolation,
    Forbidden,
    HealthResponse,
    ListRequest,
    Memory,
    MemoryClient,
    MemoryDigest,
    MemoryPluginError,
    MemoryWrite,
    MemoryWriteResponse,
    NamespaceUpsert,
    NotFound,
    SearchRequest,
    Unavailable,
)

DEFAULT_TIMEOUT = "60s"
# An agent's timeout for one memory is no guide to a thousand of them.
BULK_TIMEOUT = 60.0
PATIENCE = 120.0
PUTS_AT_ONCE = 8
_TRIES_ON_500 = 3
_MOST_500S_IN_A_ROW = 30
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0

Answer = TypeVar("Answer")


class Target:
    """One plugin and what it offers."""

    def __init__(
        self,
        client: MemoryClient,
        health: HealthResponse,
        reporter: Reporter,
        *,
        max_rps: float | None,
        patience: float,
    ) -> None:
        self.client = client
        self.capabilities = frozenset(health.capabilities)
        self.extensions = frozenset(health.extensions or ())
        self.requests = 0
        self._reporter = reporter
        self._interval = 1 / max_rps if max_rps else 0.0
        self._patience = patience
        self._resume_at = 0.0
        self._next_slot = 0.0
        self._last_remark = ""
        self._500s_in_a_row = 0

    async def ask(self, call: Callable[[], Awaitable[Answer]]) -> Answer:
        """Repeat a call until it is answered.

        Raises refusals, as `contract` does. `Unavailable` is raised only for a 500 that a healthy
        plugin keeps sending: the request itself must cause it.
        """
        failures = 0
        failing_since: float | None = None
        while True:
            await self._wait_for_turn()
            self.requests += 1
            try:
                answer = await call()
            except Unavailable as error:
                failures += 1
                if error.status == 500 and await self._is_healthy():
                    if failures >= _TRIES_ON_500:
                        self._note_500(error)
                        raise
                    await asyncio.sleep(_FIRST_PAUSE)
                    continue
                now = _now()
                failing_since = now if failing_since is None else failing_since
                if now - failing_since >= self._patience:
                    raise TargetUnavailable(
                        f"the plugin has not answered for {now - failing_since:.0f} s ({error});"
                        " run the same command again to continue where it stopped"
                    ) from None
                self._slow_down(error, failures)
            except ContractViolation as error:
                raise TargetBroken(
                    f"the plugin breaks the contract ({error});"
                    " `memory-harness run` shows what is wrong with it"
                ) from None
            except Forbidden as error:
                if error.status == 401:
                    raise ConfigurationError(
                        f"the plugin requires a token ({error}): set MEMORY_PLUGIN_TOKEN"
                    ) from None
                raise
            else:
                self._last_remark = ""
                self._500s_in_a_row = 0
                return answer

    async def batch(self, writes: Sequence[BatchWrite]) -> list[MemoryWriteResponse | BatchFailure]:
        """One result per write, as from `contract`; at least one is not `unavailable`."""

        async def call() -> list[MemoryWriteResponse | BatchFailure]:
            answers = await self.client.batch(writes, timeout=BULK_TIMEOUT)
            if all(is_unavailable(answer) for answer in answers):
                # Not the plugin's words: here they may quote the content.
                raise Unavailable("the plugin accepted none of the writes of a batch")
            return answers

        return await self.ask(call)

    async def write(self, namespace: str, memory: MemoryWrite) -> MemoryWriteResponse:
        """The result of one write, as from `contract`."""
        return await self.ask(lambda: self.client.write(namespace, memory))

    async def put_namespaces(self, names: Iterable[str]) -> None:
        """Create or refresh each, several at a time."""

        async def put(name: str) -> None:
            upsert = NamespaceUpsert(kind=kind_of(name))
            await self._must(lambda: self.client.put_namespace(name, upsert), f"PUT of {name}")

        async with Lanes(PUTS_AT_ONCE) as lanes:
            for name in names:
                await lanes.start(put(name))

    async def search(self, request: SearchRequest) -> list[Memory]:
        """What a search returns."""
        answer = await self._must(lambda: self.client.search(request), "search")
        return answer.memories

    async def pages(
        self, namespaces: Sequence[str], fields: Literal["full", "digest"], size: int
    ) -> AsyncIterator[list[Any]]:
        """Everything in the namespaces, in id order; the next page is read ahead."""

        async def page(cursor: str | None) -> Any:
            request = ListRequest(
                namespaces=list(namespaces), cursor=cursor, limit=size, fields=fields
            )
            return await self._must(
                lambda: self.client.list_page(request, timeout=BULK_TIMEOUT), "list"
            )

        last: Memory | MemoryDigest | None = None
        following = asyncio.create_task(page(None))
        try:
            while True:
                got = await following
                if got.next_cursor is not None:
                    following = asyncio.create_task(page(got.next_cursor))
                for memory in got.memories:
                    if last is not None and memory.id.int <= last.id.int:
                        raise TargetBroken(
                            "the plugin's list is not in id order, or has an id twice:"
                            f" {memory.id} came after {last.id}"
                        )
                    last = memory
                yield got.memories
                if got.next_cursor is None:
                    return
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def first_page(self, namespaces: Sequence[str], size: int) -> list[Memory]:
        """Some memories of the namespaces in full: those with the smallest ids."""
        request = ListRequest(namespaces=list(namespaces), limit=size)
        page = await self._must(
            lambda: self.client.list_page(request, timeout=BULK_TIMEOUT), "list"
        )
        return [memory for memory in page.memories if isinstance(memory, Memory)]

    async def forget(self, namespace: str, id_: UUID) -> None:
        """Delete one memory, unless it is already gone."""

        async def call() -> None:
            with suppress(NotFound):
                await self.client.forget(id_, requested_by_namespace=namespace)

        await self._must(call, "forget")

    async def _must(self, call: Callable[[], Awaitable[Answer]], what: str) -> Answer:
        """A call that a plugin has no reason to refuse."""
        try:
            return await self.ask(call)
        except MemoryPluginError as error:
            raise TargetBroken(
                f"the plugin refuses a {what} with {error.status} ({error});"
                " `memory-harness run` shows whether it conforms"
            ) from None

    async def _is_healthy(self) -> bool:
        try:
            return (await self.client.health()).status == "ok"
        except MemoryPluginError:
            return False

    def _note_500(self, error: Unavailable) -> None:
        """One row may cause a 500; many in succession mean that the plugin is broken."""
        self._500s_in_a_row += 1
        if self._500s_in_a_row > _MOST_500S_IN_A_ROW:
            raise TargetUnavailable(
                f"the plugin answers 500 to everything ({error}); its log says why. When it works"
                " again, run the same command: it continues where it stopped"
            ) from None

    async def _wait_for_turn(self) -> None:
        while True:
            now = _now()
            at = max(self._resume_at, self._next_slot)
            if at <= now:
                self._next_slot = now + self._interval
                return
            await asyncio.sleep(at - now)

    def _slow_down(self, error: Unavailable, failures: int) -> None:
        """Pause all requests: the plugin is busy."""
        pause = min(_FIRST_PAUSE * 2 ** min(failures, 10), _LONGEST_PAUSE)
        pause *= random.uniform(0.5, 1.0)  # noqa: S311 - jitter needs no secrecy
        if error.retry_after is not None:
            # `Retry-After: 0`, again and again, would be a busy loop.
            pause = max(min(error.retry_after, self._patience), _FIRST_PAUSE)
        self._resume_at = max(self._resume_at, _now() + pause)
        remark = f"slowing down: {error} (status {error.status})"
        if remark != self._last_remark:
            self._last_remark = remark
            self._reporter.say(f"{remark}; waiting, up to {self._patience:.0f} s")


@asynccontextmanager
async def open_target(
    url: str,
    reporter: Reporter,
    *,
    request_timeout: str | None,
    max_rps: float | None,
    patience: float,
) -> AsyncIterator[Target]:
    """Connect to a healthy plugin, or raise with a sentence that says why it cannot be used."""
    try:
        client = MemoryClient(
            url,
            timeout=request_timeout or DEFAULT_TIMEOUT,
            attempts=1,
            # Capabilities must not change during a run: what was planned is what is sent.
            refresh=sys.float_info.max,
            breaker=Breaker(failures=sys.maxsize),
        )
    except ValueError as error:
        # The operator sets the timeout in the environment only.
        named = str(error).replace("timeout: ", "MEMORY_PLUGIN_TIMEOUT: ", 1)
        raise ConfigurationError(named) from None
    async with client:
        try:
            health = await client.health()
        except Unavailable as error:
            raise TargetUnavailable(f"the plugin at {url} is not healthy: {error}") from None
        except Forbidden as error:
            raise ConfigurationError(
                f"what answers at {url} requires a token ({error}): set MEMORY_PLUGIN_TOKEN"
            ) from None
        except MemoryPluginError as error:
            raise ConfigurationError(
                f"what answers at {url} is not a memory plugin ({error}); check MEMORY_PLUGIN_URL:"
                " it is the plugin's address without /v1"
            ) from None
        if health.status != "ok":
            raise TargetUnavailable(f"the plugin at {url} reports that it is degraded")
        if not health.version.startswith("1."):
            raise ConfigurationError(
                f"the plugin speaks version {health.version} of the contract, not version 1"
            )
        yield Target(client, health, reporter, max_rps=max_rps, patience=patience)


def is_unavailable(answer: MemoryWriteResponse | BatchFailure) -> bool:
    """Whether the write can be sent again unchanged: the plugin was only unavailable."""
    return isinstance(answer, BatchFailure) and answer.error.code == "unavailable"


def _now() -> float:
    return asyncio.get_running_loop().time()
