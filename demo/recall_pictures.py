"""`make recall-pictures`: the dashboard of memory-recall for its documentation."""

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

import httpx
from playwright.sync_api import Browser, sync_playwright

from demo.model import scripted_model
from demo.recall import recall

ColorScheme = Literal["light", "dark"]

_TOKEN = "test-management"  # noqa: S105 - what --dev-auth makes it
_FOLDER = Path(__file__).parent.parent / "docs" / "memory-recall"
_SIZES = {"": (1200, 900), "-phone": (360, 740)}
_SCHEMES: tuple[ColorScheme, ...] = ("light", "dark")
_PAGES = ("memory", "settings")
_SAID = (
    "I prefer dark mode in my editor.",
    "We decided to use PostgreSQL for the new service.",
    "I usually run before breakfast.",
    "My favorite editor is Helix.",
    "I don't like long meetings.",
    "We will go with trunk-based development.",
    "I never drink coffee after noon.",
    "I love hiking in the Alps.",
    "I avoid shellfish, peanuts and soy.",
    "I tend to write the tests first.",
    "Which editor do I like, and what should I not eat?",
    "Which database did we decide on?",
)
_NOTES = (
    (
        "",
        "procedural",
        "deploy",
        "Deploy with `make release`, after the tests and never on Fridays.",
    ),
    ("", "semantic", "glossary", "A turn is one message of the user with all answers to it."),
    ("bo", "factual", "language", "Bo wants answers in German, short and without lists."),
    ("bo", "episodic", "trip", "In May we flew to Lisbon and stayed in the Alfama."),
)


def main() -> None:
    """Fill a server with a few memories, and take the pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        scripted_model() as model,
        recall(Path(folder), model) as url,
        sync_playwright() as playwright,
    ):
        _fill(url)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for scheme in _SCHEMES:
            for suffix, size in _SIZES.items():
                _take(browser, url, scheme, suffix, size)
        browser.close()


def _fill(url: str) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:
        for said in _SAID:
            body = {"model": "scripted", "messages": [{"role": "user", "content": said}]}
            headers = {"authorization": "Bearer ada", "x-session-id": "monday"}
            client.post("/v1/chat/completions", json=body, headers=headers).raise_for_status()
            time.sleep(0.3)
        client.headers["authorization"] = f"Bearer {_TOKEN}"
        client.post("/api/keys", json={"name": "Ada's laptop"}).raise_for_status()
        for owner, kind, key, content in _NOTES:
            note = {"type": kind, "key": key, "content": content}
            owned = {"apiKeyId": owner} if owner else {}
            client.post("/api/memory", json=note | owned).raise_for_status()
        # Recall stores what it learned after the answers, and counts it a little later.
        time.sleep(3)


def _take(
    browser: Browser, url: str, scheme: ColorScheme, suffix: str, size: tuple[int, int]
) -> None:
    context = browser.new_context(
        base_url=url, color_scheme=scheme, viewport={"width": size[0], "height": size[1]}
    )
    page = context.new_page()
    page.goto("/dashboard/login")
    page.get_by_test_id("login-token").fill(_TOKEN)
    page.get_by_test_id("login").click()
    page.wait_for_url("**/dashboard/memory")
    for name in _PAGES:
        page.goto(f"/dashboard/{name}")
        page.wait_for_load_state("networkidle")
        file = _FOLDER / f"{name}{suffix}{'-dark' if scheme == 'dark' else ''}.png"
        page.screenshot(path=file)
        sys.stderr.write(f"{file.name}: {file.stat().st_size:,} bytes\n")
    context.close()


if __name__ == "__main__":
    main()
