"""Extracts facts from a conversation and stores them, after the response was sent.

The queue is bounded: on overflow, the oldest lesson is dropped and counted. Failures are logged and
counted, and never delay a request.
"""

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from contract import BadRequest, MemoryPluginError, format_time
from postgres.errors import StoreUnavailable
from recall.extraction import Fact, extract_facts_from_text
from recall.memory import now
from recall.store import Draft, MemoryStore
from recall.turn import storable
from recall.watch import Watch
from serving.metrics import Metrics

QUEUE_LENGTH: Final = 1000
DRAIN_SECONDS: Final = 5.0
# Longer texts are processed in a thread, so that no stream waits for them.
_SHORT = 2000

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Lesson:
    """What was said in one exchange. `turn` identifies the user's turn, which is learned once."""

    owner: str
    session_id: str
    turn: bytes = field(repr=False)
    user_text: str = field(repr=False)
    assistant_text: str | None = field(default=None, repr=False)


class Learner:
    """A queue of lessons, and the worker that stores their facts."""

    def __init__(self, store: MemoryStore, watch: Watch, metrics: Metrics) -> None:
        self._store = store
        self._watch = watch
        self._lessons: deque[Lesson] = deque()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._dropped = metrics.counter("lessons_dropped", "Lessons dropped from a full queue.")
        self._failed = metrics.counter("lessons_failed", "Lessons or facts that were not stored.")
        self._facts = metrics.counter("facts_stored", "Facts stored from conversations.")

    def add(self, lesson: Lesson) -> None:
        """Queue a lesson; drops the oldest if the queue is full."""
        if len(self._lessons) >= QUEUE_LENGTH:
            self._lessons.popleft()
            self._dropped.inc()
        self._lessons.append(lesson)
        self._idle.clear()
        self._wake.set()

    async def run(self) -> None:
        """Learn until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._lessons:
                await self._learn(self._lessons.popleft())
            self._idle.set()

    async def drain(self) -> None:
        """Wait until the queue is empty, for at most five seconds."""
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._idle.wait()
        except TimeoutError:
            log.warning("stopped before learning was complete", extra={"left": len(self._lessons)})

    async def _learn(self, lesson: Lesson) -> None:
        try:
            facts = await self._facts_of(lesson)
            if facts:
                await self._keep([_draft(lesson, fact) for fact in facts])
        except (MemoryPluginError, StoreUnavailable) as error:
            self._refused(error)
        except Exception as error:  # noqa: BLE001 - the next lesson may still work
            self._failed.inc()
            log.error("learning failed", extra={"reason": type(error).__name__})

    async def _keep(self, drafts: list[Draft]) -> None:
        """Store facts together; if one is refused, each by itself."""
        try:
            await self._store.put(drafts, source="runtime")
        except BadRequest:
            if len(drafts) == 1:
                raise
        else:
            self._facts.inc(len(drafts))
            return
        for draft in drafts:
            try:
                await self._store.put([draft], source="runtime")
            except BadRequest as error:
                self._refused(error)
            else:
                self._facts.inc()

    def _refused(self, error: Exception) -> None:
        self._failed.inc()
        log.warning("a learned fact was not stored", extra={"reason": type(error).__name__})

    async def _facts_of(self, lesson: Lesson) -> list[Fact]:
        """The facts of both texts; the user's own win over the assistant's."""
        facts: dict[str, Fact] = {}
        if lesson.assistant_text:
            said = storable(lesson.assistant_text)
            facts |= {fact.key: fact for fact in await _extract(said, "assistant")}
        if lesson.user_text:
            own = await _extract(lesson.user_text, "user")
            if own and await self._watch.claim(lesson.turn):
                facts |= {fact.key: fact for fact in own}
            else:
                # Already stored in this turn, so the assistant's repetition adds nothing.
                facts = {
                    key: fact for key, fact in facts.items() if key not in {it.key for it in own}
                }
        return list(facts.values())


async def _extract(text: str, speaker: Any) -> list[Fact]:
    if len(text) <= _SHORT:
        return extract_facts_from_text(text, speaker)
    return await asyncio.to_thread(extract_facts_from_text, text, speaker)


def _draft(lesson: Lesson, fact: Fact) -> Draft:
    return Draft(
        api_key_id=lesson.owner,
        key=fact.key,
        content=fact.content,
        type=fact.type,
        session_id=lesson.session_id or None,
        metadata={
            "category": fact.category,
            "polarity": fact.polarity,
            "speaker": fact.speaker,
            "source": "user_message" if fact.speaker == "user" else "llm_response",
            "extractedAt": format_time(now()),
        },
    )
