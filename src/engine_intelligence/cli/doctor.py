"""`engine-intelligence doctor`: what works here, and what to do about what does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
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
from engine_intelligence.cli.errors import EXIT_FAILED, plainly, say
from engine_intelligence.cli.host_checks import ask_character, check_character, plan_of
from engine_intelligence.cli.text import clean


def doctor(
    seconds: Annotated[
        float,
        typer.Option(min=0.0, max=3600.0, help="How long the frame run takes, in seconds; 0 leaves it out."),
    ] = 10.0,
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Leave the local model out of the frame run.")
    ] = False,
    host_file: Annotated[
        Path | None,
        typer.Option(help="Look at the providers of this TOML file instead of at this machine."),
    ] = None,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask",
            help="With --host-file: send each provider one short request, which a service charges for.",
        ),
    ] = False,
) -> None:
    """Check Python, packages, directories, model, a Host and a run of frames, and say what to do about each fault.

    With --host-file: check each provider of that file, its options, packages, model and key, and with --ask its answer.
    """
    with plainly():
        if ask and host_file is None:
            raise ValueError("Say whom to ask, with --host-file FILE.")
        _tell(_findings(seconds, scripted) if host_file is None else _host_findings(host_file, ask=ask))


def _tell(found: Iterator[Finding]) -> None:
    """Print what was found when all of it was, and leave with a code of its own if something is wrong."""
    table = Table(show_lines=True)
    table.add_column("", no_wrap=True)
    table.add_column("what", no_wrap=True)
    table.add_column("found")
    findings: list[Finding] = []
    for finding in found:
        findings.append(finding)
        mark = Text("ok", style="green") if finding.good else Text("fault", style="bold red")
        table.add_row(mark, Text(clean(finding.subject)), Text(clean(finding.found)))
    Console().print(table)
    faults = [finding for finding in findings if not finding.good]
    for fault in faults:
        typer.echo(f"To do, {clean(fault.subject)}: {clean(fault.advice)}")
    if faults:
        raise typer.Exit(EXIT_FAILED)
    typer.echo("All is well.")


def _host_findings(host_file: Path, *, ask: bool) -> Iterator[Finding]:
    plan = plan_of(host_file)
    for name in plan.providers:
        finding = check_character(name, plan)
        yield finding
        if ask and finding.good:
            say(f"Asking {name} ...")
            yield ask_character(name, host_file)
    if not ask:
        say("Nothing was sent. With --ask each provider is sent one short request.")


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
