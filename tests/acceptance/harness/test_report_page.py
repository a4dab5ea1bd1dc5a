"""The HTML report in a real browser: on a desktop, on a phone, in the dark, by keyboard."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from harness.render.html import to_html
from harness.report import Report, Verdict
from tests.acceptance.harness.browser import CHROMIUM, Page, chromium
from tests.unit.harness.reports import a_hostile_report, a_report, a_result

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="NOT RUN: the report page needs Chromium (Debian: chromium)"
)

DESKTOP, PHONE = 1280, 390
VISIBLE = "[...document.querySelectorAll('.check')].filter((one) => one.checkVisibility())"
IDS = f"{VISIBLE}.map((one) => one.id)"
OPEN = f"{VISIBLE}.filter((one) => one.open).map((one) => one.id)"

# The contrast of every visible text with what is behind it, as WCAG computes it; the lowest.
LOWEST_CONTRAST = """
(() => {
  const rgba = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = rgba(getComputedStyle(one).backgroundColor);
      if (colour[3] !== 0) return colour;
    }
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    const pair = [rgba(getComputedStyle(element).color), behind(element)].map(luminance);
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    found.push([ratio, walker.currentNode.data.trim().slice(0, 40)]);
  }
  return found.sort((one, other) => one[0] - other[0])[0];
})()
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with chromium() as page:
        yield page


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    browser.look(width=DESKTOP)
    yield browser
    assert browser.complaints() == []
    assert [one for one in browser.requests() if not one.startswith(("file:", "about:"))] == []


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A report with something of each kind."""
    return save(
        tmp_path,
        a_report(
            a_result("forget.unknown-id", "fail", expected="404", got="500", curl=["one", "two"]),
            a_result("forget.twice", "pass"),
            a_result("search.stop-words", "warn", expected="a match", got="nothing"),
            a_result("search.unicode", "pass", sentence="Any language or script."),
            a_result("embedding.ranks", "unsupported", message="does not claim embedding"),
        ),
    )


def save(folder: Path, report: Report) -> Path:
    path = folder / "report.html"
    path.write_text(to_html(report), encoding="utf-8")
    return path


def choose(page: Page, selector: str, value: str) -> None:
    """Choose in a list or among radio buttons as a reader does."""
    page.value(
        f"""(() => {{
            const field = document.querySelector(`{selector}`);
            if (field.type === "radio") field.click(); else field.value = `{value}`;
            field.dispatchEvent(new Event("input", {{ bubbles: true }}));
        }})()"""
    )


def test_failures_come_first_and_are_open(page: Page, mixed: Path) -> None:
    page.open(mixed)
    assert page.value(IDS)[0] == "forget.unknown-id"
    assert page.value(OPEN) == ["forget.unknown-id"]
    assert page.value("document.querySelector('h1').innerText.trim()") == "Not conformant"
    assert page.value("document.querySelector('.shown').textContent") == "5 of 5 checks"


def test_checks_are_filtered_by_outcome(page: Page, mixed: Path) -> None:
    page.open(mixed)
    choose(page, "[name=outcome][value=pass]", "pass")
    assert page.value(IDS) == ["forget.twice", "search.unicode"]
    assert page.value("document.querySelectorAll('.group:not([hidden])').length") == 1
    assert page.value("document.querySelector('.shown').textContent") == "2 of 5 checks"


def test_checks_are_filtered_by_area_and_text_together(page: Page, mixed: Path) -> None:
    page.open(mixed)
    choose(page, "[name=area]", "search")
    assert page.value(IDS) == ["search.stop-words", "search.unicode"]
    page.value("document.querySelector('[name=text]').focus()")
    page.type("SCRIPT language")
    assert page.value(IDS) == ["search.unicode"]
    page.type(" no such word")
    assert page.value(IDS) == []
    assert page.value("document.querySelector('.nothing').checkVisibility()")
    page.value("document.querySelector('[type=reset]').click()")
    page.until(f"{VISIBLE}.length === 5")


def test_all_shown_checks_expand_and_collapse(page: Page, mixed: Path) -> None:
    page.open(mixed)
    choose(page, "[name=area]", "search")
    page.value("document.querySelector('[data-open]').click()")
    assert page.value(OPEN) == page.value(IDS)
    page.value("document.querySelector('[data-close]').click()")
    assert page.value(OPEN) == []
    page.value("document.querySelector('[type=reset]').click()")
    page.until(f"{VISIBLE}.length === 5")
    assert page.value(OPEN) == ["forget.unknown-id"]


def test_everything_is_reached_and_opened_by_keyboard(page: Page, mixed: Path) -> None:
    page.open(mixed)
    reached = []
    for _ in range(40):
        page.press("Tab")
        reached.append(
            page.value(
                "document.activeElement.closest('.check')?.id ?? document.activeElement.name"
                " ?? document.activeElement.tagName"
            )
        )
        if reached[-1] == "search.unicode":
            break
    assert {"outcome", "area", "text", *page.value(IDS)[:-1]} <= set(reached)
    assert page.value("document.activeElement.matches(':focus-visible')")
    page.press("Enter")
    assert "search.unicode" in page.value(OPEN)
    page.press(" ")
    assert "search.unicode" not in page.value(OPEN)


def test_the_outcome_is_chosen_by_arrow_keys(page: Page, mixed: Path) -> None:
    page.open(mixed)
    page.value("document.querySelector('[name=outcome]').focus()")
    page.press("ArrowRight")
    assert page.value(IDS) == ["forget.unknown-id"]


def test_the_commands_are_copied_as_they_are_run(page: Page, mixed: Path) -> None:
    page.open(mixed)
    page.call("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    page.call("Page.bringToFront")
    page.value("document.querySelector('.copy').click()")
    page.until("document.querySelector('.copy').textContent === 'Copied'")
    assert page.value("navigator.clipboard.readText()") == "one\ntwo"


def test_without_permission_to_copy_the_commands_are_selected(page: Page, mixed: Path) -> None:
    page.open(mixed)
    page.value("navigator.clipboard.writeText = () => Promise.reject(new Error())")
    page.value("document.querySelector('.copy').click()")
    page.until("document.querySelector('.copy').textContent === 'Selected'")
    assert page.value("getSelection().toString().trim()") == "one\ntwo"


def test_a_link_to_a_check_opens_it_even_when_it_is_filtered_out(page: Page, mixed: Path) -> None:
    page.open(mixed, "#search.unicode")
    assert "search.unicode" in page.value(OPEN)
    choose(page, "[name=outcome][value=fail]", "fail")
    page.value("location.hash = '#forget.twice'")
    page.until("document.getElementById('forget.twice').checkVisibility()")
    assert "forget.twice" in page.value(OPEN)


def test_without_scripts_the_page_is_whole_and_shows_no_dead_controls(
    page: Page, mixed: Path
) -> None:
    page.look(width=PHONE, scripts=False)
    page.open(mixed)
    assert page.value(f"{IDS}.length") == 5
    assert page.value(OPEN) == ["forget.unknown-id"]
    dead = "[...document.querySelectorAll('.filter, .copy')].filter((one) => one.checkVisibility())"
    assert page.value(f"{dead}.length") == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [320, PHONE, 768, DESKTOP])
def test_the_page_fits_and_can_be_read(page: Page, tmp_path: Path, width: int, dark: bool) -> None:
    page.look(width=width, dark=dark)
    page.open(save(tmp_path, a_hostile_report()))
    page.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.value("document.documentElement.scrollWidth") <= width
    ratio, text = page.value(LOWEST_CONTRAST)
    assert ratio >= 4.5, text
    background = page.value("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(22, 21, 19)") == dark


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_every_verdict_can_be_read_even_when_nothing_was_run(
    page: Page, tmp_path: Path, verdict: Verdict
) -> None:
    for dark in (False, True):
        page.look(width=PHONE, dark=dark)
        page.open(save(tmp_path, a_report(verdict=verdict)))
        assert page.value("document.querySelector('h1').innerText.trim()") == verdict.capitalize()
        ratio, text = page.value(LOWEST_CONTRAST)
        assert ratio >= 4.5, text


def test_controls_are_large_enough_on_a_phone(page: Page, mixed: Path) -> None:
    page.look(width=PHONE)
    page.open(mixed)
    heights = page.value(
        "[...document.querySelectorAll('.filter button, .filter select, .filter [type=search],"
        " .chip, summary, .copy')].filter((one) => one.checkVisibility())"
        ".map((one) => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 36


def test_a_hostile_plugin_changes_nothing_on_the_page(page: Page, tmp_path: Path) -> None:
    page.open(save(tmp_path, a_hostile_report()))
    assert page.value("document.title").startswith("Not conformant: http://localhost:9100/")
    assert page.value("document.scripts.length") == 1
    assert page.value("document.images.length") == 0
    assert page.value(f"{IDS}.length") == 7


def test_a_script_that_got_in_anyway_would_not_run(browser: Page, tmp_path: Path) -> None:
    path = save(tmp_path, a_hostile_report())
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("</main>", "<script>document.title='owned'</script></main>"))
    browser.look(width=DESKTOP)
    browser.open(path)
    assert browser.value("document.title") != "owned"
    assert "Content Security Policy" in "".join(browser.complaints())
