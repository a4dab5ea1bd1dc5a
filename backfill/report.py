"""What a run reports at its end: plain lines for people, one JSON object for programs.

Ids and hashes, never content; addresses, never passwords.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from backfill import confidence
from backfill.dryrun import Forecast
from backfill.errors import EXIT_MISMATCH, EXIT_OK, ConfigurationError
from backfill.rejects import Rejects
from backfill.tally import Tally
from backfill.target import Target
from backfill.verify import Verification
from backfill.wording import counted

_WORKSPACES_SHOWN = 20
_ODDITIES_SHOWN = 10
_NAMESPACES_SHOWN = 3


def forecast_lines(forecast: Forecast, rejects: Rejects, target: Target) -> Iterator[str]:
    """The end of a dry run."""
    yield f"{'rows':>10}  {'rejected':>8}  workspace"
    for share in forecast.shares[:_WORKSPACES_SHOWN]:
        name = f"  {share.name}" if share.name else ""
        yield f"{share.rows:>10,}  {share.rejected:>8,}  {share.workspace_id or 'none'}{name}"
        for namespace, rows in islice(share.namespaces.items(), _NAMESPACES_SHOWN):
            yield f"{'':>22}{rows:>8,} -> {namespace}"
    more = len(forecast.shares) - _WORKSPACES_SHOWN
    if more > 0:
        yield f"… and {counted(more, 'smaller workspace')}; --json FILE lists all of them"
    yield (
        f"{counted(forecast.rows, 'row')} of {counted(len(forecast.shares), 'workspace')}"
        f" go to {counted(forecast.proofs.total(), 'namespace')};"
        f" {rejects.count:,} will be rejected"
    )
    yield from _reasons(rejects.reasons)
    yield from forecast.oddities[:_ODDITIES_SHOWN]
    if len(forecast.oddities) > _ODDITIES_SHOWN:
        yield f"… and {counted(len(forecast.oddities) - _ODDITIES_SHOWN, 'more such workspace')}"
    how = "batches" if "batch" in target.extensions else "single writes, each namespace in order"
    yield f"requests to apply: about {forecast.apply_requests:,}, {how}"
    bound = "at most about" if forecast.verify_requests_are_most else "about"
    yield f"requests to verify everything: {bound} {forecast.verify_requests:,}; the proof is"
    for proof, count in forecast.proofs.most_common():
        yield f"  {proof}: {counted(count, 'namespace')}"
    yield "nothing was written"


def tally_lines(tally: Tally, target: Target, seconds: float) -> Iterator[str]:
    """The end of an apply."""
    there = f" ({tally.unchanged:,} of them already there)" if tally.unchanged else ""
    yield (
        f"scanned {tally.scanned:,} = written {tally.written:,}{there}"
        f" + rejected {tally.rejects.count:,}"
    )
    yield f"{seconds:.1f} s, {tally.scanned / max(seconds, 0.001):,.0f} rows/s"
    if "batch" not in target.extensions:
        yield "created_at was not copied (the plugin has no batch), but the order of the rows was"
    elif tally.without_time:
        yield (
            f"{counted(tally.without_time, 'row')} {'has' if tally.without_time == 1 else 'have'}"
            " a created_at that no plugin accepts (null, infinite or BC) and got the time of the"
            " copy"
        )
    if tally.other_times:
        yield (
            f"{counted(tally.other_times, 'row')} had another created_at on the target, such as"
            " the time of an earlier copy: corrected"
        )
    if tally.rejects.count:
        yield from _reasons(tally.rejects.reasons)
        yield f"the rejected rows are in {tally.rejects.path}"
        yield "the rest was copied; repair or drop the rejected rows, then run -apply again"
    else:
        yield "every row was copied; next: memory-backfill -verify"


def verification_lines(result: Verification, max_diffs: int, no_extras: bool) -> Iterator[str]:
    """The end of a verify."""
    found = result.findings
    for line in islice(found.differences(), max_diffs):
        seen = f" (it is in {line['seen_in']})" if "seen_in" in line else ""
        yield f"{line['result']}: {line['id']} of {line['namespace']}{seen}{_content(line)}"
    differences = found.counts.total() + found.strays
    if differences > max_diffs:
        yield f"… and {differences - max_diffs:,} more; --json FILE lists all of them"
    for line in islice(found.extra_rows(), max_diffs):
        yield f"extra: {line['id']} in {line['namespace']}"
    if found.extras > max_diffs:
        yield (
            f"… and {counted(found.extras - max_diffs, 'more extra row')};"
            " --json FILE lists all of them"
        )
    extras = f"{'' if result.extras_are_all else 'at least '}{found.extras:,}"
    yield (
        f"compared {counted(found.compared, 'row')} in"
        f" {counted(len(result.proofs), 'namespace')}:"
        f" {found.matched:,} match, {found.counts['missing']:,} missing,"
        f" {found.counts['different']:,} different,"
        f" {found.counts['wrong namespace']:,} in the wrong namespace,"
        f" {found.counts['unproven']:,} unproven; {extras} extra on the target"
        f"{'' if no_extras or not found.extras else ' (not a mismatch: agents keep writing)'}"
    )
    if found.strays:
        yield f"{_strays(found.strays)}; not counted above"
    for proof, count in Counter(result.proofs.values()).most_common():
        yield f"proof by {proof}: {counted(count, 'namespace')}"
    if result.looked_elsewhere is not None:
        yield (
            f"of the rows that were not found, {result.looked_elsewhere:,} were looked for in other"
            " namespaces; --max-diffs N looks for more"
        )
    if found.rejected:
        yield f"{counted(found.rejected.total(), 'row')} rejected and not copied:"
        yield from _reasons(found.rejected)
    yield from _times(result)
    if result.seed is not None:
        yield f"the sample was drawn with --seed {result.seed}"
    yield from _verdict(result)


def _times(result: Verification) -> Iterator[str]:
    """Rows copied earlier by a tool that gave them the time of the copy."""
    if not result.findings.other_times:
        return
    number = counted(result.findings.other_times, "row")
    repair = (
        "run -apply to correct it"
        if result.can_repair_times
        else "this plugin lacks batch or list, so -apply cannot correct it"
    )
    yield f"at least {number} with a created_at that differs from the legacy one: {repair}"


def _strays(number: int) -> str:
    """Rows that are in a compared namespace although they were not to be compared."""
    if number == 1:
        return "1 other row of the legacy table is in a compared namespace and belongs in another"
    rows = f"{number:,} other rows of the legacy table"
    return f"{rows} are in compared namespaces and belong in others"


def _verdict(result: Verification) -> Iterator[str]:
    found = result.findings
    if found.mismatches:
        bad = len(found.bad_workspaces)
        if bad:
            what = (
                f"{bad:,} of {counted(result.sampled, 'compared workspace')}"
                f" {'has' if bad == 1 else 'have'} a mismatch"
            )
        else:
            what = _strays(found.strays)
        yield (
            f"{what}: do NOT set MEMORY_V2_CUTOVER; run -apply again to repair what it can, then"
            " -verify"
        )
    elif result.no_extras and found.extras:
        yield "the target has rows that the legacy table does not: do NOT set MEMORY_V2_CUTOVER"
    elif found.counts["unproven"]:
        unproven = counted(found.counts["unproven"], "row")
        also = (
            f"{counted(found.rejected.total(), 'row')} rejected, and"
            if found.rejected
            else "no mismatch was found, but"
        )
        then = "decide whether to cut over anyway"
        if not result.selection.is_everything:
            then = _only(result)
        yield (
            f"{also} {unproven} could not be proven: the plugin cannot list its rows,"
            f" and searches did not return them; {then}"
        )
    else:
        if result.population:
            yield confidence.sentence(result.sampled, result.population)
        whole = "every compared row is there, in its namespace, with its content"
        if not result.selection.is_everything:
            rejected = counted(found.rejected.total(), "rejected row")
            whole += f", except for {rejected}" if found.rejected else ""
            yield f"{whole}; {_only(result)}"
        elif found.rejected:
            yield f"{whole}; safe to cut over if you do not need the rejected rows"
        else:
            yield f"{whole}: safe to cut over"


def _only(result: Verification) -> str:
    return (
        f"but that was {result.selection} only: run -verify without -workspace and -limit before"
        " the cutover"
    )


def forecast_json(forecast: Forecast, rejects: Rejects) -> dict[str, Any]:
    """The report of a dry run."""
    return {
        "rows": forecast.rows,
        "rejected": rejects.count,
        "rejected_by_reason": dict(rejects.reasons),
        "workspaces": [share.to_json() for share in forecast.shares],
        "oddities": forecast.oddities,
        "apply_requests": forecast.apply_requests,
        "verify_requests": forecast.verify_requests,
        "verify_proofs": dict(forecast.proofs),
    }


def tally_json(tally: Tally, seconds: float) -> dict[str, Any]:
    """The report of an apply."""
    return {
        "scanned": tally.scanned,
        "written": tally.written,
        "unchanged": tally.unchanged,
        "rejected": tally.rejects.count,
        "rejected_by_reason": dict(tally.rejects.reasons),
        "rejects_file": None if tally.rejects.path is None else str(tally.rejects.path),
        "without_created_at": tally.without_time,
        "created_at_corrected": tally.other_times,
        "seconds": round(seconds, 3),
    }


def verification_json(result: Verification) -> dict[str, Any]:
    """The report of a verify, without the lists, which may be long and are streamed."""
    found = result.findings
    return {
        "seed": result.seed,
        "workspaces_compared": result.sampled,
        "workspaces_with_memories": result.population,
        "workspaces_with_a_mismatch": len(found.bad_workspaces),
        "compared": found.compared,
        "matched": found.matched,
        "missing": found.counts["missing"],
        "different": found.counts["different"],
        "wrong_namespace": found.counts["wrong namespace"],
        "others_in_wrong_namespace": found.strays,
        "unproven": found.counts["unproven"],
        "extras": found.extras,
        "extras_are_all": result.extras_are_all,
        "other_created_at": found.other_times,
        "rejected": found.rejected.total(),
        "rejected_by_reason": dict(found.rejected),
        "proofs": result.proofs,
        "verdict": list(_verdict(result)),
        "may_cut_over": result.may_cut_over,
    }


def write_json(
    path: Path, report: dict[str, Any], lists: dict[str, Iterator[dict[str, Any]]] | None = None
) -> None:
    """Write a report; `lists` are streamed to it line by line."""
    try:
        with path.open("wb") as file:
            file.write(orjson.dumps(report, option=orjson.OPT_INDENT_2).rstrip().removesuffix(b"}"))
            for name, lines in (lists or {}).items():
                file.write(b',\n  "' + name.encode() + b'": [')
                for number, line in enumerate(lines):
                    file.write((b",\n    " if number else b"\n    ") + orjson.dumps(line))
                file.write(b"\n  ]")
            file.write(b"\n}\n")
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror}") from None


def rejects_code(rejects: Rejects) -> int:
    """The exit code of an apply or a dry run that came to its end."""
    return EXIT_MISMATCH if rejects.count else EXIT_OK


def _reasons(reasons: Counter[str]) -> Iterator[str]:
    for reason, count in reasons.most_common():
        yield f"  {count:,} × {reason}"


def _content(line: dict[str, Any]) -> str:
    return f" {line['content']!r}" if "content" in line else ""
