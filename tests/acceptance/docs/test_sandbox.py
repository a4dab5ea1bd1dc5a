"""What makes a page fail: an exit code or count that differs from it, or a server left running."""

from pathlib import Path

import pytest

from tests.acceptance.docs.sandbox import Printed, Sandbox
from tests.unit.docs.pages import Fence, Page
from tests.waiting import SECONDS


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("4", "1"),
        ("459 match, 0 missing", "459 match, 2 missing"),
        ("memory_plugin_store_up 1.0", "memory_plugin_store_up 0.0"),
        ("…\npartial …", "conformant"),
    ],
)
def test_another_code_or_count_or_word_is_a_difference(shown: str, printed: str) -> None:
    assert not Printed("page:1", shown, printed).agrees()


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("4\n", "4\n"),
        ("0.9 s, 524 rows/s", "12 s, 1,024 rows/s"),
        ('"score":0.95}', '"score":0.123}'),
        ("2026-11-16T03:41:32.437690Z", "2031-01-02T00:00:00Z"),
        ("from … to here\n…\ndone …", "from there to here\ndone"),
    ],
)
def test_times_rates_scores_and_what_is_left_out_may_differ(shown: str, printed: str) -> None:
    assert Printed("page:1", shown, printed).agrees()


def test_each_command_of_a_block_is_compared_with_what_follows_it(tmp_path: Path) -> None:
    text = "$ echo one; (exit 3)\n…\n$ echo $?\n4\n"
    page = Page(tmp_path, [Fence("page", 1, "console", (), text)])
    first, second = Sandbox(tmp_path, {}).run(page, SECONDS)
    assert first.agrees()
    assert second.printed == "3\n"
    assert not second.agrees()


def test_a_page_that_leaves_its_server_running_fails(tmp_path: Path) -> None:
    serve = "memory-harness serve-example --listen 127.0.0.1:9100 &\n"
    wait = "curl -sf --retry 60 --retry-connrefused --retry-delay 1 127.0.0.1:9100/v1/health\n"
    page = Page(tmp_path, [Fence("page", 1, "bash", (), serve + wait)])
    with pytest.raises(AssertionError, match="leaves a server running"):
        Sandbox(tmp_path, {}, stopping_seconds=0.5).run(page, SECONDS)
