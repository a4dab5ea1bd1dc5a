"""Memory for one request: its owner, its turn, its memory block and where the block goes.

If anything fails, the result says so and the request is forwarded unchanged.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypeVar

from contract import MemoryPluginError
from postgres.errors import StoreUnavailable
from recall.access import dev_owner
from recall.candidate import Candidate
from recall.configuration import Configuration
from recall.document import Document, NotADocument, Opened
from recall.headers import Wishes
from recall.injection import (
    OPENING,
    STAND_IN,
    Format,
    block_of,
    format_memory_context,
    has_shape,
    plan,
)
from recall.keys import looks_like_key
from recall.retrieval import RetrievalConfig, retrieve
from recall.store import MemoryStore
from recall.tokens import estimate_tokens
from recall.turn import Turn, read_turn
from recall.usage import Usage
from recall.watch import Choice, Glance, KnownKey, Watch

# The share of the time budget that the embedder gets.
_EMBEDDING_SHARE = 0.6
_MAX_TURNS = 10_000
# Longer requests are read in a thread.
_SHORT = 256 * 1024
# How long a caller's key is looked up at least, whatever the time budget of memory: then a key that
# was seen before is taken as it was, but one that was not would have to be refused.
_SEEN_KEY_SECONDS = 0.25
_NEW_KEY_SECONDS = 5.0

_Result = TypeVar("_Result")

log = logging.getLogger(__name__)


@dataclass
class Outcome:
    """The body to send upstream, and what to report in the response."""

    body: bytes = field(repr=False)
    owner: str | None = None
    is_disabled: bool = False
    is_unsure: bool = False  # whether the caller could not be identified
    count: int = 0
    tokens: int = 0
    error: str | None = None
    turn: Turn | None = None
    learns: bool = False


@dataclass(frozen=True)
class _Ahead:
    """A search that was started early, and the owner's mark at that time."""

    owner: str
    mark: str
    found: asyncio.Task[list[Candidate]]


class Recollection:
    """Identifies callers, and adds their memories to requests."""

    def __init__(self, store: MemoryStore, watch: Watch, usage: Usage, *, dev_auth: bool) -> None:
        self._store = store
        self._watch = watch
        self._usage = usage
        self._dev_auth = dev_auth
        self._keeping: set[asyncio.Task[None]] = set()
        self._turns: OrderedDict[bytes, None] = OrderedDict()

    async def who(self, token: str | None) -> KnownKey | None:
        """The key for a token; None if it is unknown.

        Raises `StoreUnavailable` if the token was never seen and cannot be looked up.
        """
        if token is None:
            return None
        if (owner := self._dev_owner(token)) is not None:
            return KnownKey(owner, disabled=False)
        if not looks_like_key(token):
            return None  # whatever PostgreSQL says, and even if it says nothing
        return await self._who_within(token, self._key_seconds(token))

    async def identify(self, outcome: Outcome, token: str | None) -> None:
        """Find the owner of a request that needs no memories."""
        try:
            outcome.owner, outcome.is_disabled = _owner(await self.who(token))
        except StoreUnavailable:
            outcome.is_unsure = True

    async def apply(
        self,
        body: bytes,
        format: Format,
        token: str | None,
        wishes: Wishes,
    ) -> Outcome:
        """The request with its memories, or unchanged."""
        outcome = Outcome(body)
        needs_nothing = wishes.skips_injection and wishes.skips_extraction
        if token is None or needs_nothing or not self._may_be_known(token):
            await self.identify(outcome, token)
            return outcome
        document = await _document(body, format)
        if document is None:
            await self.identify(outcome, token)
            return outcome
        guess = self._guess(token)
        outcome.turn = await _turn(document, format, guess, wishes)
        # Reading a long request is not part of the time: it has to be read in any case.
        started = asyncio.get_running_loop().time()
        ahead = self._search_ahead(guess, outcome.turn, document, wishes)
        try:
            async with asyncio.timeout(self._seconds()) as limit:
                glance = await self._look(outcome, guess, document, format, token, wishes)
                if outcome.owner is None or outcome.is_disabled:
                    return outcome
                configuration = await self._watch.configuration(glance)
                limit.reschedule(started + configuration.retrievalBudgetMs / 1000)
                outcome.learns = configuration.extracts and not wishes.skips_extraction
                if configuration.injects and not wishes.skips_injection:
                    await self._inject(
                        outcome, document, format, wishes, configuration, glance, ahead
                    )
        except TimeoutError as error:
            await self._give_up(outcome, token, wishes, started, error, "timeout")
        except (MemoryPluginError, StoreUnavailable) as error:
            await self._give_up(outcome, token, wishes, started, error, "plugin")
        finally:
            if ahead is not None:
                ahead.found.cancel()
        return outcome

    async def aclose(self) -> None:
        """Wait until all choices are stored."""
        await asyncio.sleep(0)  # the last request may not have stored its choice yet
        await asyncio.gather(*self._keeping, return_exceptions=True)

    async def _look(
        self,
        outcome: Outcome,
        guess: str | None,
        document: Document,
        format: Format,
        token: str,
        wishes: Wishes,
    ) -> Glance:
        """Find the owner and what was chosen for the turn, usually with one query."""
        glance = await self._watch.look(guess, outcome.turn.digest if outcome.turn else None)
        key = (
            KnownKey(guess, disabled=False)
            if guess is not None and self._dev_owner(token) == guess
            else await self._known(token, glance)
        )
        outcome.owner, outcome.is_disabled = _owner(key)
        if outcome.owner is not None and outcome.owner != guess:
            outcome.turn = await _turn(document, format, outcome.owner, wishes)
            glance = await self._watch.look(outcome.owner, outcome.turn.digest)
        return glance

    async def _inject(
        self,
        outcome: Outcome,
        document: Document,
        format: Format,
        wishes: Wishes,
        configuration: Configuration,
        glance: Glance,
        ahead: _Ahead | None,
    ) -> None:
        if outcome.owner is None or outcome.turn is None or OPENING in document.text:
            return
        mark = glance.mark(configuration.scope)
        choice = glance.choice if glance.seen == mark else None
        self._turns[outcome.turn.digest] = None
        while len(self._turns) > _MAX_TURNS:
            self._turns.popitem(last=False)
        # Done while the search runs, so that only the block has to be inserted afterwards.
        opened = await _aside(
            len(document.text), partial(_opened, document, format, wishes, configuration)
        )
        found: list[Candidate] | None = None
        if choice is None:
            # The mark is the same as before the search, so its result is still valid.
            if ahead is not None and (ahead.owner, ahead.mark) == (outcome.owner, mark):
                found = await ahead.found
            else:
                found = await self._find(outcome.owner, outcome.turn, wishes, configuration)
            choice = _choice(found, configuration)
        if choice.block and opened is not None:
            outcome.body = opened.with_block(choice.block)
            outcome.count = len(choice.ids)
            outcome.tokens = estimate_tokens(choice.block)
        # After the request was sent upstream.
        asyncio.get_running_loop().call_soon(
            self._note, outcome, wishes.session_id, choice, mark, found
        )

    def _note(
        self,
        outcome: Outcome,
        session_id: str,
        choice: Choice,
        mark: str,
        found: list[Candidate] | None,
    ) -> None:
        """Count the use of memories, and store a new choice."""
        if outcome.owner is None or outcome.turn is None:
            return
        if outcome.count:
            self._usage.accessed(choice.ids)
        self._usage.looked(outcome.owner, session_id, found=bool(choice.ids), tokens=outcome.tokens)
        if found is not None:
            task = asyncio.create_task(
                self._watch.keep(outcome.turn.digest, mark, choice, _first_end(found))
            )
            self._keeping.add(task)
            task.add_done_callback(self._keeping.discard)

    def _search_ahead(
        self, owner: str | None, turn: Turn, document: Document, wishes: Wishes
    ) -> _Ahead | None:
        """Start searching before PostgreSQL has answered, for a turn that seems to be new."""
        configuration = self._watch.last_configuration
        if (
            owner is None
            or self._watch.is_suspect
            or turn.digest in self._turns
            or wishes.skips_injection
            or not configuration.injects
            or OPENING in document.text
            or (mark := self._watch.last_mark(owner, configuration.scope)) is None
        ):
            return None
        found = asyncio.create_task(self._find(owner, turn, wishes, configuration))
        found.add_done_callback(_is_failure)
        return _Ahead(owner, mark, found)

    async def _find(
        self, owner: str, turn: Turn, wishes: Wishes, configuration: Configuration
    ) -> list[Candidate]:
        config = retrieval_config(configuration, turn.text, wishes.session_id)
        return (await retrieve(self._store, owner, config)).candidates

    async def _give_up(
        self,
        outcome: Outcome,
        token: str,
        wishes: Wishes,
        started: float,
        error: Exception,
        name: str,
    ) -> None:
        if outcome.owner is None:
            left = started + self._key_seconds(token) - asyncio.get_running_loop().time()
            try:
                if name == "timeout" and left > 0:
                    key = await self._who_within(token, left)
                else:
                    key = self._last_known(token, error)
                outcome.owner, outcome.is_disabled = _owner(key)
            except StoreUnavailable:
                outcome.is_unsure = True
            outcome.learns = self._watch.last_configuration.extracts and not wishes.skips_extraction
        if outcome.owner is not None and not wishes.skips_injection:
            outcome.error = name
        log.warning(
            "a request was forwarded without memory", extra={"reason": type(error).__name__}
        )

    async def _known(self, token: str, glance: Glance) -> KnownKey | None:
        key = await self._watch.key(token, glance)
        if key is None and self._dev_auth and (owner := dev_owner(token)) is not None:
            return KnownKey(owner, disabled=False)
        return key

    async def _who_within(self, token: str, seconds: float) -> KnownKey | None:
        try:
            async with asyncio.timeout(seconds):
                return await self._known(token, await self._watch.look())
        except (TimeoutError, StoreUnavailable) as error:
            return self._last_known(token, error)

    def _last_known(self, token: str, error: Exception) -> KnownKey | None:
        """The key as it was last seen, for when PostgreSQL is unavailable."""
        if isinstance(error, TimeoutError):
            self._watch.timed_out()
        if (owner := self._dev_owner(token)) is not None:
            return KnownKey(owner, disabled=False)
        if not self._watch.has_seen(token):
            raise StoreUnavailable("the API key cannot be looked up") from error
        return self._watch.last_key(token)

    def _guess(self, token: str) -> str | None:
        """The owner as last seen; correct unless the key has changed since."""
        if (owner := self._dev_owner(token)) is not None:
            return owner
        key = self._watch.last_key(token)
        return None if key is None else key.id

    def _may_be_known(self, token: str) -> bool:
        """Whether this can be the token of an owner; clients of others send their own keys."""
        return looks_like_key(token) or self._dev_owner(token) is not None

    def _dev_owner(self, token: str) -> str | None:
        """The owner that a development token stands for; None if it looks like a key."""
        if not self._dev_auth or looks_like_key(token):
            return None
        return dev_owner(token)

    def _seconds(self) -> float:
        return self._watch.last_configuration.retrievalBudgetMs / 1000

    def _key_seconds(self, token: str) -> float:
        """How long to wait for PostgreSQL to identify a caller."""
        if self._dev_owner(token) is not None:
            return 0.0
        least = _SEEN_KEY_SECONDS if self._watch.has_seen(token) else _NEW_KEY_SECONDS
        return max(self._seconds(), least)


def retrieval_config(
    configuration: Configuration, query: str | None, session_id: str
) -> RetrievalConfig:
    """The retrieval config for these settings."""
    return RetrievalConfig(
        max_tokens=configuration.maxTokens,
        strategy=configuration.strategy,
        scope=configuration.scope,
        retention_days=configuration.retentionDays,
        query=None if configuration.strategy == "recent" else query,
        session_id=session_id or None,
        embedding_seconds=configuration.retrievalBudgetMs / 1000 * _EMBEDDING_SHARE,
    )


async def _document(body: bytes, format: Format) -> Document | None:
    try:
        document = await _aside(len(body), partial(Document, body))
    except NotADocument:
        return None
    return document if has_shape(document.value, format) else None


async def _turn(document: Document, format: Format, owner: str | None, wishes: Wishes) -> Turn:
    return await _aside(
        len(document.text), partial(read_turn, document, format, owner or "", wishes.session_id)
    )


def _opened(
    document: Document, format: Format, wishes: Wishes, configuration: Configuration
) -> Opened | None:
    """The request, open where the block goes; None if it gets none."""
    edit = plan(
        document.value,
        STAND_IN,
        wishes.provider,
        format=format,
        placement=configuration.placement,
        providers=configuration.providers,
    )
    return None if edit is None else document.opened(edit)


async def _aside(length: int, work: Callable[[], _Result]) -> _Result:
    """The result of work on a request of this length; a long one must not hold up the others."""
    return work() if length <= _SHORT else await asyncio.to_thread(work)


def _owner(key: KnownKey | None) -> tuple[str | None, bool]:
    return (None, False) if key is None else (key.id, key.disabled)


def _choice(found: list[Candidate], configuration: Configuration) -> Choice:
    if len(found) == 1:
        # Several memories were chosen to fit, but a single one may be too long.
        block = format_memory_context([found[0].memory], configuration.effective_max_tokens)
    else:
        block = block_of([one.line for one in found])
    return Choice(block, tuple([one.id for one in found]))


def _first_end(found: list[Candidate]) -> datetime | None:
    return min([one.expires_at for one in found if one.expires_at is not None], default=None)


def _is_failure(task: "asyncio.Task[list[Candidate]]") -> bool:
    """Read the exception of a task that may no longer be awaited, so that it is not logged."""
    return not task.cancelled() and task.exception() is not None
