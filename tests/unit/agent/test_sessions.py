"""The session store: what is stored, what is found, and who may call it."""

import sqlite3
import stat
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from agent import SessionStore, SessionStoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "down" / "sessions.db"


def found(store: SessionStore, query: str, **more: int) -> list[str]:
    return [hit.text for hit in store.search(query, **more)]


def test_messages_are_kept_in_order_and_across_openings(path: Path) -> None:
    store = SessionStore(path)
    one, two = store.create(), store.create("mine")
    assert (two, one != two) == ("mine", True)
    numbers = [
        store.append_message(one, "user", "hello"),
        store.append_message(two, "user", "other"),
        store.append_message(one, "assistant", "hi\n"),
    ]
    assert numbers == sorted(set(numbers))
    store.close()
    again = SessionStore(path)
    assert again.history(one) == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi\n"},
    ]
    assert again.history("unknown") == []
    again.close()
    again.close()


def test_a_session_can_be_continued(path: Path) -> None:
    store = SessionStore(path)
    store.append_message(store.create("mine"), "user", "hello")
    assert store.create("mine") == "mine"
    assert len(store.history("mine")) == 1
    for blank in ("", "  "):
        with pytest.raises(ValueError, match="must not be blank"):
            store.create(blank)
    store.close()


def test_other_roles_are_not_in_the_history(path: Path) -> None:
    store = SessionStore(path)
    for role in ("system", "tool", "user"):
        store.append_message("mine", role, f"from {role}")
    assert store.history("mine") == [{"role": "user", "content": "from user"}]
    store.close()


def test_events_are_hidden(path: Path) -> None:
    store = SessionStore(path)
    payload = {"scope": ["resources"], "status_code": None, "text": "zebra é \ud800"}
    first = store.append_event("mine", "recalled", payload)
    second = store.append_event("mine", "shown", {}, context_visible=True)
    assert first < second
    one, two = store.events("mine")
    assert (one.name, one.payload, one.context_visible) == ("recalled", payload, False)
    assert (two.name, two.payload, two.context_visible) == ("shown", {}, True)
    assert one.created_at <= two.created_at
    assert one.created_at.endswith("Z")
    assert store.history("mine") == []
    assert store.search("zebra") == []
    assert store.search("recalled") == []
    assert store.events("other") == []
    store.close()


def test_a_search_finds_any_of_the_words_in_all_sessions_best_first(path: Path) -> None:
    store = SessionStore(path)
    store.append_message("a", "user", "We deploy the shop on Fridays.")
    store.append_message("b", "assistant", "The shop sells tea.")
    store.append_message("b", "user", "Nothing to see.")
    hit = store.search("deploying the SHOP!")[0]
    assert (hit.session_id, hit.role, hit.text) == ("a", "user", "We deploy the shop on Fridays.")
    assert hit.created_at.endswith("Z")
    assert len(found(store, "shop")) == 2
    assert len(found(store, "shop", limit=1)) == 1
    assert found(store, "shop", limit=0) == []
    assert found(store, "submarine") == []
    store.close()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Ich wohne in Zürich.", "zurich"),
        ("Je préfère le café", "CAFÉ"),
        ("我住在东京的一家旅馆", "东京"),
        ("東京タワーに行きたい", "タワー"),
        ("ฉันชอบชาเขียว", "ชาเขียว"),
        ("나는 서울에 산다", "서울에"),
        ("Я люблю чай", "чай"),
        ("أحب الشاي", "الشاي"),
        ("so good 😀!", "😀"),
        ("is it -> or =>", "=>"),
        ("file_name.py has 3 bugs", "file_name"),
        ("a NUL \x00 inside", "inside"),
    ],
)
def test_any_script_is_found(path: Path, text: str, query: str) -> None:
    store = SessionStore(path)
    store.append_message("a", "user", text)
    store.append_message("a", "user", "something else: 漢字 ก 한국")
    assert found(store, query) == [text]
    store.close()


@pytest.mark.parametrize("word", ["Zürich", "việt", "ガード", "고양이는", "हिन्दी", "مُحَمَّد", "x̂"])
def test_a_word_is_found_however_its_accents_are_encoded(path: Path, word: str) -> None:
    store = SessionStore(path)
    forms = [unicodedata.normalize(form, word) for form in ("NFC", "NFD")]
    for form in forms:
        store.append_message("a", "user", f"-- {form} --")
    for form in forms:
        assert set(found(store, form)) == {f"-- {it} --" for it in forms}
    store.close()


@pytest.mark.parametrize(("text", "other"), [("हिन्दी", "दिन"), ("مُحَمَّد", "حَمَام")])
def test_a_word_with_vowel_signs_is_not_found_by_its_letters(
    path: Path, text: str, other: str
) -> None:
    store = SessionStore(path)
    store.append_message("a", "user", text)
    assert found(store, other) == []
    store.close()


@pytest.mark.parametrize(
    "query",
    ["", "  ", '"', "a AND", "NEAR(", "* OR *", "col:x", "a-b", "'; DROP TABLE messages; --",
     "\x00", "\ud800", "(" * 1000, "word " * 2000,
     " ".join(map(str, range(20000))), "-", "^", "日" * 500],
)  # fmt: skip
def test_no_query_is_an_error(path: Path, query: str) -> None:
    store = SessionStore(path)
    store.append_message("a", "user", "hello")
    assert store.search(query) == []
    assert found(store, "hello") == ["hello"]
    store.close()


def test_half_a_surrogate_pair_is_replaced(path: Path) -> None:
    store = SessionStore(path)
    store.append_message("a", "user", "half \ud800 a pair")
    assert store.history("a")[0]["content"] == "half ? a pair"
    store.close()


def test_an_id_that_cannot_be_stored_is_reported(path: Path) -> None:
    store = SessionStore(path)
    for call in (lambda: store.create("half \ud800"), lambda: store.history("half \ud800")):
        with pytest.raises(SessionStoreError):
            call()
    assert store.create("whole") == "whole"
    store.close()


def test_the_file_is_private_and_in_wal_mode(path: Path) -> None:
    store = SessionStore(path)
    store.append_message("a", "user", "hello")
    for it in path.parent.iterdir():
        assert stat.S_IMODE(it.stat().st_mode) == 0o600
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_any_thread_may_call(path: Path) -> None:
    store = SessionStore(path)

    def work(name: str) -> None:
        for number in range(20):
            store.append_message(name, "user", f"number {number}")
            store.append_event(name, "counted", {"number": number})
            store.search("number")

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(work, [f"t{at}" for at in range(5)]))
    for at in range(5):
        contents = [message["content"] for message in store.history(f"t{at}")]
        assert contents == [f"number {number}" for number in range(20)]
        assert len(store.events(f"t{at}")) == 20
    store.close()


def test_processes_share_the_file_from_its_first_moment(path: Path) -> None:
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from agent import SessionStore
store = SessionStore(sys.argv[1])
for number in range(15):
    store.append_message(sys.argv[2], "user", f"number {number}")
store.close()
"""
    names = [f"p{at}" for at in range(4)]
    started = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in names]
    assert [process.wait(timeout=60) for process in started] == [0] * len(names)
    store = SessionStore(path)
    assert [len(store.history(name)) for name in names] == [15] * len(names)
    store.close()


def test_a_file_that_is_not_a_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    path.write_text("This is not a database, but quite long, so that SQLite looks at it. " * 20)
    with pytest.raises(SessionStoreError, match="not a database"):
        SessionStore(path)
    with pytest.raises(SessionStoreError, match="directory"):
        SessionStore(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SessionStoreError):
        SessionStore(tmp_path / "file" / "sessions.db")


def test_a_file_of_a_newer_version_is_left_alone(path: Path) -> None:
    SessionStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(SessionStoreError, match="newer version"):
        SessionStore(path)


def test_a_closed_store_says_so(path: Path) -> None:
    store = SessionStore(path)
    store.close()
    for call in (
        lambda: store.append_event("a", "x", {}),
        lambda: store.append_message("a", "user", "x"),
        lambda: store.history("a"),
    ):
        with pytest.raises(SessionStoreError):
            call()
