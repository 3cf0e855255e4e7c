"""A store of version 1 becomes one of version 2: once, wholly or not at all, and with nothing lost."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from support.disks import as_a_user

from engine_intelligence.activity import SessionRef
from engine_intelligence.conversation import Turn, turn_tokens
from engine_intelligence.errors import ProviderError
from engine_intelligence.sessions import schema
from engine_intelligence.sessions.sqlite import SqliteConversationStore

# As version 1 made its files. It stays as it is: such files are on the disks of players.
VERSION_1 = """
PRAGMA journal_mode = WAL;
CREATE TABLE session (
    key INTEGER PRIMARY KEY,
    provider_id TEXT NOT NULL,
    id TEXT NOT NULL,
    lost INTEGER NOT NULL,
    used INTEGER NOT NULL,
    UNIQUE (provider_id, id)
);
CREATE INDEX session_by_use ON session (provider_id, lost, used);
CREATE TABLE turn (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    chars INTEGER NOT NULL,
    input TEXT NOT NULL,
    output TEXT NOT NULL
);
CREATE INDEX turn_of_session ON turn (session, key);
PRAGMA application_id = 1701405555;
PRAGMA user_version = 1;
INSERT INTO session VALUES (1, 'gatekeeper', 'one', 0, 1), (2, 'gatekeeper', 'lost', 1, 2), (3, 'innkeeper', 'one', 0, 1);
INSERT INTO turn (session, chars, input, output) VALUES
    (1, 14, 'May I pass?', 'No.'), (3, 5, '\u4f60\u597d', '\u597d\u7684\u3002'), (1, 11, 'Why?', 'Because');
"""

UsedT = TypeVar("UsedT")

ONE = SessionRef("gatekeeper", "one")
TURNS = [Turn("May I pass?", "No."), Turn("Why?", "Because")]

posix = pytest.mark.skipif(os.name != "posix", reason="needs forks, and modes of files")


def yes() -> bool:
    return True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.sqlite3"
    connection = sqlite3.connect(path)
    connection.executescript(VERSION_1)
    connection.close()
    return path


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def with_store(path: Path, use: Callable[[SqliteConversationStore], UsedT]) -> UsedT:
    store = SqliteConversationStore(path)
    try:
        return use(store)
    finally:
        store.close()


def test_the_turns_of_version_1_are_there_and_are_added_to(path: Path) -> None:
    assert with_store(path, lambda store: list(store.history(ONE))) == TURNS
    new = Turn("And now?", "Now you may.", "resp_1")
    with_store(path, lambda store: store.append(ONE, new, yes))
    assert with_store(path, lambda store: list(store.history(ONE))) == [*TURNS, new]


@pytest.mark.spec("P7")
def test_a_session_that_was_lost_is_lost_still(path: Path) -> None:
    with pytest.raises(ProviderError) as error:
        with_store(path, lambda store: store.history(SessionRef("gatekeeper", "lost")))
    assert error.value.reason == "session-lost"


def test_its_turns_are_counted_by_tokens(path: Path) -> None:
    with_store(path, lambda store: store.history(ONE))
    counted = rows(path, "SELECT tokens, input, output FROM turn ORDER BY key")
    assert len(counted) == 3
    assert all(tokens == turn_tokens(Turn(str(input), str(output))) for tokens, input, output in counted)


def test_it_has_the_tables_of_a_new_store(path: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.sqlite3"
    for each in (path, new):
        with_store(each, lambda store: store.history(ONE))
    columns = 'SELECT m.name, c.name, c.type, c."notnull" FROM sqlite_master m, pragma_table_info(m.name) c'
    assert sorted(rows(path, columns)) == sorted(rows(new, columns))
    assert rows(path, "PRAGMA user_version") == rows(new, "PRAGMA user_version") == [(2,)]


def test_a_migration_that_fails_leaves_version_1_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows(path, "SELECT * FROM turn"), rows(path, "SELECT sql FROM sqlite_master")

    def fails(input: str, output: str) -> int:
        raise RuntimeError("no")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "tokens_of_texts", fails)
        with pytest.raises(ProviderError) as error:
            with_store(path, lambda store: store.history(ONE))
    assert error.value.reason == "unavailable"
    assert (rows(path, "SELECT * FROM turn"), rows(path, "SELECT sql FROM sqlite_master")) == before
    assert rows(path, "PRAGMA user_version") == [(1,)]
    assert with_store(path, lambda store: list(store.history(ONE))) == TURNS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
@pytest.mark.parametrize("is_new", [False, True], ids=["version 1", "no file yet"])
def test_hosts_that_come_to_it_at_once_do_not_spoil_it(path: Path, tmp_path: Path, is_new: bool) -> None:
    path = tmp_path / "new.sqlite3" if is_new else path
    reader, writer = os.pipe()
    forks = [_waiting_writer(path, reader, writer, number) for number in range(8)]
    os.close(reader)
    os.close(writer)  # which lets all of them go
    assert [os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) for fork in forks] == [0] * 8
    told = with_store(path, lambda store: [turn.input for turn in store.history(ONE)])
    before = [] if is_new else ["May I pass?", "Why?"]
    assert told[: len(before)] == before
    assert sorted(told[len(before) :]) == [f"host {number}" for number in range(8)]


def _waiting_writer(path: Path, reader: int, writer: int, number: int) -> int:
    fork = os.fork()
    if fork:
        return fork
    status = 1
    try:
        os.close(writer)
        os.read(reader, 1)  # until the test has started all of them
        with_store(path, lambda store: store.append(ONE, Turn(f"host {number}", "x"), yes))
        status = 0
    finally:
        os._exit(status)


@posix
def test_a_version_1_that_may_not_be_written_is_read_as_it_is(path: Path) -> None:
    def work() -> object:
        return with_store(path, lambda store: [turn.input for turn in store.history(ONE)])

    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert as_a_user(work) == ["May I pass?", "Why?"]
    finally:
        path.parent.chmod(0o700)
    assert rows(path, "PRAGMA user_version") == [(1,)]
