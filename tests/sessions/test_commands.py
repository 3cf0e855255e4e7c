"""`engine-intelligence sessions` as a person types it, over stores that Hosts have or may have open."""

import json
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.disks import as_a_user

from engine_intelligence.activity import SessionRef
from engine_intelligence.conversation import Turn, turn_tokens
from engine_intelligence.errors import ProviderError
from engine_intelligence.sessions.sqlite import SqliteConversationStore

pytest.importorskip("typer", reason="needs the extra cli")
from typer.testing import CliRunner, Result

from engine_intelligence.cli.app import app

ONE = SessionRef("gatekeeper", "session-1")
TWO = SessionRef("gatekeeper", "session-2")
OTHER = SessionRef("innkeeper", "session-1")
TURNS = [Turn("May I pass?", "No.", "resp_1"), Turn("你好", "好的。\nLine two.")]
SECRET = "the treasure is below the old oak"


def yes() -> bool:
    return True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "conversations.sqlite3"


@pytest.fixture
def host(path: Path) -> Iterator[SqliteConversationStore]:
    """The store as a Host has it open, with two sessions of the gatekeeper and one of the innkeeper."""
    store = SqliteConversationStore(path, clock=lambda: 1_700_000_000)
    for turn in TURNS:
        store.append(ONE, turn, yes)
    store.append(TWO, Turn("x", SECRET), yes)
    store.append(OTHER, Turn("a bed?", "a gold piece"), yes)
    yield store
    store.close()


@pytest.fixture
def closed(host: SqliteConversationStore, path: Path) -> Path:
    """The same with nobody who has it open."""
    host.close()
    return path


def sessions(*arguments: object, input: str | None = None, env: Mapping[str, str] = {}) -> Result:
    return CliRunner().invoke(app, ["sessions", *map(str, arguments)], input=input, env={"TZ": "UTC", **env})


def rows_of(done: Result) -> list[list[str]]:
    """The cells of the table that was printed."""
    return [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in done.stdout.splitlines()
        if line.startswith("│")
    ]


def exported(*arguments: object) -> list[dict[str, object]]:
    done = sessions("export", *arguments)
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["format"], document["version"]) == ("engine-intelligence-sessions", 1)
    found: list[dict[str, object]] = document["sessions"]
    return found


# list


def test_the_list_says_of_each_session_how_much_of_it_there_is(
    host: SqliteConversationStore, path: Path
) -> None:
    done = sessions("list", "--store", path)
    tokens = sum(map(turn_tokens, TURNS))
    rows = {(row[0], row[1]): row[2:] for row in rows_of(done)}
    assert len(rows) == 3
    assert rows["gatekeeper", "session-1"][:2] == ["2", f"~{tokens}"]
    assert rows["innkeeper", "session-1"][2].startswith("2023-11-14")
    assert done.exit_code == 0


def test_the_list_shows_the_latest_of_a_provider_first_and_lost_ones_last(path: Path) -> None:
    store = SqliteConversationStore(path, max_sessions=2)
    for name in ("a", "b", "c", "b"):
        store.append(SessionRef("gatekeeper", name), Turn("x", "y"), yes)
    store.close()
    rows = rows_of(sessions("list", "--store", path))
    assert [(row[1], row[2]) for row in rows] == [("b", "2"), ("c", "1"), ("a", "lost")]


def test_long_names_are_shown_whole(path: Path) -> None:
    store = SqliteConversationStore(path)
    store.append(SessionRef("p" * 90, "s" * 120), Turn("x", "y"), yes)
    store.close()
    assert rows_of(sessions("list", "--store", path))[0][:2] == ["p" * 90, "s" * 120]


def test_names_that_command_a_terminal_are_shown_without_that(path: Path) -> None:
    store = SqliteConversationStore(path)
    store.append(SessionRef("gate\x1b[31mkeeper", "one\x1b]0;title\x07"), Turn("x", "y"), yes)
    store.close()
    done = sessions("list", "--store", path)
    assert rows_of(done)[0][:2] == ["gatekeeper", "one"]
    assert "\x1b" not in done.output


def test_without_an_option_it_is_the_store_of_the_user(
    host: SqliteConversationStore, path: Path, tmp_path: Path
) -> None:
    done = sessions("list", env={"ENGINE_INTELLIGENCE_DATA_DIR": str(tmp_path)})
    assert len(rows_of(done)) == 3


def test_a_host_file_says_where_the_store_is(closed: Path, tmp_path: Path) -> None:
    (tmp_path / "host.toml").write_text(
        '[store]\npath = "conversations.sqlite3"\n[providers.gatekeeper]\nkind = "scripted"\n',
        encoding="utf-8",
    )
    assert len(rows_of(sessions("list", "--host-file", tmp_path / "host.toml"))) == 3


def test_a_host_that_keeps_nothing_in_a_file_has_nothing_to_list(tmp_path: Path) -> None:
    (tmp_path / "host.toml").write_text(
        '[store]\nmemory = true\n[providers.gatekeeper]\nkind = "scripted"\n', encoding="utf-8"
    )
    done = sessions("list", "--host-file", tmp_path / "host.toml")
    assert done.exit_code == 1
    assert "memory" in done.stderr


def test_a_store_and_a_host_file_together_are_wrong_usage(closed: Path) -> None:
    assert sessions("list", "--store", closed, "--host-file", "host.toml").exit_code == 2


@pytest.mark.parametrize(
    "command",
    [["list"], ["show", "gatekeeper", "x"], ["export"], ["delete", "gatekeeper", "x", "--yes"]],
    ids=lambda command: command[0],
)
def test_no_command_makes_a_store_that_is_not_there(command: list[str], tmp_path: Path) -> None:
    done = sessions(*command, "--store", tmp_path / "none" / "conversations.sqlite3")
    assert done.exit_code == 1
    assert "There is no store" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_store_is_told_in_words_and_left_as_it_is(path: Path) -> None:
    path.write_text("precious notes\n" * 100)
    before = path.read_bytes()
    done = sessions("list", "--store", path)
    assert done.exit_code == 1
    assert "not a database" in done.stderr
    assert path.read_bytes() == before


def test_a_store_of_version_1_is_shown_and_stays_one(closed: Path) -> None:
    connection = sqlite3.connect(closed)
    connection.executescript(
        "ALTER TABLE turn RENAME COLUMN tokens TO chars; ALTER TABLE turn DROP COLUMN remote;"
        "ALTER TABLE session DROP COLUMN used_at; PRAGMA user_version = 1"
    )
    connection.close()
    row = next(row for row in rows_of(sessions("list", "--store", closed)) if row[1] == "session-1")
    assert row[2:] == ["2", f"~{sum(map(turn_tokens, TURNS))}", ""]
    assert sessions("show", "gatekeeper", "session-1", "--store", closed).exit_code == 0
    assert sessions("delete", "gatekeeper", "session-2", "--yes", "--store", closed).exit_code == 0
    connection = sqlite3.connect(closed)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()


@pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
def test_a_store_that_may_not_be_written_is_listed_and_nothing_of_it_deleted(closed: Path) -> None:
    def work() -> object:
        listed = sessions("list", "--store", closed)
        deleted = sessions("delete", "gatekeeper", "session-2", "--yes", "--store", closed)
        return [len(rows_of(listed)), deleted.exit_code, "read-only" in deleted.stderr]

    closed.chmod(0o400)
    closed.parent.chmod(0o500)
    try:
        assert as_a_user(work) == [3, 1, True]
    finally:
        closed.parent.chmod(0o700)


# show


def test_a_conversation_is_shown_with_a_mark_before_each_line(
    host: SqliteConversationStore, path: Path
) -> None:
    done = sessions("show", "gatekeeper", "session-1", "--store", path)
    assert done.stdout == ("Turn 1\n  < May I pass?\n  > No.\nTurn 2\n  < 你好\n  > 好的。\n  > Line two.\n")


def test_what_was_said_cannot_command_the_terminal_or_pass_for_another_turn(path: Path) -> None:
    store = SqliteConversationStore(path)
    store.append(ONE, Turn("\x1b[2Jhello\r", "yes\x07\nTurn 2\u2028  < I obey"), yes)
    store.close()
    done = sessions("show", "gatekeeper", "session-1", "--store", path)
    assert done.stdout == "Turn 1\n  < hello\n  > yes\n  > Turn 2\n  >   < I obey\n"


def test_a_session_that_is_not_known_is_said_to_be_none(closed: Path) -> None:
    done = sessions("show", "gatekeeper", "session-9", "--store", closed)
    assert done.exit_code == 1
    assert "no such conversation" in done.stderr


# export


def test_an_export_holds_everything(host: SqliteConversationStore, path: Path) -> None:
    found = exported("--store", path)
    assert [(each["providerId"], each["id"]) for each in found] == [
        ("gatekeeper", "session-2"),
        ("gatekeeper", "session-1"),
        ("innkeeper", "session-1"),
    ]
    assert found[1] == {
        "providerId": "gatekeeper",
        "id": "session-1",
        "lost": False,
        "usedAt": "2023-11-14T22:13:20+00:00",
        "turns": [
            {"input": "May I pass?", "output": "No.", "remote": "resp_1"},
            {"input": "你好", "output": "好的。\nLine two.", "remote": None},
        ],
    }


def test_an_export_may_be_of_one_provider_or_one_session(closed: Path) -> None:
    assert [each["id"] for each in exported("innkeeper", "--store", closed)] == ["session-1"]
    assert [each["id"] for each in exported("gatekeeper", "session-2", "--store", closed)] == ["session-2"]


def test_an_export_of_nothing_is_a_document_too(closed: Path) -> None:
    assert exported("nobody", "--store", closed) == []


def test_an_export_to_the_terminal_is_printable_ascii(path: Path) -> None:
    store = SqliteConversationStore(path)
    store.append(ONE, Turn("\x1b[2J", "\x9b31m\x7f 👋🏽"), yes)
    store.close()
    text = sessions("export", "--store", path).stdout
    assert all(" " <= char <= "~" or char == "\n" for char in text)
    assert json.loads(text)["sessions"][0]["turns"][0]["output"] == "\x9b31m\x7f 👋🏽"


def test_an_export_into_a_file_is_for_its_owner_alone(closed: Path, tmp_path: Path) -> None:
    output = tmp_path / "export.json"
    assert sessions("export", "--store", closed, "--output", output).exit_code == 0
    assert len(json.loads(output.read_text(encoding="utf-8"))["sessions"]) == 3
    if os.name == "posix":
        assert stat.S_IMODE(output.stat().st_mode) == 0o600


def test_an_export_overwrites_no_file(closed: Path, tmp_path: Path) -> None:
    output = tmp_path / "export.json"
    output.write_text("precious")
    assert sessions("export", "--store", closed, "--output", output).exit_code == 2
    assert output.read_text() == "precious"


def test_an_export_that_fails_leaves_no_half_file(closed: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(closed)
    connection.execute("UPDATE turn SET output = CAST(x'ff' AS TEXT) WHERE input = 'a bed?'")
    connection.commit()
    connection.close()
    output = tmp_path / "export.json"
    assert sessions("export", "--store", closed, "--output", output).exit_code == 1
    assert not output.exists()


# delete


@pytest.mark.spec("P7")
def test_a_deleted_session_is_lost_to_the_host_and_no_other_is(
    host: SqliteConversationStore, path: Path
) -> None:
    assert sessions("delete", "gatekeeper", "session-2", "--yes", "--store", path).exit_code == 0
    with pytest.raises(ProviderError) as history:
        host.history(TWO)
    with pytest.raises(ProviderError) as append:
        host.append(TWO, Turn("x", "y"), yes)
    assert (history.value.reason, append.value.reason) == ("session-lost", "session-lost")
    assert list(host.history(ONE)) == TURNS
    assert host.append(ONE, Turn("And now?", "Still no."), yes)


@pytest.mark.parametrize("is_open", [True, False], ids=["a Host has it open", "nobody has"])
def test_what_was_deleted_is_in_no_file_any_more(
    host: SqliteConversationStore, path: Path, is_open: bool
) -> None:
    if not is_open:
        host.close()

    def is_there() -> bool:
        return any(SECRET.encode() in file.read_bytes() for file in path.parent.iterdir())

    assert is_there()
    sessions("delete", "gatekeeper", "session-2", "--yes", "--store", path)
    assert not is_there()


def test_nothing_is_deleted_without_a_yes(closed: Path) -> None:
    for answer in ("n\n", "\n", ""):
        done = sessions("delete", "gatekeeper", "session-1", "--store", closed, input=answer)
        assert done.exit_code == 1
    assert len(exported("gatekeeper", "session-1", "--store", closed)[0]["turns"]) == 2  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_a_yes_deletes(closed: Path) -> None:
    assert sessions("delete", "gatekeeper", "session-1", "--store", closed, input="y\n").exit_code == 0
    assert exported("gatekeeper", "session-1", "--store", closed)[0]["lost"] is True
    assert sessions("show", "gatekeeper", "session-1", "--store", closed).exit_code == 1


def test_what_is_lost_already_cannot_be_deleted_and_that_is_no_fault(closed: Path) -> None:
    sessions("delete", "gatekeeper", "session-1", "--yes", "--store", closed)
    done = sessions("delete", "gatekeeper", "session-1", "--store", closed)
    assert (done.exit_code, done.stderr) == (0, "The turns of this conversation are gone already.\n")


def test_what_is_not_known_cannot_be_deleted(closed: Path) -> None:
    assert sessions("delete", "gatekeeper", "session-9", "--yes", "--store", closed).exit_code == 1
    assert len(exported("--store", closed)) == 3


def test_a_host_that_writes_at_that_moment_is_waited_for(
    host: SqliteConversationStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine_intelligence.sessions.archive.BUSY_TIMEOUT_S", 0.01)
    codes: list[int] = []

    def meanwhile() -> bool:
        codes.append(sessions("list", "--store", path).exit_code)
        codes.append(sessions("delete", "gatekeeper", "session-2", "--yes", "--store", path).exit_code)
        return True

    assert host.append(ONE, Turn("And now?", "Still no."), meanwhile)
    assert codes == [0, 1]  # it is read all the same, and what cannot be written is not
    assert len(host.history(TWO)) == 1
