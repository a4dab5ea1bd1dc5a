"""`make demo-chat` in a browser: branches, two people, and a reload in the middle of an answer."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from demo.chat.page import application
from demo.chat.server import served
from tests.acceptance.harness.browser import CHROMIUM

SECONDS = 60_000
PICTURE = os.environ.get("DEMO_CHAT_PICTURE")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page, on a port of its own."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        page = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with served(tmp_path_factory.mktemp("chat"), page) as api:
            server = uvicorn.Server(uvicorn.Config(application(api), log_level="warning"))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            thread.start()
            yield page
            server.should_exit = True
            thread.join(30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


def texts(page: Page) -> list[str]:
    return page.locator("#messages .text").all_inner_texts()


def test_the_page_does_what_it_shows(address: str, browser: Browser) -> None:
    alice = browser.new_page(viewport={"width": 1000, "height": 760})
    alice.set_default_timeout(SECONDS)
    expect.set_options(timeout=SECONDS)
    errors: list[str] = []
    alice.on("pageerror", lambda error: errors.append(str(error)))
    alice.goto(address)
    alice.click("#new")
    expect(alice.locator("#say")).to_be_visible()
    alice.fill("#text", "Where should we go in May?")
    alice.keyboard.press("Enter")

    # A reload in the middle of the answer loses nothing of it.
    live = alice.locator("#messages li.live .text")
    expect(live).to_contain_text("Lisbon")
    alice.reload()
    expect(alice.locator("#messages li.assistant .text")).to_contain_text("In May, Lisbon is warm")
    expect(alice.locator("#messages li.live")).to_have_count(0)
    expect(alice.locator("#messages li.assistant .text")).to_contain_text("something to eat.")
    assert len(texts(alice)) == 2
    expect(alice.locator("#title")).to_have_text("Where should we go in May?")

    # Asked differently, there are two branches, and one can go back and forth.
    alice.once("dialog", lambda dialog: dialog.accept("And in November?"))
    alice.click(".edit")
    expect(alice.locator("#messages li.assistant .text")).to_contain_text("somebody who sings.")
    expect(alice.locator("#messages li.live")).to_have_count(0)
    expect(alice.locator(".branch")).to_have_text("2 / 2")
    alice.click("[aria-label='Previous branch']")
    expect(alice.locator("#messages li.user .text")).to_have_text("Where should we go in May?")
    expect(alice.locator(".branch")).to_have_text("1 / 2")
    alice.click("[aria-label='Next branch']")
    expect(alice.locator("#messages li.user .text")).to_have_text("And in November?")

    # Bob sees nothing until Alice shares it; then both write.
    bob = browser.new_page()
    bob.set_default_timeout(SECONDS)
    bob.goto(f"{address}/?user=bob")
    expect(bob.locator("#me")).to_have_text("bob")
    assert bob.locator("#list li").count() == 0
    alice.fill("#share input", "bob")
    alice.click("#share button")
    expect(alice.locator("#members")).to_have_text("alice (owner), bob (writer)")
    bob.reload()
    bob.click("#list button")
    expect(bob.locator("#messages li.user .text")).to_have_text("And in November?")
    bob.fill("#text", "And what do we eat?")
    bob.keyboard.press("Enter")
    expect(bob.locator("#messages li.assistant .text").last).to_contain_text("miss a word.")
    if PICTURE:
        alice.reload()
        expect(alice.locator("#messages li")).to_have_count(4)
        alice.screenshot(path=PICTURE)
    assert errors == []

    # On a telephone nothing is wider than the screen.
    alice.set_viewport_size({"width": 360, "height": 700})
    assert alice.evaluate("document.documentElement.scrollWidth <= innerWidth")
    alice.close()
    bob.close()


def test_a_question_that_is_faster_than_the_page_has_one_answer(
    address: str, browser: Browser
) -> None:
    alice = browser.new_page()
    alice.set_default_timeout(SECONDS)
    expect.set_options(timeout=SECONDS)
    held: list[Route] = []
    alice.route("**/memberships", lambda route: route.fallback() if held else held.append(route))
    asked: list[str] = []
    alice.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    alice.goto(address)
    alice.click("#new")
    expect(alice.locator("#say")).to_be_visible()
    alice.fill("#text", "Where should we go in May?")
    alice.keyboard.press("Enter")
    expect(alice.locator("#messages li.live .text")).to_contain_text("In May")
    with alice.expect_response("**/memberships"):
        held[0].continue_()
    expect(alice.locator("#messages li.assistant .text")).to_contain_text("something to eat.")
    expect(alice.locator("#messages li.live")).to_have_count(0)
    # For the question, and when its answer was complete; not for the page that was still opening.
    assert asked.count("forks") == 2
    alice.close()


def test_the_demo_needs_nothing_but_its_files() -> None:
    folder = Path(__file__).parents[3] / "demo" / "chat"
    for name in ("chat.html", "chat.js", "chat.css"):
        assert "//cdn" not in (folder / name).read_text()
