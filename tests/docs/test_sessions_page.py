"""`docs/guide/sessions.md` shows what the commands print, and says of a store what is so."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import engine_intelligence
from engine_intelligence import sqlite_files
from engine_intelligence.activity import SessionRef
from engine_intelligence.conversation import Turn
from engine_intelligence.sessions import opening, schema, sqlite
from engine_intelligence.sessions.sqlite import SqliteConversationStore

PAGE = "docs/guide/sessions.md"

Blocks = Callable[[str], list[tuple[str, str, str]]]
Table = Callable[[str, str], list[list[str]]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data directory of somebody who has talked to two characters."""
    now = iter(range(1_767_000_000, 1_768_000_000, 3600))
    store = SqliteConversationStore(
        tmp_path / "conversations.sqlite3", max_sessions=2, clock=lambda: next(now)
    )
    for provider, session, input, output in (
        ("gatekeeper", "session-0a77", "Hello?", "Go away."),
        ("gatekeeper", "session-4c1f", "May I pass?", "Not after dark."),
        ("gatekeeper", "session-4c1f", "And if I pay?", "Two coins.\nNo questions."),
        ("innkeeper", "session-9be2", "A bed, please.", "That is three coins."),
        ("gatekeeper", "session-e350", "Good evening.", "Is it?"),
    ):
        assert store.append(SessionRef(provider, session), Turn(input, output), lambda: True)
    store.close()
    return tmp_path


def sessions(folder: Path, *arguments: str) -> str:
    """What the command prints, in the time of Greenwich."""
    pytest.importorskip("typer", reason="needs the extra cli")
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(engine_intelligence.__file__).parents[1]),
        "PYTHONUTF8": "1",
        "ENGINE_INTELLIGENCE_DATA_DIR": str(folder),
        "TZ": "UTC",
    }
    done = subprocess.run(
        [sys.executable, "-m", "engine_intelligence.cli", "sessions", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(blocks: Blocks, title: str) -> str:
    (text,) = [text for _, name, text in blocks(PAGE) if name == title]
    return text


@pytest.mark.parametrize("command", ["list", "show gatekeeper session-4c1f"])
def test_a_command_prints_what_the_page_shows(command: str, folder: Path, blocks: Blocks) -> None:
    assert sessions(folder, *command.split()) == shown(blocks, f"sessions {command}")


def test_an_export_is_what_the_page_shows(folder: Path, blocks: Blocks) -> None:
    sessions(folder, "export", "gatekeeper", "--output", "gatekeeper.json")
    assert (folder / "gatekeeper.json").read_text(encoding="ascii") == shown(blocks, "gatekeeper.json")


def test_the_table_of_an_export_has_every_field_of_one(folder: Path, table: Table) -> None:
    document = json.loads(sessions(folder, "export"))
    session = document["sessions"][0]
    fields = {*document, *session, *session["turns"][0]}
    rows = table(PAGE, "field")
    assert {name for cells in rows for name in re.findall(r"`(\w+)`", " ".join(cells))} >= fields


def test_the_causes_of_the_table_are_those_that_are_told(table: Table) -> None:
    told = {sqlite_files.describe(_error(code)) for code in sqlite_files.FAULTS}
    told |= {"Permission denied", "Read-only file system"}
    told |= {
        "the file is a database of another program",
        f"the file has version {schema.SCHEMA_VERSION + 1}, and this program reads up to {schema.SCHEMA_VERSION}",
    }
    rows = table(PAGE, "what is wrong")
    causes = {cause for cells in rows for cause in re.findall(r"`([^`]+)`", cells[1])}
    assert causes <= told
    assert len(causes) >= 8


def _error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("x")
    error.sqlite_errorcode = code
    return error


def test_the_numbers_of_the_page_are_those_of_the_code(blocks: Blocks) -> None:
    text = " ".join((Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8").split())
    assert f"{sqlite.MAX_TOMBSTONES:,} sessions of a provider" in text
    assert opening.BUSY_TIMEOUT_S == 2.0
    assert text.count("two seconds") == 2
