"""Facts that a language model finds, added after the flush has answered.

Questions to the model are stored in the table `questions`, so that a crash does not lose them. If a
memory of the same turn is deleted or edited, its question is deleted, and a late answer is dropped.
"""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from asyncpg import ForeignKeyViolationError

from gateway.batch import Batch
from gateway.flush import Flush
from gateway.locks import Locks
from gateway.models import Models
from gateway.names import SessionName
from gateway.statements import load
from postgres.database import Database


class LateFacts:
    """Asks the model and stores the facts."""

    def __init__(
        self,
        database: Database,
        locks: Locks,
        flush: Flush,
        models: Models,
        redact: Callable[[str], str],
    ) -> None:
        self._database = database
        self._locks = locks
        self._flush = flush
        self._models = models
        self._redact = redact

    @property
    def is_on(self) -> bool:
        return self._models.finds_facts

    async def ask(self, row: Any) -> None:
        """Ask one of the stored questions; without an answer, it is retried later."""
        facts = await self._models.find_facts(row["text"])
        if facts is None:
            await self._database.execute(load("postpone_question"), row["id"])
            return
        async with self._locks.hold(row["session"]):
            await self._keep(row["id"], [self._redact(it) for it in facts])
        await self._flush.run(row["session"], take=False)

    async def _keep(self, question: int, facts: list[str]) -> None:
        row = await self._database.fetchrow(load("find_question"), question)
        if row is None:
            return  # its turn was deleted or edited, or another worker was faster
        name = SessionName(row["user_id"], row["app_id"], row["project_id"], row["name"])
        batch = Batch(uuid4(), name)
        batch.add_facts(facts, row["sent_at"])
        try:
            await self._database.execute(
                load("answer_question"), question, row["session"], batch.id, *batch.arguments()[:6]
            )
        except ForeignKeyViolationError:
            return  # the session has just been deleted
