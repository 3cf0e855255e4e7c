"""`engine-intelligence sessions`: the conversations that Hosts of this user keep."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine_intelligence.activity import SessionRef
from engine_intelligence.cli.errors import EXIT_FAILED, plainly, say
from engine_intelligence.cli.speaker import default_store_file
from engine_intelligence.cli.text import clean, one_line
from engine_intelligence.errors import SetupError
from engine_intelligence.host.config import store_of_file
from engine_intelligence.host.store import store_file
from engine_intelligence.sessions.archive import ConversationArchive, SessionSummary

EXPORT_FORMAT = "engine-intelligence-sessions"
EXPORT_VERSION = 1

sessions_app = typer.Typer(
    name="sessions", no_args_is_help=True, help="List, show, export and delete kept conversations."
)

Store = Annotated[Path | None, typer.Option(help="The file that they are in, instead of the user's own.")]
HostFile = Annotated[
    Path | None, typer.Option(help="A Host file, for the conversations of that Host: its table [store].")
]
ProviderId = Annotated[str, typer.Argument(metavar="PROVIDER", help="The id of a provider.")]
SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The id of a session, as `list` shows it.")]


@sessions_app.command("list")
def list_sessions(store: Store = None, host_file: HostFile = None) -> None:
    """List the conversations, the latest of each provider first."""
    with plainly(), _archive(store, host_file) as archive:
        found = archive.summaries()
    if not found:
        say("There is no conversation in it.")
        return
    table = Table()
    for heading in ("provider", "session"):
        table.add_column(heading, overflow="fold")  # an id that is cut off is of no use
    for heading in ("turns", "tokens"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("last used", no_wrap=True)
    for each in found:
        table.add_row(*map(Text, _cells(each)))
    # A table that goes into a file or a pipe is as wide as it has to be.
    console = Console() if sys.stdout.isatty() else Console(width=sum(map(len, _widest(found))) + 20)
    console.print(table)


@sessions_app.command("show")
def show_session(
    provider: ProviderId, session: SessionId, store: Store = None, host_file: HostFile = None
) -> None:
    """Show what was said, the oldest first: the player behind <, the character behind >."""
    with plainly(), _archive(store, host_file) as archive:
        wanted = SessionRef(provider, session)
        summary = _known(archive, wanted)
        if summary.lost:
            say(
                "The turns of this conversation were dropped or deleted. A game that continues it is told so."
            )
            raise typer.Exit(EXIT_FAILED)
        for number, turn in enumerate(archive.turns(wanted), 1):
            typer.echo(f"Turn {number}")
            for mark, text in (("<", turn.input), (">", turn.output)):
                # Each line has its mark, so that no text can pass for what it is not.
                for line in clean(text).split("\n"):
                    typer.echo(f"  {mark} {line}".rstrip())


@sessions_app.command("export")
def export_sessions(
    provider: Annotated[str | None, typer.Argument(help="Only those of this provider.")] = None,
    session: Annotated[str | None, typer.Argument(help="Only this one.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new file for it, instead of standard output.")
    ] = None,
    store: Store = None,
    host_file: HostFile = None,
) -> None:
    """Write conversations as JSON: all, those of a provider, or one."""
    with plainly(), _archive(store, host_file) as archive:
        if provider is not None and session is not None:
            wanted = [_known(archive, SessionRef(provider, session))]
        else:
            wanted = [each for each in archive.summaries() if provider in (None, each.session.provider_id)]
        if output is None:
            _write(sys.stdout, archive, wanted)
        else:
            _write_file(output, archive, wanted)


@sessions_app.command("delete")
def delete_session(
    provider: ProviderId,
    session: SessionId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: Store = None,
    host_file: HostFile = None,
) -> None:
    """Delete what was said in a conversation. A game that continues it is told that it is lost."""
    with plainly(), _archive(store, host_file) as archive:
        wanted = SessionRef(provider, session)
        summary = _known(archive, wanted)
        if summary.lost:
            say("The turns of this conversation are gone already.")
            return
        if not yes and not _confirmed(f"Delete this conversation of {_counted(summary.turns)}?"):
            say("Nothing was deleted.")
            raise typer.Exit(EXIT_FAILED)
        archive.delete(wanted)
        say("Deleted.")


def _archive(store: Path | None, host_file: Path | None) -> ConversationArchive:
    """The store that the options name. Raises `SetupError` and `ValueError`."""
    if store is not None and host_file is not None:
        raise ValueError("Name the file of the store or that of the Host, not both: --store or --host-file.")
    if host_file is None:
        return ConversationArchive(default_store_file() if store is None else store)
    path = store_file(store_of_file(host_file))
    if path is None:
        raise SetupError(
            "store-in-memory", "That Host keeps conversations in memory alone: there is nothing to look at."
        )
    return ConversationArchive(path)


def _known(archive: ConversationArchive, session: SessionRef) -> SessionSummary:
    summary = archive.find(session)
    if summary is None:
        raise SetupError(
            "session-unknown", "There is no such conversation: `engine-intelligence sessions list` shows all."
        )
    return summary


def _cells(summary: SessionSummary) -> tuple[str, ...]:
    used = "" if summary.used_at is None else _time(summary.used_at)
    return (
        one_line(summary.session.provider_id),
        one_line(summary.session.id),
        "lost" if summary.lost else str(summary.turns),
        "" if summary.lost else f"~{summary.tokens}",
        used,
    )


def _widest(summaries: Iterable[SessionSummary]) -> Iterator[str]:
    """The longest text of each column."""
    for cells in zip(*map(_cells, summaries), strict=True):
        yield max((*cells, "last used"), key=len)


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def _counted(turns: int) -> str:
    return "1 turn" if turns == 1 else f"{turns} turns"


def _confirmed(question: str) -> bool:
    try:
        return typer.confirm(question)
    except typer.Abort:  # nobody is there to answer
        return False


def _write(file: TextIO, archive: ConversationArchive, wanted: Iterable[SessionSummary]) -> None:
    """The document, a session to a line. ASCII alone: whatever was said, it is safe in a terminal and in any file."""
    file.write(f'{{"format": "{EXPORT_FORMAT}", "version": {EXPORT_VERSION}, "sessions": [')
    for number, each in enumerate(wanted):
        file.write(("," if number else "") + "\n" + json.dumps(_document(archive, each)))
    file.write("\n]}\n")


def _document(archive: ConversationArchive, summary: SessionSummary) -> dict[str, object]:
    used_at = summary.used_at
    return {
        "providerId": summary.session.provider_id,
        "id": summary.session.id,
        "lost": summary.lost,
        "usedAt": None if used_at is None else datetime.fromtimestamp(used_at, UTC).isoformat(),
        "turns": [
            {"input": turn.input, "output": turn.output, "remote": turn.remote}
            for turn in archive.turns(summary.session)
        ],
    }


def _write_file(path: Path, archive: ConversationArchive, wanted: Iterable[SessionSummary]) -> None:
    """Make the file, for its owner alone, whole or not at all. One that is there is left as it is."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ValueError(f"There is a file {path} already: name another one with --output.") from None
    except OSError as error:
        raise SetupError("export-failed", f"The file {path} cannot be made ({error.strerror}).") from None
    try:
        with open(descriptor, "w", encoding="ascii", newline="\n") as file:
            _write(file, archive, wanted)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise SetupError(
                "export-failed", f"The file {path} cannot be written ({error.strerror})."
            ) from None
        raise
