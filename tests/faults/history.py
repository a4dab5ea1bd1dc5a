"""The record of a load: each call, each value written, each value seen; and its contradictions.

A write without an id is a separate key, because its id is unknown if its answer is lost. Values are
the contents: every write has a distinct one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from time import perf_counter
from typing import Any, Literal
from zlib import crc32

from tests.faults.atomic_register import AtomicRegister

# acknowledged: 2xx. refused: 4xx, nothing happened. unreachable: no connection, nothing happened.
# unavailable: 503, reset: cut off before the answer, late: past the timeout; these three leave
# open whether the change happened.
Outcome = Literal["acknowledged", "refused", "unreachable", "unavailable", "reset", "late"]


@dataclass(frozen=True, slots=True)
class Call:
    """One request and how it ended; times are from `perf_counter`."""

    action: str
    start: float
    end: float
    outcome: Outcome
    fault: str | None = None


@dataclass(slots=True)
class Change:
    """A write that began; `id` is None until it is known."""

    key: str
    value: str
    namespace: str | None
    id: str | None
    refused: bool = False


@dataclass
class History:
    """Everything that the clients of one load did and saw; append-only."""

    calls: list[Call] = field(default_factory=list)
    repeats: int = 0
    _registers: dict[str, AtomicRegister] = field(default_factory=dict)
    _changes: dict[str, Change] = field(default_factory=dict)
    _keys: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _faults: list[str] = field(default_factory=list)

    def called(
        self, action: str, start: float, outcome: Outcome, fault: str | None = None
    ) -> float:
        """Record a call that ends now, and return the time."""
        end = perf_counter()
        self.calls.append(Call(action, start, end, outcome, fault))
        return end

    def write_begins(
        self, key: str, value: str, namespace: str | None, memory_id: str | None
    ) -> Change:
        """Call it before the request is sent; without a namespace, it is not a memory."""
        self.repeats += value in self._changes
        change = self._changes.setdefault(value, Change(key, value, namespace, memory_id))
        if namespace is not None:
            self._keys[namespace].add(key)
        self._register(key).write_begins(value, perf_counter())
        return change

    def write_ends(self, change: Change, outcome: Outcome, memory_id: str | None = None) -> None:
        """`memory_id` is the id in the answer, if there was one."""
        if outcome == "acknowledged":
            self._register(change.key).write_ends(change.value, perf_counter())
            self._same_id(change, memory_id)
        elif outcome == "refused":
            change.refused = True

    def forget_begins(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._register(key).forget_begins(perf_counter())

    def forget_ends(self, keys: Iterable[str], outcome: Outcome) -> None:
        if outcome == "acknowledged":
            for key in keys:
                self._register(key).forget_ends(perf_counter())

    def keys_of(self, namespace: str) -> frozenset[str]:
        """The keys that were ever written, or tried, in a namespace."""
        return frozenset(self._keys.get(namespace, ()))

    def namespaces(self) -> list[str]:
        """The namespaces that were ever written to."""
        return list(self._keys)

    def saw_value(self, key: str, value: str | None, start: float, end: float) -> None:
        """A key that is not a memory, such as the metadata of a namespace, had this value."""
        if value is not None and value not in self._changes:
            self._faults.append(f"{key} made up: nobody wrote {value}")
        else:
            self._register(key).seen(value, start, end)

    def saw(
        self, rows: Iterable[Mapping[str, Any]], start: float, end: float, whole: str | None = None
    ) -> None:
        """An answer with memories; `whole` is the namespace if all of it was returned."""
        seen: set[str] = set()
        ids: set[str] = set()
        for row in rows:
            change = self._changes.get(row["content"])
            if change is None or change.refused:
                self._faults.append(f"{row['id']} made up: no write of {row['content']} was taken")
                continue
            if str(row["id"]) in ids or change.key in seen:
                self._faults.append(f"{change.key} doubled: twice in one answer")
            ids.add(str(row["id"]))
            seen.add(change.key)
            self._same_id(change, str(row["id"]))
            if {name: row[name] for name in ("kind", "propagation")} != marks(change.value) or (
                row["namespace"] != change.namespace
            ):
                self._faults.append(f"{change.key} half: {change.value} with parts of another")
            self._register(change.key).seen(change.value, start, end)
        if whole is not None:
            for key in self.keys_of(whole) - seen:
                self._register(key).seen(None, start, end)

    def contradictions(self) -> list[str]:
        """Everything the service did that it must never do, in words; empty if all is well."""
        return [*self._faults, *self._bad_calls(), *self._bad_registers()]

    def count(self, outcome: Outcome, *, since: float = 0.0, until: float = inf) -> int:
        """The calls with this outcome that began and ended between the two times."""
        return sum(
            call.outcome == outcome and call.start >= since and call.end <= until
            for call in self.calls
        )

    def _register(self, key: str) -> AtomicRegister:
        return self._registers.setdefault(key, AtomicRegister(key))

    def _same_id(self, change: Change, memory_id: str | None) -> None:
        if change.id is None:
            change.id = memory_id
        elif memory_id is not None and memory_id != change.id:
            self._faults.append(f"{change.key} doubled: it is {change.id} and {memory_id}")

    def _bad_calls(self) -> Iterator[str]:
        for call in self.calls:
            if call.outcome == "late":
                yield f"{call.action} waited {call.end - call.start:.1f} s, past its timeout"
            elif call.fault is not None:
                yield f"{call.action} was answered wrongly: {call.fault}"

    def _bad_registers(self) -> Iterator[str]:
        for register in self._registers.values():
            yield from register.contradictions()


def marks(value: str) -> dict[str, Any]:
    """The other fields of a write with this content, so that a partial write is noticed."""
    kind = ("fact", "summary", "checkpoint")[crc32(value.encode()) % 3]
    return {"kind": kind, "propagation": {"of": value}}
