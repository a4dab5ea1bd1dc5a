"""The JSON report of a run. Every other format is rendered from it."""

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from harness.check import Level, Profile
from harness.errors import ConfigurationError

Outcome = Literal["pass", "fail", "blocked", "warn", "unsupported", "excluded", "error"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Verdict = Literal["conformant", "not conformant", "partial", "unreachable"]

EXIT_CODES: dict[Verdict, int] = {
    "conformant": 0,
    "not conformant": 1,
    "unreachable": 3,
    "partial": 4,
}
EXIT_CONFIGURATION = 2


def _encodable(value: object) -> object:
    """A plugin may send half a surrogate pair, which is a string to Python but not to a file."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


Said = Annotated[str, BeforeValidator(_encodable)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Result(_Part):
    """The result of one check.

    `expected`, `got` and `curl` are set if it failed; `message` says why it did not pass. `curl` is
    the shortest sequence of commands that reproduces the failure. A check that is `blocked` failed
    because of the checks in `blocked_by`, which failed, too.
    """

    id: str
    area: str
    level: Level
    needs: list[str]
    sentence: str = Field(description="The sentence of the contract that the check tests.")
    outcome: Outcome
    duration_seconds: float = Field(ge=0)
    message: Said | None = None
    expected: Said | None = None
    got: Said | None = None
    curl: list[Said] = []
    blocked_by: list[str] = []


class Plugin(_Part):
    """What the plugin says about itself; nothing here identifies a person or contains a secret."""

    url: str
    version: Said | None = Field(description="The contract version that it says it speaks.")
    capabilities: list[Said]
    extensions: list[Said]
    server: Said | None = Field(description="Its Server header, when it sends one.")


class Comparison(_Part):
    """This run against an earlier report of the same plugin, by check id."""

    run: str
    started_at: datetime
    verdict: Verdict
    regressions: list[str] = Field(description="Passed then and does not pass now.")
    fixed: list[str] = Field(description="Did not pass then and passes now.")
    added: list[str] = Field(description="Was not part of the earlier run.")
    removed: list[str] = Field(description="Is not part of this run.")


class Report(_Part):
    """One run: the plugin, the harness, the settings and the results."""

    model_config = ConfigDict(
        json_schema_extra={"$schema": "https://json-schema.org/draft/2020-12/schema"}
    )

    format: Literal["memory-harness-report/1"] = "memory-harness-report/1"
    verdict: Verdict
    reason: str = Field(description="The verdict in a sentence for people.")
    profile: Profile
    run: str = Field(description="The part of the namespaces' names that is this run's own.")
    seed: int = Field(description="Repeats the generated cases with --seed.")
    harness_version: str
    contract_version: str
    openapi_sha256: str
    started_at: datetime
    duration_seconds: float = Field(ge=0)
    plugin: Plugin
    counts: dict[Outcome, int]
    results: list[Result]
    left_behind: list[str] = Field(
        default=[], description="Namespaces of this run that could not be deleted."
    )
    baseline: Comparison | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of the command; never 0 after a regression from the baseline."""
        code = EXIT_CODES[self.verdict]
        return 1 if code == 0 and self.baseline and self.baseline.regressions else code

    def failures(self) -> list[Result]:
        """What keeps the plugin from conformance; what blocks most other checks comes first."""
        found = [result for result in self.results if result.outcome in ("fail", "error")]
        return sorted(found, key=lambda result: -len(self.blocked_by(result.id)))

    def blocked_by(self, check_id: str) -> list[str]:
        """The checks that this one blocks."""
        return [result.id for result in self.results if check_id in result.blocked_by]

    def by_area(self) -> dict[str, list[Result]]:
        """The results by area, in the order of the report."""
        areas: dict[str, list[Result]] = {}
        for result in self.results:
            areas.setdefault(result.area, []).append(result)
        return areas

    def to_json(self) -> str:
        """The report as it is published."""
        return self.model_dump_json(indent=2) + "\n"


def load_report(path: Path) -> Report:
    """Read a report that an earlier run wrote."""
    try:
        return Report.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"cannot read the report {path}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ConfigurationError(
            f"{path} is not a JSON report of this harness ({place}: {first['msg']});"
            " make one with `memory-harness run URL --json FILE`"
        ) from None


def compare(results: list[Result], earlier: Report) -> Comparison:
    """What got worse or better, and which checks are new or gone since an earlier report."""
    then = {result.id: result.outcome for result in earlier.results}
    now = {result.id: result.outcome for result in results}
    both = [name for name in now if name in then]
    return Comparison(
        run=earlier.run,
        started_at=earlier.started_at,
        verdict=earlier.verdict,
        regressions=[name for name in both if then[name] == "pass" and now[name] != "pass"],
        fixed=[name for name in both if then[name] != "pass" and now[name] == "pass"],
        added=[name for name in now if name not in then],
        removed=[name for name in then if name not in now],
    )


def decide(results: list[Result], *, reachable: bool = True) -> tuple[Verdict, str]:
    """The verdict and the sentence that explains it.

    A failure outweighs everything. After that, only a run in which every check of the
    profile was judged may call the plugin conformant.
    """
    failed = _ids(results, "fail")
    errors = _ids(results, "error")
    excluded = _ids(results, "excluded")
    judged = _ids(results, "pass") + _ids(results, "warn")
    if failed:
        blocking = Counter(root for result in results for root in result.blocked_by)
        roots = sorted(failed, key=lambda name: -blocking[name])
        named = [f"{name} (blocks {blocking[name]})" if blocking[name] else name for name in roots]
        return "not conformant", f"{_count(failed)} failed: {_some(named)}."
    if not reachable:
        return "unreachable", "The plugin stopped answering during the run."
    if errors:
        return "partial", f"{_count(errors)} could not be judged: {_some(errors)}."
    if excluded:
        return "partial", f"{_count(excluded)} excluded: a verdict needs all of them."
    if not judged:
        return "partial", "No checks ran, so this is not a pass."
    warned = _ids(results, "warn")
    tail = f", {len(warned)} with a warning" if warned else ""
    return "conformant", f"All {len(judged)} checks that apply passed{tail}."


def _ids(results: list[Result], outcome: Outcome) -> list[str]:
    return [result.id for result in results if result.outcome == outcome]


def _count(ids: list[str]) -> str:
    return "1 check" if len(ids) == 1 else f"{len(ids)} checks"


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
