"""The messages that this worker has added and no flush of this worker has taken yet.

They are a guess: other workers add and flush, too. The statement that takes them compares their
digests with the buffer, so a wrong guess costs a statement and changes nothing.
"""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from gateway.names import SessionName
from gateway.turns import Message

_MOST_CHARACTERS = 2_000_000
# What a message takes in memory besides its content, in characters.
_OVERHEAD = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Added(NamedTuple):
    """A message as it is stored, in the order of the type `new_message`."""

    digest: bytes
    role: str
    sender_id: str
    timestamp: int
    content: str

    def message(self) -> Message:
        """With its time as the database has it."""
        sent_at = _EPOCH + timedelta(milliseconds=self.timestamp)
        return Message(self.role, self.sender_id, sent_at, self.content)


class Recent:
    """Remembers the messages of the sessions that were added to last."""

    def __init__(self) -> None:
        self._added: OrderedDict[SessionName, list[Added]] = OrderedDict()
        self._size = 0

    def remember(self, session: SessionName, messages: Sequence[Added]) -> None:
        """These were added to the session, all of them new, after what is remembered."""
        self._added.setdefault(session, []).extend(messages)
        self._size += _size(messages)
        while self._size > _MOST_CHARACTERS:
            self.forget(next(iter(self._added)))

    def forget(self, session: SessionName) -> list[Added]:
        """What was remembered."""
        messages = self._added.pop(session, [])
        self._size -= _size(messages)
        return messages


def _size(messages: Sequence[Added]) -> int:
    return sum(len(it.content) + _OVERHEAD for it in messages)
