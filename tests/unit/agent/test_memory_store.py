"""`MEMORY.md` and `USER.md`: what is stored, what is refused, and what stays as it was."""

import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import CuratedMemoryError, MemoryService, MemorySnapshot, MemoryStore

Change = Callable[[], None]


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    return tmp_path / "memory" / "MEMORY.md"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_entries_are_separated_by_a_line(store: MemoryStore, tmp_path: Path) -> None:
    store.add("memory", "Deploys on Fridays.")
    store.add("memory", "Uses two lines\nin one entry.")
    store.add("user", "Is called Ada.")
    folder = tmp_path / "memory"
    text = "Deploys on Fridays.\n§\nUses two lines\nin one entry."
    assert (folder / "MEMORY.md").read_text() == text
    assert (folder / "USER.md").read_text() == "Is called Ada."
    assert store.entries("memory") == ["Deploys on Fridays.", "Uses two lines\nin one entry."]
    assert store.entries("user") == ["Is called Ada."]
    assert names(folder) == ["MEMORY.md", "USER.md"]


def test_without_files_there_are_no_entries_and_none_are_created(
    store: MemoryStore, tmp_path: Path
) -> None:
    assert store.entries("memory") == []
    assert MemoryService(store).snapshot() == MemorySnapshot(memory=(), user=())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", []),
        ("\n \n", []),
        ("# Notes\n\n- tea\n- milk\n", ["# Notes\n\n- tea\n- milk"]),
        ("a\n§\nb", ["a", "b"]),
        ("§\na\n§\n\n§\nb\n§\n", ["a", "b"]),
        ("a\r\n§\r\nb\r\n", ["a", "b"]),
        ("\ufeffa\r\n§\r\nb\r\n", ["a", "b"]),
        ("\ufeff§\na", ["a"]),
        ("a\n  §  \nb", ["a", "b"]),
        ("costs 5§ or §6\n§§\nb", ["costs 5§ or §6\n§§\nb"]),
    ],
)
def test_what_people_write_is_understood(
    store: MemoryStore, memory: Path, text: str, entries: list[str]
) -> None:
    memory.write_bytes(text.encode())
    assert store.entries("memory") == entries


def test_the_limit_is_on_the_whole_file(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path, memory_limit=10, user_limit=5)
    store.add("memory", "1234")
    store.add("memory", "678")  # 4 + 3 for the separator + 3
    assert len((tmp_path / "MEMORY.md").read_text()) == 10
    changes: list[Change] = [
        lambda: store.add("memory", "x"),
        lambda: store.replace("memory", "678", "6789"),
        lambda: store.add("user", "123456"),
    ]
    for change in changes:
        with pytest.raises(CuratedMemoryError, match=r"may have \d+\. Merge or remove entries"):
            change()
    assert store.entries("memory") == ["1234", "678"]
    assert not (tmp_path / "USER.md").exists()
    store.replace("memory", "678", "987")
    store.add("user", "éßあ😀5")
    assert store.entries("user") == ["éßあ😀5"]


def test_a_file_that_people_made_too_long_can_become_shorter(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("a" * 50 + "\n§\n" + "b" * 50)
    store = MemoryStore(tmp_path, memory_limit=10)
    with pytest.raises(CuratedMemoryError):
        store.add("memory", "x")
    store.replace("memory", "aaa", "a" * 20)
    store.remove("memory", "bbb")
    assert store.entries("memory") == ["a" * 20]


def test_the_default_limits(store: MemoryStore) -> None:
    store.add("memory", "m" * 4000)
    store.add("user", "u" * 2000)
    for target, length in (("memory", 4001), ("user", 2001)):
        with pytest.raises(CuratedMemoryError):
            store.replace(target, "mmm" if target == "memory" else "uuu", "x" * length)


def test_an_existing_entry_is_not_added_again(store: MemoryStore, memory: Path) -> None:
    store.add("memory", "Likes tea.")
    before = memory.stat()
    store.add("memory", "  Likes\u200b tea.\n")
    assert store.entries("memory") == ["Likes tea."]
    assert memory.stat().st_mtime_ns == before.st_mtime_ns
    store.add("memory", "Likes milk.")
    store.replace("memory", "milk", "Likes tea.")
    assert store.entries("memory") == ["Likes tea."]


def test_replace_and_remove_accept_part_of_one_entry(store: MemoryStore) -> None:
    for entry in ("Likes green tea.", "Lives in Oslo.", "Works at night."):
        store.add("memory", entry)
    store.replace("memory", "Oslo", "Lives in Bergen.")
    store.remove("memory", "green")
    assert store.entries("memory") == ["Lives in Bergen.", "Works at night."]
    store.remove("memory", "Bergen")
    store.remove("memory", "night")
    assert store.entries("memory") == []
    store.add("memory", "A new one.")
    assert store.entries("memory") == ["A new one."]


@pytest.mark.parametrize(
    ("piece", "told"),
    [
        ("coffee", "No entry has"),
        ("likes", "No entry has"),
        ("Likes", "2 entries have"),
        ("", "old_text is blank"),
        (" \n\u200b", "old_text is blank"),
    ],
)
def test_a_part_of_no_entry_or_of_several_is_refused(
    store: MemoryStore, memory: Path, piece: str, told: str
) -> None:
    store.add("memory", "Likes tea.")
    store.add("memory", "Likes milk.")
    before = memory.read_bytes()
    changes: list[Change] = [
        lambda: store.replace("memory", piece, "x"),
        lambda: store.remove("memory", piece),
    ]
    for change in changes:
        with pytest.raises(CuratedMemoryError, match=told):
            change()
    assert memory.read_bytes() == before


@pytest.mark.parametrize("content", ["", "  ", "\n\t", "\u200b\ufeff", "\x00\x1b"])
def test_blank_content_is_refused(store: MemoryStore, content: str) -> None:
    store.add("memory", "Likes tea.")
    changes: list[Change] = [
        lambda: store.add("memory", content),
        lambda: store.replace("memory", "tea", content),
    ]
    for change in changes:
        with pytest.raises(CuratedMemoryError, match="content is blank"):
            change()
    assert store.entries("memory") == ["Likes tea."]


@pytest.mark.parametrize(
    "content", ["§", "a\n§\nb", "a\n § \nb", "a\n\u200b§\u200d\nb", "a\u2028§\u2028b"]
)
def test_a_separator_in_the_content_is_refused(store: MemoryStore, content: str) -> None:
    with pytest.raises(CuratedMemoryError, match="separates entries"):
        store.add("memory", content)
    assert store.entries("memory") == []


def test_another_target_is_refused(store: MemoryStore) -> None:
    changes: list[Change] = [
        lambda: store.add("notes", "x"),
        lambda: store.replace("../USER", "x", "y"),
        lambda: store.remove("MEMORY.md", "x"),
    ]
    for change in changes:
        with pytest.raises(CuratedMemoryError, match="target must be one of memory, user"):
            change()


def test_what_people_wrote_meanwhile_stays(store: MemoryStore, memory: Path) -> None:
    store.add("memory", "From the agent.")
    memory.write_text("# By hand\r\n\r\n  indented\n§\nFrom the agent.\n", newline="")
    store.add("memory", "One more.")
    text = memory.read_bytes().decode()
    assert text == "# By hand\r\n\r\n  indented\n§\nFrom the agent.\n§\nOne more."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("custom   spacing  \n\n§", "custom   spacing  \n\n§\nNew."),
        ("custom   spacing  \n\n", "custom   spacing  \n\n§\nNew."),
        ("\n\n  a\t\n § \n\n\nb\n\n\n§\n\n", "\n\n  a\t\n § \n\n\nb\n\n\n§\n\nNew."),
        ("§\n§\na", "§\n§\na\n§\nNew."),
        ("\ufeffa\r\n§\r\nb\r\n", "\ufeffa\r\n§\r\nb\r\n§\nNew."),
        ("a\n§ ", "a\n§ \nNew."),
        ("\n \n", "New."),
        ("\ufeff", "New."),
    ],
)
def test_an_addition_leaves_the_rest_of_the_file_as_it_is(
    store: MemoryStore, memory: Path, before: str, after: str
) -> None:
    memory.write_bytes(before.encode())
    entries = store.entries("memory")
    store.add("memory", "New.")
    assert memory.read_bytes().decode() == after
    assert store.entries("memory") == [*entries, "New."]


BY_HAND = "\ufeff\n  one  \n\n§\r\n\ttwo\r\n\r\n § \n\nthree  \n"


@pytest.mark.parametrize(
    ("old_text", "after"),
    [
        ("one", "\ufeff\n  New.  \n\n§\r\n\ttwo\r\n\r\n § \n\nthree  \n"),
        ("two", "\ufeff\n  one  \n\n§\r\n\tNew.\r\n\r\n § \n\nthree  \n"),
        ("three", "\ufeff\n  one  \n\n§\r\n\ttwo\r\n\r\n § \n\nNew.  \n"),
    ],
)
def test_a_replacement_leaves_the_rest_of_the_file_as_it_is(
    store: MemoryStore, memory: Path, old_text: str, after: str
) -> None:
    memory.write_bytes(BY_HAND.encode())
    store.replace("memory", old_text, "New.")
    assert memory.read_bytes().decode() == after


@pytest.mark.parametrize(
    ("before", "old_text", "after"),
    [
        (BY_HAND, "one", "\ufeff\ttwo\r\n\r\n § \n\nthree  \n"),
        (BY_HAND, "two", "\ufeff\n  one  \n\n§\r\n\nthree  \n"),
        (BY_HAND, "three", "\ufeff\n  one  \n\n§\r\n\ttwo\r\n\r\n"),
        ("a  \n§\nb", "b", "a  "),
        ("a  \n§\nb\n", "b", "a  \n"),
        ("§\na\n§\n", "a", ""),
    ],
)
def test_a_removal_leaves_the_rest_of_the_file_as_it_is(
    store: MemoryStore, memory: Path, before: str, old_text: str, after: str
) -> None:
    memory.write_bytes(before.encode())
    entries = store.entries("memory")
    store.remove("memory", old_text)
    assert memory.read_bytes().decode() == after
    assert store.entries("memory") == [it for it in entries if it != old_text]


def test_a_file_that_is_not_utf8_is_left_alone(store: MemoryStore, memory: Path) -> None:
    memory.write_bytes(b"caf\xe9 au lait\n\xc2\xa7\ntea")
    changes: list[Change] = [
        lambda: store.add("memory", "x"),
        lambda: store.replace("memory", "tea", "x"),
        lambda: store.remove("memory", "tea"),
    ]
    for change in changes:
        with pytest.raises(CuratedMemoryError, match=r"MEMORY\.md is not UTF-8"):
            change()
    assert memory.read_bytes() == b"caf\xe9 au lait\n\xc2\xa7\ntea"
    assert MemoryService(store).snapshot().memory == ("caf\ufffd au lait", "tea")


def test_a_new_file_is_private_and_the_mode_of_an_old_one_stays(
    store: MemoryStore, memory: Path
) -> None:
    store.add("memory", "x")
    assert stat.S_IMODE(memory.stat().st_mode) == 0o600
    memory.chmod(0o664)
    store.add("memory", "y")
    assert stat.S_IMODE(memory.stat().st_mode) == 0o664


@pytest.mark.parametrize("exists", [True, False])
def test_a_symlink_is_followed(
    store: MemoryStore, memory: Path, tmp_path: Path, exists: bool
) -> None:
    target = tmp_path / "dotfiles" / "notes.md"
    if exists:
        target.parent.mkdir()
        target.write_text("By hand.")
    memory.symlink_to(target)
    store.add("memory", "x")
    assert memory.is_symlink()
    assert target.read_text() == ("By hand.\n§\nx" if exists else "x")
    assert names(target.parent) == ["notes.md"]


def test_what_a_killed_writer_left_is_removed(store: MemoryStore, memory: Path) -> None:
    (memory.parent / ".MEMORY.md.tmp").write_text("half of a fi")
    store.add("memory", "x")
    assert names(memory.parent) == ["MEMORY.md"]
    assert memory.read_text() == "x"


def test_a_left_over_symlink_is_not_written_through(
    store: MemoryStore, memory: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (memory.parent / ".MEMORY.md.tmp").symlink_to(victim)
    store.add("memory", "x")
    assert victim.read_text() == "precious"
    assert memory.read_text() == "x"


def test_a_disk_error_is_a_refusal(store: MemoryStore, memory: Path) -> None:
    memory.mkdir()
    with pytest.raises(CuratedMemoryError, match=r"MEMORY\.md could not be used: Is a directory"):
        store.add("memory", "x")


def test_a_snapshot_of_an_unreadable_file_is_empty_with_a_warning(
    store: MemoryStore, memory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory.mkdir()
    store.add("user", "Is called Ada.")
    assert MemoryService(store).snapshot() == MemorySnapshot(memory=(), user=("Is called Ada.",))
    [record] = caplog.records
    assert (record.name, record.levelname) == ("agent", "WARNING")


def test_writers_in_many_threads_lose_nothing(store: MemoryStore, memory: Path) -> None:
    numbers = range(60)

    def write(some: range) -> None:
        own = MemoryStore(memory.parent)
        for number in some:
            own.add("memory", f"note {number:02}")

    threads = [threading.Thread(target=write, args=(numbers[at::6],)) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(store.entries("memory")) == [f"note {number:02}" for number in numbers]


def test_a_snapshot_is_frozen(store: MemoryStore) -> None:
    store.add("memory", "before")
    service = MemoryService(store)
    snapshot = service.snapshot()
    store.add("memory", "after")
    assert snapshot.memory == ("before",)
    assert "after" not in snapshot.text
    assert service.snapshot().memory == ("before", "after")
    assert service.store is store


def test_the_text_of_a_snapshot() -> None:
    assert MemorySnapshot(memory=(), user=()).text == ""
    both = MemorySnapshot(memory=("m1", "m2"), user=("u1",)).text
    assert all(entry in both for entry in ("MEMORY.md", "m1\n§\nm2", "USER.md", "u1"))
    assert "USER.md" not in MemorySnapshot(memory=("m1",), user=()).text
    assert "MEMORY.md" not in MemorySnapshot(memory=(), user=("u1",)).text
