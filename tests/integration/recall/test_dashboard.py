"""The dashboard in a real browser: everything on it does what it says."""

import json
import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from markupsafe import escape
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.integration.recall.server import MANAGEMENT, Recall
from tests.waiting import until

expect.set_options(timeout=60_000)
HOSTILE = '<img src=x onerror="document.title=1">&"\'</script>'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield running
        running.close()


@pytest.fixture
def rest(server: Recall) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, headers=MANAGEMENT, timeout=60) as client:
        yield client


@pytest.fixture
def page(browser: Browser, server: Recall) -> Iterator[Page]:
    """A page that is logged in, on a phone; it must not break a rule of its own."""
    context = browser.new_context(
        base_url=server.url, viewport={"width": 360, "height": 740}, accept_downloads=True
    )
    context.set_default_timeout(60_000)
    made = context.new_page()
    broken: list[str] = []
    made.on("pageerror", lambda error: broken.append(str(error)))
    made.on("console", lambda line: _note(line, broken))
    made.goto("/dashboard/memory")
    assert made.url.endswith("/dashboard/login")
    made.get_by_test_id("login-token").fill("test-management")
    made.get_by_test_id("login").click()
    made.wait_for_url("**/dashboard/memory")
    yield made
    context.close()
    assert broken == []


def _note(line: ConsoleMessage, broken: list[str]) -> None:
    # The browser itself notes an answer that is a refusal; pages are tested for telling it.
    if line.type == "error" and not re.search("status of 4(?:01|09)", line.text):
        broken.append(line.text)


def remember(rest: httpx.Client, owner: str, key: str, **more: Any) -> str:
    body = {"apiKeyId": owner, "key": key, "content": f"about {key}"} | more
    answer = rest.post("/api/memory", json=body)
    answer.raise_for_status()
    made: str = answer.json()["id"]
    return made


def memories(rest: httpx.Client, owner: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = rest.get("/api/memory", params={"apiKeyId": owner}).json()["data"]
    return rows


class TestLogin:
    def test_without_a_login_only_the_login_page_is_served(self, server: Recall) -> None:
        for path in ("/dashboard/memory", "/dashboard/settings"):
            answer = httpx.get(server.url + path, timeout=60)
            assert answer.status_code == 303
            assert answer.headers["location"].split("?")[0] == "/dashboard/login"
            other = {"authorization": "Bearer some-api-key"}
            assert httpx.get(server.url + path, headers=other, timeout=60).status_code == 303
            assert httpx.get(server.url + path, headers=MANAGEMENT, timeout=60).status_code == 200

    @pytest.mark.parametrize(
        "asked",
        [
            "/dashboard/memory",
            "/dashboard/settings",
            "/dashboard/memory?q=caf%C3%A9%20%26%20a%2Bb+c&type=episodic&apiKeyId=x%2Fy&page=2",
            "/dashboard/memory?q=%FF&q=%0d%0aset-cookie:a",
            "/dashboard/memory?q=<script>\"'&next=/dashboard/settings",
        ],
    )
    def test_the_login_leads_back_to_exactly_the_page_asked_for(
        self, server: Recall, asked: str
    ) -> None:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            login = client.get(asked).headers["location"]
            form = unescape(client.get(login).text)
            wanted = re.findall('name="next" value="(/dashboard[^\n]*)">', form)
            for token, status in (("wrong", 401), ("test-management", 303)):
                answer = client.post("/dashboard/login", data={"token": token, "next": wanted[0]})
                assert answer.status_code == status
                if status == 401:
                    assert f'name="next" value="{escape(wanted[0])}"' in answer.text
            sent = client.build_request("GET", asked).url
            assert client.build_request("GET", answer.headers["location"]).url == sent
            assert client.get(login).headers["location"] == answer.headers["location"]

    @pytest.mark.parametrize(
        "elsewhere",
        [
            *("https://evil.example", "//evil.example/dashboard/memory", "/\\evil.example"),
            *("/dashboard/memory/../../x", "dashboard/memory", "\t//evil.example", "/api/memory"),
            *("/dashboard/memory@evil.example", "javascript:alert(1)", "/dashboard/logout", ""),
        ],
    )
    def test_the_login_leads_to_no_other_page(self, server: Recall, elsewhere: str) -> None:
        given = {"token": "test-management", "next": elsewhere}
        with httpx.Client(base_url=server.url, timeout=60) as client:
            for answer in (
                client.post("/dashboard/login", data=given),
                client.get("/dashboard/login", params=given, headers=MANAGEMENT),
            ):
                assert answer.headers["location"] == "/dashboard/memory"

    def test_a_login_with_too_many_fields_is_refused(self, server: Recall) -> None:
        fields = {f"field{number}": "x" for number in range(50)}
        answer = httpx.post(f"{server.url}/dashboard/login", data=fields, timeout=60)
        assert answer.status_code == 400

    def test_a_session_that_ends_leads_back_to_the_filtered_list(
        self, page: Page, owner: str
    ) -> None:
        page.goto(f"/dashboard/memory?q=tea&apiKeyId={owner}")
        page.context.clear_cookies()
        page.get_by_test_id("playground-query").fill("tea?")
        page.get_by_test_id("playground-retrieve").click()
        page.get_by_test_id("login-token").fill("test-management")
        page.get_by_test_id("login").click()
        page.wait_for_url(f"**/dashboard/memory?q=tea&apiKeyId={owner}")
        expect(page.get_by_test_id("search")).to_have_value("tea")

    def test_every_page_forbids_itself_foreign_scripts(self, rest: httpx.Client) -> None:
        for path in ("/dashboard/login", "/dashboard/memory", "/dashboard/settings"):
            headers = rest.get(path).headers
            policy = headers["content-security-policy"]
            assert "script-src 'self'" in policy
            assert "unsafe-inline" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"

    def test_the_cookie_cannot_be_used_by_other_sites(self, server: Recall, owner: str) -> None:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            wrong = client.post("/dashboard/login", data={"token": "wrong"})
            assert wrong.status_code == 401
            right = client.post("/dashboard/login", data={"token": "test-management"})
            cookie = right.headers["set-cookie"]
            assert right.status_code == 303
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            body = {"apiKeyId": owner, "key": "k", "content": "c"}
            assert client.get("/api/memory").status_code == 200
            assert client.post("/api/memory", json=body).status_code == 403
            for origin in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
                assert client.post("/api/memory", json=body, headers=origin).status_code == 403
            for origin in ({"origin": server.url}, {"sec-fetch-site": "same-origin"}):
                assert client.post("/api/memory", json=body, headers=origin).status_code == 200
            # Behind a reverse proxy that changes `Host`.
            proxied = {"origin": "https://memory.example", "sec-fetch-site": "same-origin"}
            assert client.post("/api/memory", json=body, headers=proxied).status_code == 200
            other = {"origin": server.url, "sec-fetch-site": "same-site"}
            assert client.post("/api/memory", json=body, headers=other).status_code == 403
            forged = {"cookie": "recall_session=ffffffffff.abc"}
            assert (
                httpx.get(f"{server.url}/api/memory", headers=forged, timeout=60).status_code == 401
            )

    def test_logging_out(self, page: Page) -> None:
        page.get_by_test_id("logout").click()
        page.wait_for_url("**/dashboard/login")
        page.goto("/dashboard/memory")
        assert page.url.endswith("/dashboard/login")


class TestMemories:
    def open(self, page: Page, owner: str) -> None:
        page.goto(f"/dashboard/memory?apiKeyId={owner}")

    def test_rows_are_in_the_html_and_escaped(self, rest: httpx.Client, owner: str) -> None:
        for number in range(21):
            remember(rest, owner, f"k{number} {HOSTILE}", content=f"{HOSTILE} {number}")
        for number, query in [(20, ""), (1, "&page=2")]:
            html = rest.get(f"/dashboard/memory?apiKeyId={owner}{query}").text
            assert html.count('data-testid="memory-row"') == number
            assert "<img src=x" not in html
        html = rest.get("/dashboard/memory", params={"q": HOSTILE, "apiKeyId": HOSTILE}).text
        assert "<img src=x" not in html

    @pytest.mark.parametrize(
        "query",
        [
            *("page=abc", "page=0", "page=-1", f"page={'1' * 5000}", "type=zzz", "q=%00", "q=%ff"),
            *("apiKeyId=%0a", "apiKeyId=%00", f"apiKeyId={'x' * 500}"),
        ],
    )
    def test_an_invalid_query_string_is_ignored(self, rest: httpx.Client, query: str) -> None:
        assert rest.get(f"/dashboard/memory?{query}").status_code == 200

    @pytest.mark.parametrize("path", ["/", "/dashboard", "/dashboard/"])
    def test_the_short_addresses_lead_here(self, rest: httpx.Client, path: str) -> None:
        answer = rest.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard/memory")

    def test_text_from_right_to_left_begins_at_the_right(
        self, page: Page, rest: httpx.Client, owner: str
    ) -> None:
        remember(rest, owner, "greeting", content="مرحبا بالعالم")
        self.open(page, owner)
        text = page.locator(".content")
        assert text.evaluate("element => getComputedStyle(element).direction") == "rtl"

    def test_it_can_be_read_without_script(
        self, browser: Browser, server: Recall, rest: httpx.Client, owner: str
    ) -> None:
        remember(rest, owner, "plain")
        context = browser.new_context(
            base_url=server.url, java_script_enabled=False, extra_http_headers=MANAGEMENT
        )
        page = context.new_page()
        page.goto("/dashboard/memory")
        page.get_by_test_id("search").fill("about plain")
        page.get_by_test_id("owner-filter").select_option(owner)
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_test_id("memory-row")).to_have_count(1)
        for name in ("add-memory", "edit-memory", "select-row", "bulk-delete", "playground"):
            expect(page.get_by_test_id(name)).to_be_hidden()
        context.close()

    def test_nothing_overflows_on_a_phone(self, page: Page, rest: httpx.Client, owner: str) -> None:
        remember(rest, owner, "k" * 300, content="w" * 2000)
        for path in (f"/dashboard/memory?apiKeyId={owner}", "/dashboard/settings"):
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360

    def test_a_message_is_visible_from_anywhere_until_the_next_click(
        self, page: Page, rest: httpx.Client, owner: str
    ) -> None:
        for number in range(20):
            remember(rest, owner, f"note{number}")
        self.open(page, owner)
        page.get_by_test_id("playground-retrieve").scroll_into_view_if_needed()
        page.evaluate("tell('It is done.')")
        told = page.locator("#message")
        expect(told).to_be_in_viewport()
        page.locator("#playground h2").click()
        expect(told).to_be_hidden()

    def test_search_and_filters(self, page: Page, rest: httpx.Client, owner: str) -> None:
        remember(rest, owner, "apple")
        remember(rest, owner, "pear", type="episodic")
        self.open(page, owner)
        rows = page.get_by_test_id("memory-row")
        expect(rows).to_have_count(2)
        page.get_by_test_id("search").press_sequentially("APPL")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("about apple")
        page.get_by_test_id("search").fill("")
        page.get_by_test_id("type-filter").select_option("episodic")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("about pear")
        assert "type=episodic" in page.url
        page.get_by_test_id("type-filter").select_option("")
        page.get_by_test_id("owner-filter").select_option("(shared)")
        expect(rows).to_have_count(0)

    def test_pages(self, page: Page, rest: httpx.Client, owner: str) -> None:
        for number in range(21):
            remember(rest, owner, f"k{number}")
        self.open(page, owner)
        expect(page.get_by_test_id("memory-row")).to_have_count(20)
        page.get_by_test_id("next-page").click()
        expect(page.get_by_test_id("memory-row")).to_have_count(1)
        page.get_by_test_id("prev-page").click()
        expect(page.get_by_test_id("memory-row")).to_have_count(20)

    def test_a_page_behind_the_end_is_the_last_one(self, rest: httpx.Client, owner: str) -> None:
        for number in range(21):
            remember(rest, owner, f"k{number:02}")
        there = {"apiKeyId": owner, "page": "3"}
        shown = rest.get("/dashboard/memory", params=there).text
        assert shown.count('data-testid="memory-row"') == 1
        assert "Page 2 of 2" in shown
        nobody = rest.get("/dashboard/memory", params={"apiKeyId": f"{owner}-2", "page": "3"}).text
        assert "No memory matches." in nobody

    def test_add_edit_delete(self, page: Page, rest: httpx.Client, owner: str) -> None:
        page.get_by_test_id("add-memory").click()
        form = page.get_by_test_id("memory-form")
        form.get_by_label("Key", exact=True).fill("first")
        form.get_by_label("Content").fill(HOSTILE)
        form.get_by_label("Type").select_option("procedural")
        form.get_by_label("API key").fill(owner)
        page.get_by_test_id("save-memory").click()
        until(lambda: memories(rest, owner))
        self.open(page, owner)
        row = page.get_by_test_id("memory-row")
        expect(row).to_contain_text(HOSTILE)
        expect(row).to_contain_text("procedural")
        row.get_by_test_id("edit-memory").click()
        form.get_by_label("Content").fill("changed")
        page.get_by_test_id("save-memory").click()
        expect(row).to_contain_text("changed")
        page.once("dialog", lambda dialog: dialog.dismiss())
        row.get_by_test_id("delete-memory").click()
        assert memories(rest, owner)
        page.once("dialog", lambda dialog: dialog.accept())
        row.get_by_test_id("delete-memory").click()
        expect(row).to_have_count(0)
        assert memories(rest, owner) == []

    def test_a_refusal_is_shown(self, page: Page, rest: httpx.Client, owner: str) -> None:
        remember(rest, owner, "taken")
        remember(rest, owner, "other")
        self.open(page, owner)
        page.get_by_test_id("edit-memory").first.click()
        page.get_by_test_id("memory-form").get_by_label("Key", exact=True).fill("taken")
        with page.expect_response(lambda answer: answer.status == 409):
            page.get_by_test_id("save-memory").click()
        expect(page.locator("#editor-error")).to_contain_text("key")

    def test_bulk_delete(self, page: Page, rest: httpx.Client, owner: str) -> None:
        for key in ("a", "b", "c"):
            remember(rest, owner, key)
        self.open(page, owner)
        expect(page.get_by_test_id("bulk-delete")).to_be_disabled()
        for number in (0, 1):
            page.get_by_test_id("select-row").nth(number).check()
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_test_id("bulk-delete").click()
        expect(page.get_by_test_id("memory-row")).to_have_count(1)
        assert [row["key"] for row in memories(rest, owner)] == ["a"]

    def test_export_and_import(
        self, page: Page, rest: httpx.Client, owner: str, tmp_path: Path
    ) -> None:
        metadata = {"m": 10**30, "n": -(2**63) - 1, "o": {"memory": "}"}}
        remember(rest, owner, "kept", metadata=metadata)
        self.open(page, owner)
        with page.expect_download() as one:
            page.get_by_test_id("export-json").click()
        exported = json.loads(Path(one.value.path()).read_text())
        assert [(row["key"], row["metadata"]) for row in exported] == [("kept", metadata)]
        with page.expect_download() as two:
            page.get_by_test_id("export-ndjson").click()
        lines = Path(two.value.path()).read_text().splitlines()
        assert [json.loads(line)["key"] for line in lines] == ["kept"]
        rest.post("/api/memory/delete", json={"apiKeyId": owner})
        file = tmp_path / "memories.ndjson"
        file.write_text("\n".join(lines))
        page.get_by_test_id("import-file").set_input_files(file)
        expect(page.locator("#message")).to_contain_text("1 imported")
        expect(page.get_by_test_id("memory-row")).to_have_count(1)
        assert memories(rest, owner)[0]["metadata"] == metadata

    def test_health_and_figures(self, page: Page, rest: httpx.Client, owner: str) -> None:
        remember(rest, owner, "x", content="x" * 4000)
        self.open(page, owner)
        expect(page.get_by_test_id("health-dot")).to_have_attribute("data-state", "ok")
        expect(page.get_by_test_id("stat-total")).to_have_text("1")
        expect(page.get_by_test_id("stat-tokens")).to_have_text("1,000")
        expect(page.get_by_test_id("stat-hit-rate")).to_contain_text("%")

    def test_the_list_is_kept_fresh(self, page: Page, rest: httpx.Client, owner: str) -> None:
        self.open(page, owner)
        expect(page.get_by_test_id("memory-row")).to_have_count(0)
        remember(rest, owner, "later")
        expect(page.get_by_test_id("memory-row")).to_have_count(1)

    def test_summarise_and_restore(self, page: Page, rest: httpx.Client, owner: str) -> None:
        old = "2024-01-01T00:00:00Z"
        rows = [
            {"key": key, "content": f"Old {key}.", "createdAt": old, "updatedAt": old}
            for key in "ab"
        ]
        rest.post(f"/api/memory/import?apiKeyId={owner}", json=rows)
        self.open(page, owner)
        expect(page.get_by_test_id("restore")).to_be_disabled()
        asked: list[str] = []

        def refuse(dialog: Any) -> None:
            asked.append(dialog.message)
            dialog.dismiss()

        page.once("dialog", refuse)
        page.get_by_test_id("summarize").click()
        expect(page.locator("#message")).to_contain_text("Nothing was changed")
        assert "2 memories" in asked[0]
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_test_id("summarize").click()
        expect(page.get_by_test_id("memory-row")).to_have_count(1)
        page.get_by_test_id("restore").click()
        expect(page.get_by_test_id("memory-row")).to_have_count(2)
        expect(page.get_by_test_id("restore")).to_be_disabled()

    def test_playground(self, page: Page, rest: httpx.Client, owner: str) -> None:
        remember(rest, owner, "soup", content=f"I like soup {HOSTILE}")
        self.open(page, owner)
        page.get_by_test_id("playground").scroll_into_view_if_needed()
        page.get_by_test_id("playground-query").fill("which soup?")
        page.get_by_test_id("playground-retrieve").click()
        expect(page.get_by_test_id("playground-memories")).to_contain_text(HOSTILE)
        page.get_by_test_id("playground-text").fill("I prefer tea.")
        page.get_by_test_id("playground-extract").click()
        expect(page.get_by_test_id("playground-facts")).to_contain_text("preference:tea")
        assert len(memories(rest, owner)) == 1

    def test_by_keyboard(self, page: Page, rest: httpx.Client, owner: str) -> None:
        remember(rest, owner, "k")
        self.open(page, owner)
        page.get_by_test_id("add-memory").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("memory-form")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_test_id("memory-form")).to_be_hidden()
        page.get_by_test_id("select-row").focus()
        page.keyboard.press("Space")
        expect(page.get_by_test_id("bulk-delete")).to_be_enabled()


class TestSettings:
    def test_a_control_for_every_setting(self, page: Page, rest: httpx.Client) -> None:
        page.goto("/dashboard/settings")
        form = page.get_by_test_id("settings-form")
        for name in rest.get("/api/settings/memory").json():
            if name != "effectiveMaxTokens":
                expect(form.locator(f"[name={name}]")).to_have_count(1)

    def test_settings_are_saved(self, page: Page, rest: httpx.Client) -> None:
        before = rest.get("/api/settings/memory").json()
        try:
            page.goto("/dashboard/settings")
            expect(page.get_by_test_id("cost-warning")).to_be_visible()
            form = page.get_by_test_id("settings-form")
            form.locator("[name=skillsEnabled]").check()
            form.locator("[name=providersWithoutSystem]").fill("one, two")
            page.get_by_test_id("save-settings").click()
            expect(page.locator("#message")).to_contain_text("saved")
            after = rest.get("/api/settings/memory").json()
            changed = {"skillsEnabled": True, "providersWithoutSystem": ["one", "two"]}
            assert after == before | changed
        finally:
            del before["effectiveMaxTokens"]
            rest.put("/api/settings/memory", json=before)

    def test_keys(self, page: Page, rest: httpx.Client, owner: str) -> None:
        for key in rest.get("/api/keys").json()["keys"]:
            rest.delete(f"/api/keys/{key['id']}").raise_for_status()
        page.goto("/dashboard/settings")
        expect(page.locator("#keys")).to_contain_text("No keys yet.")
        page.get_by_test_id("key-name").fill(owner)
        page.get_by_test_id("add-key").click()
        expect(page.get_by_test_id("new-key")).to_contain_text("mr_")
        row = page.get_by_test_id("key-row").filter(has_text=owner)
        expect(row).to_have_count(1)
        expect(page.locator("#keys")).not_to_contain_text("No keys yet.")
        row.get_by_test_id("toggle-key").click()
        expect(row).to_contain_text("disabled")
        page.once("dialog", lambda dialog: dialog.accept())
        row.get_by_test_id("delete-key").click()
        expect(row).to_have_count(0)
        assert owner not in [key["name"] for key in rest.get("/api/keys").json()["keys"]]

    def test_the_engine(self, page: Page) -> None:
        page.goto("/dashboard/settings")
        expect(page.get_by_test_id("engine-status")).to_contain_text("reachable")

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_text_can_be_read_in_both_schemes(
        self, browser: Browser, server: Recall, scheme: Any
    ) -> None:
        context = browser.new_context(
            base_url=server.url, color_scheme=scheme, extra_http_headers=MANAGEMENT
        )
        page = context.new_page()
        page.goto("/dashboard/settings")
        colours = page.evaluate(
            "(style => [style.color, style.backgroundColor])(getComputedStyle(document.body))"
        )
        first, second = (sum(map(int, it[4:-1].split(","))) for it in colours)
        assert abs(first - second) > 500
        context.close()
