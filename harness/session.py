"""A plugin under test: connected, identified, proven safe, and cleaned up afterwards."""

import asyncio
import random
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from contract.address import Address
from harness.check import Check, find_check
from harness.curl import Caller, repeat
from harness.errors import Failure, HarnessError, Unreachable
from harness.exchange import NoAnswer, Recorder, Request, Wire
from harness.ledger import Ledger
from harness.report import Outcome, Plugin, Result
from harness.settings import Settings
from harness.target import Target, connect, describe
from harness.trial import Trial

SAFETY = "safety.deletes-what-it-made"
_HEALTH = Request("GET", "/v1/health", None)
_SHOWN = 300


class Session:
    """Runs checks, in any order and at the same time, and answers a Result for each."""

    def __init__(self, wire: Wire, target: Target, plugin: Plugin, settings: Settings) -> None:
        self.settings = settings
        self.plugin = plugin
        self.proof: Result | None = None
        self.left_behind: list[str] = []
        self.gone: str | None = None
        self._wire = wire
        self._caller = _caller(target, settings)
        self._ledger = Ledger(Recorder(wire, settings.timeout))
        self._slots = asyncio.Semaphore(settings.parallel)

    @property
    def run(self) -> str:
        """The part of the namespaces' names that is this run's own."""
        return self._ledger.run

    async def prove_safety(self) -> Result:
        """Before anything else: can the harness delete what it makes? It stops if not."""
        check = find_check(SAFETY)
        assert check is not None  # noqa: S101 (the registry is ours)
        await self._ledger.write_down()
        self.proof = await self._try(check)
        return self.proof

    async def attempt(self, check: Check) -> Result:
        """Run one check, if it can and may be run; what the plugin does wrong is in the Result."""
        if check.id == SAFETY and self.proof is not None:
            return self.proof
        missing = [name for name in check.claims if name not in self._claims()]
        if missing:
            return result(
                check, "unsupported", message=f"the plugin does not claim {' and '.join(missing)}"
            )
        if reason := self.settings.excludes(check):
            return result(check, "excluded", message=reason)
        if self.proof is None or self.proof.outcome != "pass":
            return result(check, "error", message="not run: what it makes could not be deleted")
        async with self._slots:
            if self.gone:
                return result(check, "error", message=f"not run: {self.gone}")
            await self._ledger.write_down()
            return await self._try(check)

    async def close(self) -> None:
        """Delete every namespace that is still there."""
        self.left_behind = await self._ledger.close()

    def _claims(self) -> list[str]:
        return self.plugin.capabilities + self.plugin.extensions

    async def _try(self, check: Check) -> Result:
        wire = Recorder(self._wire, self.settings.timeout)
        rng = random.Random(f"{self.settings.seed} {check.id}")  # noqa: S311 (not for secrets)
        trial = Trial(
            wire, self._ledger, self._claims(), self.settings, rng, self._slots, self.plugin.url
        )
        start = time.monotonic()
        try:
            await check.function(trial)
            failure = None
        except Failure as error:
            failure = error
        except NoAnswer as error:
            if not await self._answers():
                self.gone = f"the plugin stopped answering ({error})"
                return self._result(check, "error", start, wire, self.gone)
            failure = Failure("an answer", str(error))
        except Exception as error:  # noqa: BLE001 (the harness' own mistakes are reported too)
            place = traceback.extract_tb(error.__traceback__)[-1]
            message = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
            return self._result(check, "error", start, wire, message)
        finally:
            await self._ledger.remove(trial.names)
        if failure is not None:
            outcome: Outcome = "fail" if check.level == "must" else "warn"
            return self._result(check, outcome, start, wire, None, failure)
        if trial.warnings:
            return self._result(check, "warn", start, wire, "; ".join(trial.warnings))
        return self._result(check, "pass", start, wire)

    def _result(
        self,
        check: Check,
        outcome: Outcome,
        start: float,
        wire: Recorder,
        message: str | None = None,
        failure: Failure | None = None,
    ) -> Result:
        return result(
            check,
            outcome,
            duration_seconds=round(time.monotonic() - start, 3),
            message=message,
            expected=failure.expected if failure else None,
            got=failure.got if failure else None,
            curl=[] if outcome == "pass" else repeat(wire.exchanges, self._caller, wire.waits),
        )

    async def _answers(self) -> bool:
        try:
            await Recorder(self._wire, self.settings.timeout).send(_HEALTH)
        except NoAnswer:
            return False
        return True


@asynccontextmanager
async def open_session(target: Target, settings: Settings) -> AsyncIterator[Session]:
    """Connect, find out who answers, prove safety; delete everything at the end, come what may."""
    async with connect(target, settings.token) as wire:
        plugin = await identify(Recorder(wire, settings.timeout), describe(target))
        session = Session(wire, target, plugin, settings)
        try:
            await session.prove_safety()
            yield session
        finally:
            await session.close()


async def identify(wire: Recorder, url: str) -> Plugin:
    """Who answers at the address, or Unreachable with a sentence that helps."""
    try:
        answer = await wire.send(_HEALTH)
    except NoAnswer as error:
        raise Unreachable(f"no memory plugin answers at {url}: {error}. Is it running?") from None
    try:
        body = answer.json
    except HarnessError:
        body = None
    if not isinstance(body, dict) or not {"status", "capabilities"} & body.keys():
        if broke := wire.why_it_broke():
            raise Unreachable(f"{url} broke on GET /v1/health: {broke[:_SHOWN]}")
        raise Unreachable(
            f"something answers at {url}, but it is no memory plugin:"
            f" GET /v1/health gave {answer.shown[:120]!r}. Is the address right?"
        )
    if answer.status == 503:
        raise Unreachable(
            f"the plugin at {url} says that its store is down ({answer.shown[:120]!r});"
            " start the store and try again"
        )
    return Plugin(
        url=url,
        version=body["version"] if isinstance(body.get("version"), str) else None,
        capabilities=_names(body.get("capabilities")),
        extensions=_names(body.get("extensions")),
        server=answer.headers.get("server"),
    )


def result(check: Check, outcome: Outcome, **shown: Any) -> Result:
    """A Result of a check, with the fields that there is something to show for."""
    return Result(
        id=check.id,
        area=check.area,
        level=check.level,
        needs=list(check.needs),
        sentence=check.sentence,
        outcome=outcome,
        **({"duration_seconds": 0.0} | shown),
    )


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _caller(target: Target, settings: Settings) -> Caller:
    if not isinstance(target, str):
        return Caller("$MEMORY_PLUGIN_URL")
    address = Address.parse(target)
    return Caller(address.url, address.socket, settings.token is not None)
