"""Reports for tests: with given results, or from a plugin that attacks the reader."""

from datetime import UTC, datetime
from typing import Any

from harness import Comparison, Plugin, Report, Result
from harness.report import OUTCOMES, Outcome, decide

# Markup of every format, an end of CDATA, a control character, a direction override, a mention,
# fences, and a lone surrogate.
HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "]]><!-- \x00\x1b[31m \u202e @everyone ``` ````` \" ' & | \ud800 \uffff"
)


def a_result(check_id: str, outcome: Outcome, **fields: Any) -> Result:
    """A result of a check that may not exist."""
    result = Result(
        id=check_id,
        area=check_id.partition(".")[0],
        level="must",
        needs=[],
        sentence="A sentence.",
        outcome=outcome,
        duration_seconds=0.1,
        curl=["curl -sS http://localhost"],
    )
    return result.model_copy(update=fields)


def a_report(*results: Result, **fields: Any) -> Report:
    """A report of these results, with the resulting verdict."""
    verdict, reason = decide(list(results))
    report = Report(
        verdict=verdict,
        reason=reason,
        profile="full",
        run="0123456789ab",
        seed=1,
        harness_version="0.1.0",
        contract_version="1.0.0",
        openapi_sha256="0" * 64,
        started_at=datetime(2026, 1, 31, tzinfo=UTC),
        duration_seconds=1.5,
        plugin=Plugin(
            url="http://localhost:9100",
            version="1.0.0",
            capabilities=["fts"],
            extensions=[],
            server=None,
        ),
        counts={
            outcome: sum(result.outcome == outcome for result in results) for outcome in OUTCOMES
        },
        results=list(results),
    )
    return report.model_copy(update=fields)


def a_hostile_report() -> Report:
    """Every outcome, a baseline, something left behind, and a plugin that attacks the reader."""
    return a_report(
        a_result(
            "idempotency.same-id-updates-in-place",
            "fail",
            sentence="`id` known in the same namespace: the write replaces the memory in place.",
            expected="one memory with the content of the second write",
            got=HOSTILE,
            curl=[f"curl -sS -X POST --data-binary '{HOSTILE}'", "curl -sS -i -X POST /v1/search"],
        ),
        a_result("ttl.to-the-second", "error", message=HOSTILE),
        a_result("search.stop-words", "warn", level="should", expected="a match", got=HOSTILE),
        a_result("embedding.ranks", "unsupported", needs=["embedding"], message=HOSTILE),
        a_result("limits.exactly-100", "excluded", message="excluded by --exclude limits"),
        a_result("forget.unknown-id", "pass"),
        a_result("forget.removes-the-memory", "pass"),
        plugin=Plugin.model_construct(
            url=f"http://localhost:9100/{HOSTILE}",
            version=HOSTILE,
            capabilities=["fts", HOSTILE],
            extensions=["batch", HOSTILE],
            server=HOSTILE,
        ),
        left_behind=["custom:conformance.0123456789ab.7"],
        baseline=Comparison(
            run="ba9876543210",
            started_at=datetime(2026, 1, 30, tzinfo=UTC),
            verdict="conformant",
            regressions=["idempotency.same-id-updates-in-place"],
            fixed=["forget.unknown-id"],
            added=[],
            removed=[],
        ),
    )
