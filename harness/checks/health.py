"""`GET /v1/health`: what the plugin says about itself."""

from contract import CAPABILITIES, EXTENSIONS, HealthResponse, MemoryPluginError, parse
from harness.check import check
from harness.errors import Failure
from harness.trial import Trial, expect_equal


@check("health.answers-ok", "GET /v1/health: 200 HealthResponse; status is ok or degraded.")
async def answers_ok(trial: Trial) -> None:
    """Requests the health and expects all fields: status, version, capabilities."""
    answer = (await trial.send("GET", "/v1/health")).expect(200)
    try:
        health = parse(HealthResponse, answer.body)
    except MemoryPluginError as error:
        raise Failure(f"a HealthResponse ({error})", answer.shown) from None
    expect_equal("status of a plugin that works", health.status, "ok")


@check("health.speaks-version-1", "version: the contract version, 1.0.0.")
async def speaks_version_1(trial: Trial) -> None:
    """Expects `version` to be the version of the contract, not that of the plugin."""
    body = (await trial.send("GET", "/v1/health")).expect(200).object
    expect_equal("version", body.get("version"), "1.0.0")


@check(
    "health.names-are-words",
    "capabilities: a list; extensions: an optional list. A client ignores names it does not know.",
)
async def names_are_words(trial: Trial) -> None:
    """Expects lists of names without repeats; an unknown name is only noted."""
    body = (await trial.send("GET", "/v1/health")).expect(200).object
    for field, known in (("capabilities", CAPABILITIES), ("extensions", EXTENSIONS)):
        names = body.get(field)
        if field == "extensions" and names is None:
            continue
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Failure(f"{field} to be a list of names", str(names))
        expect_equal(f"{field}, each once", len(names), len(set(names)))
        if unknown := [name for name in names if name not in known]:
            trial.note(f"{field} that this harness does not know: {', '.join(unknown)}")


@check("health.sends-json-as-json", "JSON over HTTP, UTF-8.", level="should")
async def sends_json_as_json(trial: Trial) -> None:
    """Expects `Content-Type: application/json`, which browsers and proxies go by."""
    answer = await trial.send("GET", "/v1/health")
    kind = answer.headers.get("content-type", "none").partition(";")[0].strip()
    expect_equal("Content-Type of the health", kind, "application/json")
