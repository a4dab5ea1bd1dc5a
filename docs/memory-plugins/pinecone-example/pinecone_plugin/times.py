"""Times as Pinecone can compare them: numbers, in microseconds since 1970."""

from datetime import UTC, datetime, timedelta

NEVER = 10**18  # later than any time that the contract can express
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
    return datetime.now(UTC)


def micros(moment: datetime | None) -> int:
    return NEVER if moment is None else (moment - _EPOCH) // timedelta(microseconds=1)
