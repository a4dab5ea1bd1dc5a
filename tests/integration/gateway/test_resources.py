"""Ruling 22: resources."""

import asyncio
import hashlib
import json
import re
from typing import Any

import asyncpg
import httpx
import psutil
import pytest

from gateway.extractor import Extractor
from gateway.resources import Resources
from gateway.statements import load
from tests.integration.gateway import files, people
from tests.integration.gateway.people import Person, checked
from tests.integration.gateway.plugin import Switchboard
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

PAGE = """<html><head><title>Shop</title><style>p {color: red}</style></head><body>
<script>alert("mischief")</script><h1>Green tea</h1>
<p>It is <b>cheap</b> &amp; good.</p></body></html>"""
PAGE_TEXT = "Shop\n\nGreen tea\n\nIt is cheap & good."

READ = [
    ("a.txt", b"Green tea is cheap.", "text/plain", "Green tea is cheap."),
    ("a.txt", b"Green tea is cheap.", None, "Green tea is cheap."),
    ("a.md", b"# Tea\n\nGreen tea is cheap.", None, "# Tea\n\nGreen tea is cheap."),
    ("a.html", PAGE.encode(), "text/html", PAGE_TEXT),
    ("a.HTM", PAGE.encode(), "application/octet-stream", PAGE_TEXT),
    ("a.json", b'{"tea": ["green", 1]}', None, '{\n "tea": [\n  "green",\n  1\n ]\n}'),
    ("a.csv", b"name;price\ntea;5\n", "text/csv", "name, price\ntea, 5"),
    ("a.pdf", files.pdf("Green tea", "is cheap"), None, "Green tea\n\nis cheap"),
    (
        "a.docx",
        files.word("Green tea", "is cheap", table=(("a", "b"), ("c", "d"))),
        files.DOCX,
        "Green tea\n\nis cheap\n\na, b\nc, d",
    ),
    ("a.txt", "Tee für Jörg".encode("latin-1"), "text/plain; charset=iso-8859-1", "Tee für Jörg"),
    ("a.txt", "Tee für Jörg".encode("utf-16"), "text/plain", "Tee für Jörg"),
]


@pytest.mark.parametrize(("name", "content", "kind", "text"), READ)
async def test_ruling_22_known_types_are_read(
    ann: Person, name: str, content: bytes, kind: str | None, text: str
) -> None:
    resource = checked(await ann.upload_file(name, content, kind, title="Tea"), 201)
    assert resource["status"] == "extracted"
    assert resource["chunk_count"] == 1
    exported = (await ann.get(f"/users/{ann.user_id}/export")).text.splitlines()
    [memory] = [it for it in map(json.loads, exported) if it["type"] == "memory"]
    assert memory["text"] == text


async def test_ruling_22_a_resource_has_all_its_fields(ann: Person) -> None:
    content = b"Green tea is cheap."
    made = checked(await ann.upload_file("a.txt", content, "text/plain"), 201)
    assert re.fullmatch(r"r_[0-9a-f]{32}", made["resource_id"])
    assert made == {
        "resource_id": made["resource_id"],
        "session_id": f"resource:{ann.user_id}:{made['resource_id']}",
        "uri": f"resource://{ann.user_id}/{made['resource_id']}",
        "status": "extracted",
        "title": "a.txt",
        "filename": "a.txt",
        "content_type": "text/plain",
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "chunk_count": 1,
        "created_at": made["created_at"],
        "error": None,
    }
    assert checked(await ann.get(f"/resources/{made['resource_id']}"), 200) == made
    assert checked(await ann.get("/resources"), 200) == {"resources": [made], "next_cursor": None}


async def test_ruling_22_the_same_bytes_are_the_same_resource(ann: Person, bob: Person) -> None:
    first = await ann.upload("Green tea")
    assert await ann.upload("Green tea", 200) == first
    named = await ann.upload_file("other.txt", b"Green tea", "text/plain")
    assert checked(named, 200) == first
    assert (await ann.upload("Green tea", app_id="other"))["resource_id"] != first["resource_id"]
    assert (await bob.upload("Green tea"))["resource_id"] != first["resource_id"]
    assert (await ann.delete(f"/resources/{first['resource_id']}")).status_code == 204
    again = await ann.upload("Green tea")
    assert again["resource_id"] != first["resource_id"]
    assert len(await ann.search("tea")) == 1


async def test_ruling_22_uploads_at_the_same_time_are_one_resource(
    store: str, plugin: Switchboard, ann: Person
) -> None:
    async with people.gateway(store, plugin.client()) as other:
        there = Person(other.http, ann.user_id, ann.key)
        answers = await asyncio.gather(
            *(it.post("/resources", text="Green tea") for it in (ann, there) * 3)
        )
    assert sorted(it.status_code for it in answers) == [200] * 5 + [201]
    assert len({it.json()["resource_id"] for it in answers}) == 1
    assert plugin.texts(ann.user_id) == ["Green tea"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.png", "image/png"),
        ("a.txt", "application/zip"),
        ("a.exe", "application/octet-stream"),
        ("noname", None),
        ("a.doc", "application/msword"),
    ],
)
async def test_ruling_22_other_types_are_refused_and_nothing_is_kept(
    ann: Person, name: str, kind: str | None
) -> None:
    answer = await ann.upload_file(name, b"something", kind)
    assert checked(answer, 415)["code"] == "unsupported"
    assert checked(await ann.get("/resources"), 200)["resources"] == []


async def test_ruling_22_empty_files_and_blank_texts_are_refused(ann: Person) -> None:
    checked(await ann.upload_file("a.txt", b"", "text/plain"), 400)
    for text in ("", "  \n", "\ufeff"):
        told = checked(await ann.post("/resources", text=text), 400)
        assert told["message"].startswith("text: ")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", b"  \n "),
        ("a.txt", "\xa0\u2003\n".encode()),
        ("a.txt", " \n".encode("utf-16")),
        ("a.html", b"\n"),
        ("a.json", b"\n"),
        ("a.csv", b"\n"),
    ],
)
async def test_ruling_22_a_blank_text_file_is_refused_like_blank_text(
    ann: Person, name: str, content: bytes
) -> None:
    told = checked(await ann.upload_file(name, content), 400)
    assert told["message"] == "file: must not be blank"
    assert checked(await ann.get("/resources"), 200)["resources"] == []


UNREADABLE = {
    "a broken PDF": ("a.pdf", b"%PDF-1.7 nonsense", "broken"),
    "no PDF at all": ("a.pdf", b"hello", "broken"),
    "an encrypted PDF": ("a.pdf", files.pdf("secret", password="x"), "encrypted"),
    "a PDF without text": ("a.pdf", files.pdf(""), "no text"),
    "a broken document": ("a.docx", b"PK\x03\x04 nonsense", "broken"),
    "an encrypted document": ("a.docx", b"\xd0\xcf\x11\xe0 and so on", "encrypted"),
    "a zip bomb": ("a.docx", files.zip_bomb(), "too large"),
    "broken JSON": ("a.json", b'{"a": ', "JSON"),
    "deep JSON": ("a.json", b"[" * 200_000 + b"]" * 200_000, "nested"),
    "binary data": ("a.txt", b"\x00\x01\xff\xfe\x00", "not text"),
    "only tags": ("a.html", b"<html><script>x</script></html>", "no text"),
}


@pytest.mark.parametrize("what", UNREADABLE)
async def test_ruling_22_what_cannot_be_read_is_reported(ann: Person, what: str) -> None:
    name, content, reason = UNREADABLE[what]
    made = checked(await ann.upload_file(name, content), 201)
    assert made["status"] == "failed"
    assert reason in made["error"]
    assert made["chunk_count"] == 0
    # Tried again, and the same again.
    assert checked(await ann.upload_file(name, content), 200) == made
    assert await ann.search("hello") == []
    assert (await ann.delete(f"/resources/{made['resource_id']}")).status_code == 204


@pytest.mark.parametrize("charset", ["nonsense", "undefined", "idna", "rot13", "utf-16"])
async def test_ruling_22_a_charset_that_does_not_fit_is_reported(ann: Person, charset: str) -> None:
    content = b"xn--\xff.."
    made = checked(await ann.upload_file("a.txt", content, f"text/plain; charset={charset}"), 201)
    assert (made["status"], made["error"]) == (
        "failed",
        "The file is not text in a known encoding.",
    )


async def test_ruling_22_a_file_that_is_read_at_last_has_the_name_and_type_it_was_read_by(
    ann: Person,
) -> None:
    failed = checked(await ann.upload_file("tea.pdf", b"Green tea", title="Broken"), 201)
    again = checked(await ann.upload_file("tea.txt", b"Green tea"), 200)
    assert again == failed | {
        "status": "extracted",
        "title": "tea.txt",
        "filename": "tea.txt",
        "content_type": "text/plain",
        "chunk_count": 1,
        "error": None,
    }


async def test_ruling_22_a_file_that_unpacks_without_end_is_reported(ann: Person) -> None:
    made = checked(await ann.upload_file("a.pdf", files.pdf_bomb()), 201)
    assert made["status"] == "failed"
    assert (await ann.http.get("/health")).json()["status"] == "ok"


async def test_ruling_22_a_pdf_of_10000_pages_is_read_or_reported_while_others_are_served(
    ann: Person, bob: Person
) -> None:
    """A machine that is busy may not have it read within 30 seconds."""
    pages = asyncio.create_task(
        ann.upload_file("long.pdf", files.long_pdf(10_000), "application/pdf")
    )
    served = 0
    while not pages.done():
        await bob.say("chat:1", f"Talk of tea number {served}")
        served += 1
        await asyncio.sleep(0.05)  # most of the processor is for the pages
    assert served > 1
    resource = checked(await pages, 201)
    if resource["status"] == "extracted":
        assert resource["chunk_count"] > 50
        [last] = await ann.search("9999", scope=["resources"])
        assert "page 9999." in last["text"]
    else:
        assert resource["status"] == "failed"
        assert resource["error"].endswith(".")
        assert resource["chunk_count"] == 0
    children = psutil.Process().children(recursive=True)
    assert not [it for it in children if "gateway.documents" in " ".join(_command(it))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


async def test_ruling_22_chunks_end_with_paragraphs_or_sentences(ann: Person) -> None:
    paragraph = " ".join(f"Sentence {number} is about tea." for number in range(50))
    text = "\n\n".join([paragraph] * 5)
    made = await ann.upload(text)
    found = await ann.search("tea", top_k=50)
    assert made["chunk_count"] >= 3
    assert all(len(it["text"]) <= 2000 for it in found)
    assert all(it["text"].endswith("tea.") for it in found)
    assert {it["raw"]["parts"] for it in found} == {made["chunk_count"]}


async def test_ruling_22_without_the_plugin_a_resource_is_pending(
    ann: Person, plugin: Switchboard
) -> None:
    plugin.is_down = True
    made = await ann.upload("Green tea", 202)
    assert (made["status"], made["chunk_count"], made["error"]) == ("pending", 1, None)
    assert (await ann.upload("Green tea", 202))["resource_id"] == made["resource_id"]
    plugin.is_down = False
    await eventually(lambda: ann.search("tea"))
    there = checked(await ann.get(f"/resources/{made['resource_id']}"), 200)
    assert there == made | {"status": "extracted"}
    assert plugin.texts(ann.user_id) == ["Green tea"]


@pytest.mark.parametrize("file", [None, b"Green tea"], ids=["text", "file"])
async def test_ruling_18_an_upload_of_a_user_who_is_deleted_meanwhile_is_unauthorized(
    ann: Person, plugin: Switchboard, monkeypatch: pytest.MonkeyPatch, file: bytes | None
) -> None:
    read = Resources._read

    async def slowly(self: Resources, *arguments: Any) -> tuple[list[str], str | None]:
        assert (await ann.delete(f"/users/{ann.user_id}")).status_code == 204
        return await read(self, *arguments)

    monkeypatch.setattr(Resources, "_read", slowly)
    if file is None:
        await ann.upload("Green tea", 401)
    else:
        checked(await ann.upload_file("a.txt", file), 401)
    assert plugin.spaces(ann.user_id) == []


async def test_ruling_22_a_failed_file_that_is_deleted_while_it_is_read_at_last_is_new(
    ann: Person, store: str
) -> None:
    tea = "Tee für Jörg".encode("latin-1")
    failed = checked(await ann.upload_file("a.txt", tea, "text/plain; charset=ascii"), 201)
    assert failed["status"] == "failed"
    path = {"search_path": "memory_gateway"}
    deleting = await asyncpg.connect(store, server_settings=path)
    try:
        name = failed["session_id"]
        async with deleting.transaction():
            # A deletion does this first, and then deletes the resource in the same statement.
            lock = "SELECT * FROM sessions WHERE name = $1 FOR UPDATE"
            [row] = await deleting.fetch(lock, name)
            kind = "text/plain; charset=latin-1"
            upload = asyncio.create_task(ann.upload_file("a.txt", tea, kind))
            waits = (
                "SELECT EXISTS (SELECT FROM pg_stat_activity"
                " WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid)))"
            )
            await eventually(lambda: deleting.fetchval(waits))
            where = row["owner"], row["app_id"], row["project_id"], name
            assert len(await deleting.fetch(load("delete_session"), *where)) == 1
    finally:
        await deleting.close()
    made = checked(await upload, 201)
    assert (made["status"], made["resource_id"] == failed["resource_id"]) == ("extracted", False)


@pytest.mark.parametrize("file", [None, b"Green tea"], ids=["text", "file"])
async def test_ruling_22_a_resource_that_is_deleted_while_it_is_uploaded_is_new(
    ann: Person, plugin: Switchboard, monkeypatch: pytest.MonkeyPatch, file: bytes | None
) -> None:
    deliver = Resources._deliver
    deleted: list[str] = []

    async def late(self: Resources, session: int) -> None:
        if not deleted:
            [there] = checked(await ann.get("/resources"), 200)["resources"]
            deleted.append(there["resource_id"])
            assert (await ann.delete(f"/resources/{deleted[0]}")).status_code == 204
        await deliver(self, session)

    monkeypatch.setattr(Resources, "_deliver", late)
    if file is None:
        made = await ann.upload("Green tea", 201)
    else:
        made = checked(await ann.upload_file("a.txt", file), 201)
    assert made["resource_id"] not in deleted
    assert (await ann.texts("tea"), plugin.texts(ann.user_id)) == (["Green tea"], ["Green tea"])


async def test_ruling_22_a_text_in_json_is_read_whatever_charset_its_type_names(
    ann: Person,
) -> None:
    kind = "text/plain; charset=iso-8859-1"
    resource = await ann.upload("Tee für Jörg", content_type=kind)
    assert (resource["status"], resource["content_type"]) == ("extracted", "text/plain")
    found = checked(await ann.post("/memories/search", query="Tee"), 200)["results"]
    assert [it["text"] for it in found] == ["Tee für Jörg"]


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ({}, "text/plain"),
        ({"filename": None, "content_type": None}, "text/plain"),
        ({"filename": "", "content_type": ""}, "text/plain"),
        ({"content_type": "application/octet-stream"}, "text/plain"),
        ({"filename": "README"}, "text/plain"),
        ({"filename": "README", "content_type": "application/octet-stream"}, "text/plain"),
        ({"filename": "notes.md"}, "text/markdown"),
        ({"filename": "notes.md", "content_type": "text/plain"}, "text/plain"),
    ],
)
async def test_ruling_22_a_text_in_json_is_plain_text_unless_type_or_name_say_otherwise(
    ann: Person, names: dict[str, Any], kind: str
) -> None:
    assert (await ann.upload("Green tea", **names))["content_type"] == kind


@pytest.mark.parametrize(
    "names", [{"filename": "a.png"}, {"filename": "a.txt", "content_type": "image/png"}]
)
async def test_ruling_22_a_text_in_json_of_another_type_is_refused(
    ann: Person, names: dict[str, str]
) -> None:
    await ann.upload("Green tea", 415, **names)


@pytest.mark.parametrize("letter", ["\n", "茶", "ж"])
async def test_ruling_28_a_text_within_the_limit_may_take_three_times_as_much_in_json(
    ann: Person, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Extractor, "chunks", _no_chunks)
    text = letter * (25 * 2**20 // len(letter.encode()) - 1) + "x"
    body = json.dumps({**ann.credentials, "text": text})
    made = checked(await ann.http.post("/resources", content=body), 201)
    assert made["size"] == len(text.encode())


async def _no_chunks(*_: Any) -> list[str]:
    return []


async def test_ruling_22_a_file_of_25_mib_is_the_largest(ann: Person) -> None:
    most = 25 * 2**20
    answer = await ann.upload_file("a.txt", b"x" * (most + 1), "text/plain")
    assert checked(answer, 413)["code"] == "too_large"
    checked(await ann.post("/resources", text="x" * (most + 1)), 413)


@pytest.mark.parametrize(
    ("form", "field"),
    [
        # httpx sends no form without a file, and no body is an empty object.
        ({"files": {}}, "text"),
        ({"files": {"other": ("a.txt", b"x")}}, "file"),
        ({"files": [("file", ("a.txt", b"x")), ("file", ("b.txt", b"y"))]}, "file"),
        ({"files": [("file", ("a.txt", b"x")), ("other", ("b.txt", b"y"))]}, "other"),
        ({"data": {"file": "a string"}, "files": {"x": ("a.txt", b"x")}}, "file"),
        ({"files": {"file": ("x" * 5000 + ".txt", b"x")}}, "filename"),
        ({"data": {"title": "x" * 2**21}, "files": {"file": ("a.txt", b"x")}}, "title"),
        ({"data": {f"x{n}": "" for n in range(21)}, "files": {"file": ("a.txt", b"x")}}, "x20"),
    ],
)
async def test_ruling_22_a_form_has_one_file(ann: Person, form: Any, field: str) -> None:
    answer = await ann.http.post("/resources", auth=ann.basic, **form)
    assert named(answer) == field


@pytest.mark.parametrize(
    ("kind", "body", "field"),
    [
        ("; boundary=x", b"nonsense", "body"),
        ("; boundary=x", b"--x\r\n", "file"),
        ("; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\nx\r\n--x--", "body"),
        ("; boundary=x", b"--x\r\nno header\r\n\r\nx\r\n--x--", "body"),
        (f"; boundary={'x' * 300}", b"", "body"),
        ("", b"x", "Content-Type"),
    ],
)
async def test_ruling_26_a_malformed_form_is_refused(
    ann: Person, kind: str, body: bytes, field: str
) -> None:
    headers = {"Content-Type": f"multipart/form-data{kind}"}
    answer = await ann.http.post("/resources", content=body, headers=headers, auth=ann.basic)
    assert named(answer) == field


def named(answer: httpx.Response) -> str:
    """The field that a 400 names, in its message and its details."""
    refusal = checked(answer, 400)
    field: str = refusal["details"]["field"]
    assert refusal["message"].startswith(f"{field}: ")
    return field


async def test_resources_are_listed_newest_first_page_by_page(ann: Person) -> None:
    made = [await ann.upload(f"Paper {number}.") for number in range(5)]
    newest = [it["resource_id"] for it in reversed(made)]
    seen: list[str] = []
    params: dict[str, Any] = {"limit": 2}
    while True:
        page = checked(await ann.get("/resources", **params), 200)
        seen += [it["resource_id"] for it in page["resources"]]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert seen == newest
    assert checked(await ann.get("/resources", project_id="other"), 200)["resources"] == []
    checked(await ann.get(f"/resources/{newest[0]}", project_id="other"), 404)
