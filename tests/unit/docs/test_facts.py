"""What the pages mention exists: settings, flags, exit codes, checks, endpoints, metrics, files."""

import re
from functools import cache
from typing import Any, get_args

import pytest
from pinecone_plugin.app import OFFER
from typer.main import get_command

import backfill.errors as backfill_errors
from agent.cli import app as agent_command
from backfill.cli import app as backfill_command
from contract import CAPABILITIES, EXTENSIONS, ErrorCode, openapi
from conversations.cli import app as conversations_command
from conversations.document import openapi as conversations_openapi
from conversations.settings import Settings as ConversationsSettings
from gateway.cli import app as gateway_command
from harness.check import PROFILES, all_checks
from harness.cli import app as harness_command
from harness.report import EXIT_CODES, EXIT_CONFIGURATION, OUTCOMES
from plugin_postgres.cli import app as plugin_command
from plugin_postgres.metrics import Metrics
from plugin_postgres.settings import SETTINGS
from plugin_postgres.settings import Settings as PluginSettings
from recall.cli import app as recall_command
from recall.settings import Settings as RecallSettings
from serving.errors import BadSetting, ServiceError
from serving.settings import BaseSettings, settings_of
from tests.unit.docs.pages import ROOT, Page, fences, page, pages
from tests.unit.docs.settings_table import HEAD, row

AUTHORS = "docs/memory-plugins/README.md"
TESTING = "docs/memory-plugins/testing-your-plugin.md"
OPERATING = "docs/memory-plugins/operating.md"
CUTOVER = "docs/memory-plugins/cutover.md"
PINECONE = "docs/memory-plugins/pinecone-example/README.md"

OUR_COMMANDS: dict[str, Any] = {
    "memory-plugin-postgres": plugin_command,
    "memory-backfill": backfill_command,
    "memory-harness": harness_command,
    "memory-gateway": gateway_command,
    "memory-agent": agent_command,
    "memory-conversations": conversations_command,
    "memory-recall": recall_command,
}
# Read by something that is not a command of ours.
FOREIGN_VARIABLES = {
    "DATABASE_URL",
    "MEMORY_V2_CUTOVER",
    "MEMORY_PLUGIN_URL",
    "MEMORY_PLUGIN_TIMEOUT",
    "PINECONE_HOST",
    "PINECONE_API_KEY",
    "MEMORY_AGENT_CONFIG",
    "MEMORY_AGENT_HOME",
}


def all_code() -> list[tuple[str, str]]:
    """All inline code on any page, with its place."""
    words = [(f"{page.name}:{line}", code) for page in pages() for line, code in page.code]
    return words + [(str(fence), fence.text) for fence in fences("bash", "console")]


def variables(command: str) -> set[str]:
    """Every environment variable that a command accepts instead of a flag."""
    return {str(it.envvar) for it in get_command(OUR_COMMANDS[command]).params if it.envvar}


@cache
def flags(command: str) -> frozenset[str]:
    """Every flag of a command and of its subcommands."""
    top = get_command(OUR_COMMANDS[command])
    found = {it for one in top.params for it in (*one.opts, *one.secondary_opts)}
    for sub in getattr(top, "commands", {}).values():
        found |= {option for parameter in sub.params for option in parameter.opts}
    return frozenset(found | {"--help"})


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        (OPERATING, PluginSettings),
        ("docs/memory-recall/settings.md", RecallSettings),
        ("docs/memory-conversations/operating.md", ConversationsSettings),
    ],
)
def test_the_settings_are_those_of_the_code(name: str, settings: type[BaseSettings]) -> None:
    expected = [row(it) for it in settings_of(settings)]
    assert page(name).table(*HEAD).rows == expected, "copy the rows from settings_table.py"


@pytest.mark.parametrize("command", OUR_COMMANDS)
def test_flags_in_commands_exist(command: str) -> None:
    unknown = []
    for place, text in all_code():
        joined = text.replace("\\\n", " ")
        for arguments in re.findall(rf"\b{command}\b([^\n|&;)]*)", joined):
            used = re.findall(
                r"(?<!\S)(--?[a-z][a-z-]*)", re.sub(r"'[^']*'|\"[^\"]*\"", "", arguments)
            )
            unknown += [f"{place}: {flag}" for flag in used if flag not in flags(command)]
    assert not unknown, f"{command} has no such flag: {unknown}"


def test_flags_in_running_text_exist() -> None:
    known = set().union(*(flags(command) for command in OUR_COMMANDS))
    known |= {"--memory-plugin-url", "--memory-plugin-profile", "-k", "-x"}
    unknown = [
        f"{page.name}:{line}: {code}"
        for page in pages()
        for line, code in page.code
        if re.match(r"--?[a-z]", code) and code.split("=")[0].split()[0] not in known
    ]
    assert not unknown, f"no command of ours has {unknown}"


def test_environment_variables_exist() -> None:
    known = {setting.env for setting in SETTINGS} | FOREIGN_VARIABLES
    known |= set().union(*(variables(command) for command in OUR_COMMANDS))
    pattern = re.compile(r"\b(?:MEMORY_[A-Z0-9_]+|PINECONE_[A-Z_]+|DATABASE_URL)\b")
    unknown = {
        f"{place}: {name}"
        for place, text in all_code()
        for name in pattern.findall(text)
        if name not in known
    }
    assert not unknown


def test_subcommands_exist() -> None:
    for command, application in OUR_COMMANDS.items():
        known = set(getattr(get_command(application), "commands", {}))
        used = {
            word
            for _, text in all_code()
            for word in re.findall(rf"\b{command} ([a-z][a-z-]+)\b", text)
        }
        assert used <= known, f"{command} has no {used - known}"


def test_exit_codes_of_the_harness() -> None:
    table = page(TESTING).table("Exit code", "Verdict", "What to do")
    documented = dict(zip(table.column("Verdict"), table.column("Exit code"), strict=True))
    expected = {str(verdict): str(code) for verdict, code in EXIT_CODES.items()}
    assert documented == expected | {"configuration": str(EXIT_CONFIGURATION)}


def test_exit_codes_of_the_backfill() -> None:
    table = page(CUTOVER).table("Exit code", "Means", "For the cutover")
    codes = {value for name, value in vars(backfill_errors).items() if name.startswith("EXIT_")}
    assert [int(code) for code in table.column("Exit code")] == sorted(codes)


def test_exit_codes_of_the_plugin() -> None:
    table = page(OPERATING).table("Exit code", "Means")
    expected = [0, ServiceError.exit_code, BadSetting.exit_code]
    assert [int(code) for code in table.column("Exit code")] == expected


def test_outcomes_and_profiles_of_the_harness() -> None:
    testing = page(TESTING)
    assert testing.table("Outcome", "Means").column("Outcome") == [f"`{one}`" for one in OUTCOMES]
    assert testing.table("Profile", "Proves").column("Profile") == [f"`{one}`" for one in PROFILES]


def test_check_ids_exist() -> None:
    ids = {check.id for check in all_checks()}
    areas = {check.area for check in all_checks()}
    named = {
        word
        for _, text in all_code()
        for word in re.findall(r"\b([a-z]+\.[a-z0-9]+(?:-[a-z0-9]+)+)\b", text)
        if word.partition(".")[0] in areas
    }
    assert named, "the pattern finds nothing"
    assert named <= ids
    patterns = {
        word
        for fence in fences("bash")
        for word in re.findall(r"--(?:only|exclude) '?([a-z.*-]+)", fence.text)
    }
    for pattern in patterns:
        assert any(check.matches(pattern) for check in all_checks()), pattern


def test_endpoints_are_those_of_the_document() -> None:
    paths = openapi()["paths"]
    documented = {
        (f"{method.upper()} {path}", next(code for code in operation["responses"] if code < "3"))
        for path, item in paths.items()
        for method, operation in item.items()
        if method in ("get", "put", "patch", "post", "delete")
    }
    authors = page(AUTHORS)
    table = authors.table("Endpoint", "Success", "Purpose")
    core = {
        (cell.strip("`"), code)
        for cell, code in zip(table.column("Endpoint"), table.column("Success"), strict=True)
    }
    extensions = authors.table("Extension", "Endpoint", "What it is for")
    assert [cell.strip("`") for cell in extensions.column("Extension")] == list(EXTENSIONS)
    extra = {(cell.strip("`"), "200") for cell in extensions.column("Endpoint")}
    # An extension that only adds fields names an endpoint of the seven.
    assert core | extra == documented
    assert len(core) == 7


def test_every_endpoint_that_a_page_names_exists() -> None:
    documented = [*openapi()["paths"], *conversations_openapi()["paths"]]
    known = {re.sub(r"{\w+}", "x", path) for path in documented} | {"/metrics"}
    for place, text in all_code():
        for path in re.findall(
            r"(?<![\w.])(?:https?://[\w.:-]+|localhost:9100)?(/v1/[\w/{}:.-]*)", text
        ):
            shape = re.sub(
                r"(namespaces|memories)/(?!batch|count|list|memories)[^/]+", r"\1/x", path
            )
            shape = re.sub(r"{\w+}", "x", shape).rstrip("/.")
            # A block may put the beginning of a path into a variable.
            assert any(one == shape or one.startswith(f"{shape}/") for one in known), (
                f"{place}: {path}"
            )


def test_capabilities_and_error_codes() -> None:
    table = page(AUTHORS).table("Capability", "What it promises")
    assert table.column("Capability") == [f"`{name}`" for name in CAPABILITIES]
    words = {code for _, code in page(AUTHORS).code}
    assert set(get_args(ErrorCode)) <= words


def test_metrics_are_those_of_the_plugin() -> None:
    rendered = Metrics().render().decode()
    names = set(re.findall(r"^# TYPE (memory_plugin_\w+) (?!.*_created)", rendered, re.MULTILINE))
    names = {name for name in names if not name.endswith("_created")}
    table = page(OPERATING).table("Metric", "Says", "Alert when")
    assert {cell.strip("`") for cell in table.column("Metric")} == names


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_files_and_folders_that_a_page_names_exist(page: Page) -> None:
    missing = [
        f"{page.name}:{line}: {code}"
        for line, code in page.code
        if re.fullmatch(r"(?:[a-z_.-]+/)+[\w.-]*", code)
        and not (ROOT / code).exists()
        and not (page.path.parent / code).exists()
        and not code.startswith(("build/", "bench/results/", ".venv/", ".beaver/"))
    ]
    assert not missing


def test_the_pinecone_page_says_what_the_plugin_offers_and_that_it_was_not_live() -> None:
    text = page(PINECONE).path.read_text()
    offered = [f"`{name}`" for name in OFFER["capabilities"]]
    assert f"It offers {', '.join(offered[:-1])} and {offered[-1]}" in text
    assert "Tested against a stand-in, not against the live service." in text
    settings = page(PINECONE).table("Setting", "Meaning", "Default").column("Setting")
    code = "".join(path.read_text() for path in (ROOT / PINECONE).parent.rglob("*.py"))
    assert all(cell.strip("`") in code for cell in settings)
    files = page(PINECONE).table("File", "Holds").column("File")
    folder = (ROOT / PINECONE).parent
    there = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if not path.name.startswith("__")
    }
    assert {cell.strip("`") for cell in files} == there
