"""A plugin under test: connected, identified, safe to test, and cleaned up afterwards."""

import asyncio
import random
import re
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from contract.address import Address
from harness.check import Check, find_check
from harness.curl import Caller, body_of, repeat
from harness.errors import Failure, HarnessError, Unreachable
from harness.exchange import NoAnswer, Recorder, Request, Wire
from harness.ledger import Ledger
from harness.report import Outcome, Plugin, Result
from harness.roots import roots_of
from harness.settings import Settings
from harness.target import Target, connect, describe
from harness.trial import Trial

SAFETY = "safety.deletes-what-it-made"
_HEALTH = Request("GET", "/v1/health", None)
_SHOWN = 300
_BAD_REQUEST, _CREATED = 400, 201
# The dimensions of common models.
_COMMON_DIMENSIONS = (384, 512, 768, 1024, 1536, 2048, 3072)


class Session:
    """Runs checks, in any order and concurrently, and returns a Result for each."""

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
        self._attempts: dict[str, asyncio.Task[tuple[Result, Failure | None]]] = {}
        self.dimension = settings.dimension

    @property
    def run(self) -> str:
        """The part of the namespaces' names that identifies this run."""
        return self._ledger.run

    async def prove_safety(self) -> Result:
        """Test first whether the harness can delete what it creates; stop if it cannot."""
        check = find_check(SAFETY)
        assert check is not None  # noqa: S101 (the registry is ours)
        await self._ledger.write_down()
        self.proof, _ = await self._try(check)
        return self.proof

    async def find_dimension(self) -> None:
        """Find the dimension of a plugin that supports only one, from its error or by trying."""
        if self.dimension is not None or "embedding" not in self._claims():
            return
        if self.proof is None or self.proof.outcome != "pass" or self._ledger.no_memories:
            return
        wire = Recorder(self._wire, self.settings.timeout)
        name = self._ledger.name()
        path = f"/v1/namespaces/{name}"
        try:
            await wire.send(Request("PUT", path, body_of({"kind": "custom"})))
            refused = await wire.send(_embedded(path, 3))
            if refused.status != _BAD_REQUEST or b"embedding" not in refused.body:
                return
            said = [int(number) for number in re.findall(rb"\d{1,5}", refused.body)]
            for dimension in dict.fromkeys([*said, *_COMMON_DIMENSIONS]):
                if 2 <= dimension != 3:
                    answer = await wire.send(_embedded(path, dimension))
                    if answer.status == _CREATED:
                        self.dimension = dimension
                        return
        except NoAnswer:
            return
        finally:
            await self._ledger.remove({name})

    async def attempt(self, check: Check) -> Result:
        """Run one check, if possible and allowed; what the plugin does wrong is in the Result."""
        if check.id == SAFETY and self.proof is not None:
            return self.proof
        found, failure = await self._attempted(check)
        if failure is None:
            return found
        blocking = [
            root for root in roots_of(check.id, failure.rests_on) if await self._fails(root)
        ]
        if not blocking:
            return found
        return found.model_copy(
            update={
                "outcome": "blocked",
                "blocked_by": blocking,
                "message": f"cannot be judged until {' and '.join(blocking)} passes",
            }
        )

    async def _fails(self, check_id: str) -> bool:
        check = find_check(check_id)
        if check is None:
            return False
        found, _ = await self._attempted(check)
        return found.outcome == "fail"

    async def _attempted(self, check: Check) -> tuple[Result, Failure | None]:
        """Run the check once, however often its result is needed."""
        if check.id not in self._attempts:
            self._attempts[check.id] = asyncio.create_task(self._attempt(check))
        return await self._attempts[check.id]

    async def _attempt(self, check: Check) -> tuple[Result, Failure | None]:
        missing = [name for name in check.claims if name not in self._claims()]
        if missing:
            message = f"the plugin does not claim {' and '.join(missing)}"
            return result(check, "unsupported", message=message), None
        if reason := self.settings.excludes(check):
            return result(check, "excluded", message=reason), None
        if self.proof is None or self.proof.outcome != "pass":
            message = "not run: what it makes could not be deleted"
            return result(check, "error", message=message), None
        async with self._slots:
            if self.gone:
                return result(check, "error", message=f"not run: {self.gone}"), None
            await self._ledger.write_down()
            return await self._try(check)

    async def close(self) -> None:
        """Delete every namespace that is still there."""
        self.left_behind = await self._ledger.close()

    def _claims(self) -> list[str]:
        return self.plugin.capabilities + self.plugin.extensions

    async def _try(self, check: Check) -> tuple[Result, Failure | None]:
        wire = Recorder(self._wire, self.settings.timeout)
        rng = random.Random(f"{self.settings.seed} {check.id}")  # noqa: S311 (not for secrets)
        trial = Trial(
            wire,
            self._ledger,
            self._claims(),
            self.settings,
            rng,
            self._slots,
            self.plugin.url,
            self.dimension,
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
                return self._result(check, "error", start, wire, self.gone), None
            failure = Failure("an answer", str(error))
        except Exception as error:  # noqa: BLE001 (the harness' own mistakes are reported too)
            place = traceback.extract_tb(error.__traceback__)[-1]
            message = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
            return self._result(check, "error", start, wire, message), None
        finally:
            await self._ledger.remove(trial.names)
        if failure is not None:
            outcome: Outcome = "fail" if check.level == "must" else "warn"
            return self._result(check, outcome, start, wire, None, failure), failure
        if trial.warnings:
            return self._result(check, "warn", start, wire, "; ".join(trial.warnings)), None
        return self._result(check, "pass", start, wire, "; ".join(trial.notes) or None), None

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
            curl=[]
            if outcome == "pass"
            else repeat(wire.exchanges, self._caller, wire.waits, wire.commands),
        )

    async def _answers(self) -> bool:
        try:
            await Recorder(self._wire, self.settings.timeout).send(_HEALTH)
        except NoAnswer:
            return False
        return True


def _embedded(path: str, dimension: int) -> Request:
    """A write with an embedding of this dimension."""
    body = {"content": "x", "kind": "fact", "source": "agent", "embedding": [1.0] * dimension}
    return Request("POST", f"{path}/memories", body_of(body))


@asynccontextmanager
async def open_session(target: Target, settings: Settings) -> AsyncIterator[Session]:
    """Connect, identify the plugin, prove safety; delete everything at the end in any case."""
    async with connect(target, settings.token) as wire:
        plugin = await identify(Recorder(wire, settings.timeout), describe(target))
        session = Session(wire, target, plugin, settings)
        try:
            await session.prove_safety()
            await session.find_dimension()
            yield session
        finally:
            await session.close()


async def identify(wire: Recorder, url: str) -> Plugin:
    """What the plugin says about itself, or Unreachable with a helpful message."""
    try:
        answer = await wire.send(_HEALTH)
    except NoAnswer as error:
        raise Unreachable(f"no memory plugin responds at {url}: {error}. Is it running?") from None
    try:
        body = answer.json
    except HarnessError:
        body = None
    if not isinstance(body, dict) or not {"status", "capabilities"} & body.keys():
        if broke := wire.why_it_broke():
            raise Unreachable(f"{url} broke on GET /v1/health: {broke[:_SHOWN]}")
        raise Unreachable(
            f"something answers at {url}, but it is not a memory plugin:"
            f" GET /v1/health gave {answer.shown[:120]!r}. Is the address right?"
        )
    if answer.status == 503:
        raise Unreachable(
            f"the plugin at {url} reports that its store is down ({answer.shown[:120]!r});"
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
    """The Result of a check, with only the fields that have a value."""
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
