"""What a person sees in the terminal: live progress, then a summary by area."""

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from harness.render.markup import printable
from harness.report import Outcome, Report, Result
from harness.runner import CheckFinished, Event, RunFinished, RunStarted

STYLES: dict[Outcome, str] = {
    "pass": "green",
    "fail": "bold red",
    "blocked": "red",
    "warn": "yellow",
    "unsupported": "dim",
    "excluded": "cyan",
    "error": "bold magenta",
}
_VERDICT_STYLES = {"conformant": "bold green", "not conformant": "bold red"}


class Progressed:
    """A reporter that draws a progress bar, prints failures at once, and sums up."""

    def __init__(self, console: Console, *, live: bool) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}", style="dim"),
            console=console,
            transient=True,
            disable=not live,
        )
        self._task = self._progress.add_task("checking", total=None, last="")

    def __enter__(self) -> "Progressed":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            plugin = event.plugin
            offered = ", ".join([*plugin.capabilities, *plugin.extensions]) or "nothing optional"
            self._console.print(f"[bold]{_safe(plugin.url)}[/] offers {_safe(offered)}")
            self._progress.update(self._task, total=len(event.checks))
        elif isinstance(event, CheckFinished):
            self._progress.update(self._task, advance=1, last=event.result.id)
            if event.result.outcome in ("fail", "error"):
                self._console.print(_headline(event.result))
        elif isinstance(event, RunFinished):
            self._progress.stop()
            summarise(event.report, self._console)


def summarise(report: Report, console: Console) -> None:
    """The failures and how to reproduce them, a table by area, then the verdict."""
    for result in report.failures():
        _explain(result, console)
        if blocked := report.blocked_by(result.id):
            console.print(f"  blocks {len(blocked)}: {', '.join(blocked)}", highlight=False)
    for result in report.results:
        if result.outcome == "warn":
            _explain(result, console)
    console.print(_table(report))
    if report.baseline is not None:
        for name in report.baseline.regressions:
            console.print(f"[bold red]regression[/] {name} passed in run {report.baseline.run}")
        for name in report.baseline.fixed:
            console.print(f"[green]fixed[/] {name}")
    if report.left_behind:
        names = ", ".join(report.left_behind[:5])
        console.print(f"[yellow]could not be deleted:[/] {len(report.left_behind)}: {names}")
    style = _VERDICT_STYLES.get(report.verdict, "bold yellow")
    console.print(
        f"[{style}]{report.verdict}[/] ({report.profile}, {report.duration_seconds:.1f} s,"
        f" seed {report.seed}): {escape(report.reason)}"
    )


def _headline(result: Result) -> str:
    style = STYLES[result.outcome]
    return f"[{style}]{result.outcome}[/] {result.id}"


def _explain(result: Result, console: Console) -> None:
    console.print(_headline(result))
    console.print(f"  [italic]{escape(result.sentence)}[/]")
    for label, text in (
        ("why", result.message),
        ("expected", result.expected),
        ("got", result.got),
    ):
        if text:
            console.print(f"  {label}: {_safe(text)}", highlight=False)
    for line in result.curl if result.outcome == "fail" else ():
        console.print(
            f"    {printable(line)}", markup=False, highlight=False, soft_wrap=True, style="dim"
        )


def _safe(text: str) -> str:
    """Text from a plugin, without markup and terminal control characters."""
    return escape(printable(text))


def _table(report: Report) -> Table:
    table = Table("area", box=None, header_style="bold", pad_edge=False)
    shown = [outcome for outcome in STYLES if report.counts.get(outcome)]
    for outcome in shown:
        table.add_column(outcome, justify="right", style=STYLES[outcome])
    table.add_column("seconds", justify="right", style="dim")
    for area, results in report.by_area().items():
        counts = [sum(result.outcome == outcome for result in results) for outcome in shown]
        slowest = max(result.duration_seconds for result in results)
        table.add_row(area, *(str(count or "") for count in counts), f"{slowest:.1f}")
    return table
