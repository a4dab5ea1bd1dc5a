"""What a journal remembers, and what it forgets."""

from pathlib import Path
from uuid import UUID

import pytest

from backfill.errors import ConfigurationError
from backfill.journal import CHUNK_ROWS, Chunk, Journal, Witness, digest_of, ends_chunk
from tests.unit.backfill.rows import NAMESPACE, item

IDENTITY = {"source": "db/platform", "target": "http://plugin", "selection": "all rows"}
CHUNK = Chunk("abc", 3, [{"id": "1", "reason": "no"}])
WITNESS = Witness(UUID(int=5), "f" * 64)


def opened(
    directory: Path, *, restart: bool = False, identity: dict[str, str] = IDENTITY
) -> Journal:
    return Journal(directory, identity, restart=restart)


def test_what_was_recorded_is_there_after_a_crash(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.record(CHUNK, {NAMESPACE: WITNESS})
    with opened(tmp_path) as journal:
        assert journal.done == {"abc": CHUNK}
        assert journal.witnesses == {NAMESPACE: WITNESS}


def test_a_truncated_line_is_not_done_and_does_not_corrupt_the_next(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.record(CHUNK, {})
        journal.record(Chunk("def", 1, []), {})
    content = journal.path.read_bytes()
    journal.path.write_bytes(content[:-10])
    with opened(tmp_path) as journal:
        assert set(journal.done) == {"abc"}
        journal.record(Chunk("ghi", 1, []), {})
    with opened(tmp_path) as journal:
        assert set(journal.done) == {"abc", "ghi"}


@pytest.mark.parametrize("other", [{"source": "x"}, {"target": "x"}, {"selection": "x"}])
def test_another_source_target_or_selection_has_another_journal(
    tmp_path: Path, other: dict[str, str]
) -> None:
    with opened(tmp_path) as journal:
        journal.record(CHUNK, {})
    with opened(tmp_path, identity=IDENTITY | other) as journal:
        assert journal.done == {}


def test_a_finished_apply_and_a_restart_start_over(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.record(CHUNK, {})
    with opened(tmp_path, restart=True) as journal:
        assert journal.done == {}
        journal.record(CHUNK, {})
        journal.finish()
    with opened(tmp_path) as journal:
        assert journal.done == {}


def test_a_second_concurrent_apply_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(ConfigurationError, match="another memory-backfill"):
        opened(tmp_path)


def test_an_unrelated_file_is_not_used_as_a_journal(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        pass
    journal.path.write_text("hello\n")
    with opened(tmp_path) as journal:
        assert journal.done == {}


def test_a_chunk_is_identified_by_every_row_in_it() -> None:
    chunk = [item(1), item(2)]
    assert digest_of(chunk) == digest_of([item(1), item(2)])
    assert digest_of(chunk) != digest_of([item(1), item(2, "changed")])
    assert digest_of(chunk) != digest_of([item(1)])
    assert digest_of(chunk) != digest_of([item(2), item(1)])


def test_where_a_chunk_ends_depends_on_its_last_row_alone() -> None:
    assert ends_chunk(UUID(int=3 * CHUNK_ROWS), rows=1, size=1)
    assert not ends_chunk(UUID(int=3 * CHUNK_ROWS + 1), rows=CHUNK_ROWS, size=1)


def test_a_chunk_is_bounded_by_rows_and_by_bytes() -> None:
    assert ends_chunk(UUID(int=1), rows=100_000, size=1)
    assert ends_chunk(UUID(int=1), rows=1, size=100_000_000)
