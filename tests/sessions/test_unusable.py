"""A store that cannot be used says why, and nothing that was in it is lost."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.disks import Disk, as_a_user, no_file_grows_beyond, on_a_disk
from support.forks import in_fork

from engine_intelligence.activity import SessionRef
from engine_intelligence.conversation import Turn
from engine_intelligence.errors import ProviderError
from engine_intelligence.sessions.sqlite import SqliteConversationStore

SESSION = SessionRef("gatekeeper", "one")

posix = pytest.mark.skipif(os.name != "posix", reason="needs forks, and modes of files")


def yes() -> bool:
    return True


def never() -> bool:
    raise AssertionError("it was asked to accept what cannot be written")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """That of a store in which one turn is."""
    path = tmp_path / "private" / "conversations.sqlite3"
    store = SqliteConversationStore(path)
    store.append(SESSION, Turn("before", "x"), yes)
    store.close()
    yield path
    path.parent.chmod(0o700)  # or pytest could not take it away


def inputs(path: Path) -> list[str]:
    """What is in the store for whoever opens it."""
    store = SqliteConversationStore(path)
    try:
        return [turn.input for turn in store.history(SESSION)]
    finally:
        store.close()


def refusal(store: SqliteConversationStore, input: str = "after") -> str:
    """Why a turn cannot be added, which is known before it is accepted."""
    try:
        store.append(SESSION, Turn(input, "x"), never)
    except ProviderError as error:
        return f"{error.reason}: {error.cause}"
    raise AssertionError("it was added")


def look(path: Path) -> list[object]:
    """What a Host finds at `path`: the turns, and why none can be added; and the turns once more."""
    store = SqliteConversationStore(path)
    try:
        return [
            [turn.input for turn in store.history(SESSION)],
            refusal(store),
            [turn.input for turn in store.history(SESSION)],
        ]
    except ProviderError as error:
        return [f"{error.reason}: {error.cause}"]
    finally:
        store.close()


READ_ONLY = "it is read-only, or its directory is"
READ_BUT_NOT_WRITTEN = [
    ["before"],
    f"unavailable: the store of conversations cannot be written: {READ_ONLY}",
    ["before"],
]


# Read-only


@posix
@pytest.mark.parametrize(
    ("file_mode", "folder_mode"),
    [(0o400, 0o700), (0o600, 0o500), (0o400, 0o500)],
    ids=["file", "folder", "both"],
)
def test_a_store_that_may_not_be_written_gives_its_turns_and_takes_no_more(
    path: Path, file_mode: int, folder_mode: int
) -> None:
    path.chmod(file_mode)
    path.parent.chmod(folder_mode)
    assert as_a_user(lambda: look(path)) == READ_BUT_NOT_WRITTEN
    path.parent.chmod(0o700)
    path.chmod(0o600)
    assert inputs(path) == ["before"]


@posix
def test_a_store_on_a_read_only_disk_gives_its_turns_and_takes_no_more(tmp_path: Path) -> None:
    def work(disk: Disk) -> object:
        path = disk.folder / "conversations.sqlite3"
        store = SqliteConversationStore(path)
        store.append(SESSION, Turn("before", "x"), yes)
        store.close()
        disk.make_read_only()
        return look(path)

    assert on_a_disk(tmp_path, work) == READ_BUT_NOT_WRITTEN


@posix
def test_a_store_whose_latest_turns_cannot_be_read_is_not_shown_without_them(path: Path) -> None:
    # A fork ends without closing the store, as a Host does that is killed: the turn is in the log beside the file.
    assert in_fork(lambda: SqliteConversationStore(path).append(SESSION, Turn("latest", "x"), yes)) is True
    path.with_name(path.name + "-shm").unlink()
    path.parent.chmod(0o500)
    told = as_a_user(lambda: look(path))
    assert "latest turns cannot be read" in str(told)
    path.parent.chmod(0o700)
    assert inputs(path) == ["before", "latest"]


@posix
def test_where_nothing_may_be_made_the_reason_is_told_at_once_and_nothing_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(0o500)
    told = as_a_user(lambda: look(folder / "new" / "conversations.sqlite3"))
    assert told == ["unavailable: the store of conversations cannot be read: Permission denied"]
    assert list(folder.iterdir()) == []


# A full disk


@posix
def test_a_turn_that_a_full_disk_takes_no_more_of_is_refused_before_it_is_accepted(tmp_path: Path) -> None:
    def work(disk: Disk) -> object:
        path = disk.folder / "conversations.sqlite3"
        store = SqliteConversationStore(path)
        store.append(SESSION, Turn("before", "x"), yes)
        filler = disk.fill()
        told = [refusal(store, "meanwhile " * 1_000_000), [turn.input for turn in store.history(SESSION)]]
        filler.unlink()
        store.append(SESSION, Turn("after", "x"), yes)
        store.close()
        return [*told, inputs(path)]

    why = "unavailable: the store of conversations cannot be written: the disk is full"
    assert on_a_disk(tmp_path, work) == [why, ["before"], ["before", "after"]]


@posix
def test_a_turn_that_was_accepted_is_kept_until_the_disk_has_room_for_it(tmp_path: Path) -> None:
    def work(disk: Disk) -> object:
        path = disk.folder / "conversations.sqlite3"
        store = SqliteConversationStore(path)
        store.append(SESSION, Turn("before", "x"), yes)
        filler = disk.fill()
        told: list[object] = [store.append(SESSION, Turn("accepted", "x" * 5000), yes)]
        told.append([turn.input for turn in store.history(SESSION)])
        told.append(refusal(store, "refused"))
        filler.unlink()
        told.append(store.append(SESSION, Turn("after", "x"), yes))
        store.close()
        return [*told, inputs(path)]

    assert on_a_disk(tmp_path, work) == [
        True,
        ["before", "accepted"],
        "unavailable: the store of conversations cannot be written: the disk is full",
        True,
        ["before", "accepted", "after"],
    ]


@posix
def test_a_turn_that_was_accepted_is_written_by_the_close_at_the_latest(path: Path) -> None:
    def work() -> object:
        store = SqliteConversationStore(path)
        store.history(SESSION)
        with no_file_grows_beyond(path.stat().st_size):
            told = store.append(SESSION, Turn("accepted", "x" * 50_000), yes)
        store.close()
        return told

    assert in_fork(work) is True
    assert inputs(path) == ["before", "accepted"]


@posix
def test_a_file_that_may_not_grow_is_unavailable_and_left_whole(path: Path) -> None:
    def work() -> object:
        store = SqliteConversationStore(path)
        store.history(SESSION)
        with no_file_grows_beyond(path.stat().st_size):
            store.append(SESSION, Turn("owed", "x" * 50_000), yes)
            told = refusal(store)
            store.close()
        return told

    told = in_fork(work)
    assert (
        told
        == "unavailable: the store of conversations cannot be written: the system failed to read or write it"
    )
    assert inputs(path) == ["before"]


# Files that are no store of this version


def a_database(path: Path, *statements: str) -> bytes:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return path.read_bytes()


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("precious notes\n" * 100)
    before = notes.read_bytes()
    assert look(notes) == [
        "unavailable: the store of conversations cannot be read: the file is not a database"
    ]
    assert notes.read_bytes() == before
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_the_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    before = a_database(path, "CREATE TABLE precious (x)")
    (told,) = look(path)
    assert "another program" in str(told)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["other.db"]


def test_a_file_of_a_later_version_is_left_as_it_is(path: Path) -> None:
    before = a_database(path, "PRAGMA user_version = 3", "PRAGMA wal_checkpoint(TRUNCATE)")
    (told,) = look(path)
    assert "version 3" in str(told)
    assert path.read_bytes() == before


def test_a_damaged_file_is_unavailable_and_left_as_it_is(path: Path) -> None:
    store = SqliteConversationStore(path)
    for number in range(50):
        store.append(SESSION, Turn(f"{number} " * 200, "x"), yes)
    store.close()
    damaged = path.read_bytes()[:4096] + b"\xff" * 40_000
    path.write_bytes(damaged)
    assert look(path) == ["unavailable: the store of conversations cannot be read: the file is damaged"]
    assert path.read_bytes() == damaged


def test_a_directory_in_the_place_of_the_file_is_unavailable(tmp_path: Path) -> None:
    assert look(tmp_path) == [
        "unavailable: the store of conversations cannot be read: there is a directory in its place"
    ]


def test_a_file_that_was_put_right_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    path.write_text("precious notes\n" * 100)
    store = SqliteConversationStore(path)
    refusal(store)
    path.unlink()
    assert store.append(SESSION, Turn("after", "x"), yes)
    store.close()
    assert inputs(path) == ["after"]
