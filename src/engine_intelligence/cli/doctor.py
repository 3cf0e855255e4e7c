"""`engine-intelligence doctor`: what works here, and what to do about what does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine_intelligence.cli.checks import (
    Finding,
    check_directories,
    check_display,
    check_extras,
    check_frames,
    check_model,
    check_python,
    check_round_trip,
)
from engine_intelligence.cli.errors import EXIT_FAILED, say
from engine_intelligence.cli.text import clean


def doctor(
    seconds: Annotated[
        float,
        typer.Option(min=0.0, max=3600.0, help="How long the frame run takes, in seconds; 0 leaves it out."),
    ] = 10.0,
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Leave the local model out of the frame run.")
    ] = False,
) -> None:
    """Check Python, packages, directories, model, a Host and a run of frames, and say what to do about each fault."""
    table = Table(show_lines=True)
    table.add_column("", no_wrap=True)
    table.add_column("what", no_wrap=True)
    table.add_column("found")
    findings: list[Finding] = []
    for finding in _findings(seconds, scripted):
        findings.append(finding)
        mark = Text("ok", style="green") if finding.good else Text("fault", style="bold red")
        table.add_row(mark, Text(finding.subject), Text(clean(finding.found)))
    Console().print(table)
    faults = [finding for finding in findings if not finding.good]
    for fault in faults:
        typer.echo(f"To do, {fault.subject}: {clean(fault.advice)}")
    if faults:
        raise typer.Exit(EXIT_FAILED)
    typer.echo("All is well.")


def _findings(seconds: float, scripted: bool) -> Iterator[Finding]:
    yield check_python()
    extras = list(check_extras())
    yield from extras
    yield from check_directories()
    model = check_model()
    yield model
    yield check_display()
    yield check_round_trip()
    if seconds > 0:
        say(f"Running frames for {seconds:g} seconds ...")
        yield check_frames(seconds, local=not scripted and model.good and extras[0].good)
