"""`engine-intelligence spending`: what was spent, and the switch that stops all of it."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine_intelligence.cli.errors import plainly
from engine_intelligence.cli.text import one_line
from engine_intelligence.errors import ProviderError, SetupError
from engine_intelligence.host.directories import data_directory
from engine_intelligence.spending.entries import Line
from engine_intelligence.spending.ledger import FILE_NAME, Ledger

spending_app = typer.Typer(
    name="spending", no_args_is_help=True, help="Show what was spent, stop all spending, let it go on."
)

UNUSABLE = """{}.
It is {}.
While it cannot be used, no Host starts an Activity that may cost money. Make room on the disk, and let this user write the
file and its folder. If it is damaged, move it away: another is made, in which nothing was spent yet and spending is not
stopped."""


@spending_app.command("stop")
def stop_spending() -> None:
    """Have every Host refuse new Activities and end those that run, of all providers that may cost money."""
    with _ledger() as ledger:
        ledger.stop()
    typer.echo("Spending is stopped. To let it go on: engine-intelligence spending resume")


@spending_app.command("resume")
def resume_spending() -> None:
    """Let spending go on, as far as the budgets allow."""
    with _ledger() as ledger:
        ledger.resume()
    typer.echo("Spending goes on.")


@spending_app.command("show")
def show_spending() -> None:
    """Show what was spent of each budget, and the switch."""
    with _ledger() as ledger:
        _show(ledger.stopped_at_s(), ledger.lines())
        ledger.check()  # what can be read is shown also where it cannot be written


def ledger_path() -> Path:
    """Where the ledger is. Raises `SetupError` if the package that knows it is not installed."""
    try:
        return data_directory() / FILE_NAME
    except ModuleNotFoundError:
        raise SetupError(
            "missing-package",
            'This needs packages that are not installed: pip install "engine-intelligence[cli]"',
        ) from None


@contextmanager
def _ledger() -> Generator[Ledger]:
    """The ledger, and what is wrong with it in words of what to do."""
    with plainly():
        path = ledger_path()
        ledger = Ledger(path)
        try:
            yield ledger
        except ProviderError as error:
            raise SetupError(
                "ledger-unusable", UNUSABLE.format(error.cause.partition(". ")[0], path)
            ) from None
        finally:
            ledger.close()


def _show(stopped_at_s: float | None, lines: list[Line]) -> None:
    if stopped_at_s is None:
        typer.echo("Spending is not stopped.")
    else:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(stopped_at_s))
        typer.echo(f"Spending is stopped since {since}. To let it go on: engine-intelligence spending resume")
    if lines:
        Console().print(_table(lines))
    else:
        typer.echo("Nothing was spent in the last 24 hours.")


def _table(lines: list[Line]) -> Table:
    table = Table()
    table.add_column("host", overflow="fold")
    table.add_column("provider", overflow="fold")
    table.add_column("Activities, last minute", justify="right")
    table.add_column("output tokens, last 24 h", justify="right")
    table.add_column("free in", justify="right", no_wrap=True)
    for line in lines:
        bounds = line.budget
        cells = (
            one_line(line.host),
            "all together" if line.provider is None else one_line(line.provider),
            "not bounded"
            if bounds.activities_per_minute is None
            else _of(line.activities, bounds.activities_per_minute),
            _of(line.tokens, bounds.output_tokens_per_day),
            "now" if line.free_in_s == 0 else duration(line.free_in_s),
        )
        table.add_row(*map(Text, cells))
    return table


def _of(spent: int, bound: int | None) -> str:
    return f"{spent:,}" if bound is None else f"{spent:,} of {bound:,}"


def duration(seconds: float) -> str:
    """A time to wait, in words, rounded up."""
    whole = -int(-seconds // 1)
    hours, minutes = divmod(whole // 60, 60)
    return (
        f"{hours} h {minutes:02} min"
        if hours
        else f"{minutes} min {whole % 60:02} s"
        if minutes
        else f"{whole} s"
    )
