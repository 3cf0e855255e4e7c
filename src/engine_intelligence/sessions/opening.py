"""Opening the file of a store: made private where it is new, brought up to date where it is old, and read where that is all
that can be done.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from engine_intelligence.sessions.schema import FORM, SCHEMA_VERSION, define_functions
from engine_intelligence.sqlite_files import (
    FileFault,
    bring_up,
    create_private,
    file_at,
    primary_code,
    version_of,
)

# A write takes milliseconds, and the disk of a busy machine now and then a second, while another Host waits for it rather than
# lose an answer. It waits on its event loop, so this stays far below the ten seconds of silence after which a game gives it up.
BUSY_TIMEOUT_S = 2.0

# Two Hosts that begin a store at the same moment lock one another out where SQLite does not wait; one look later it is over.
_PAUSE_S = 0.005

# FULL: a turn is on the disk before its `Completed` is told, so that it is there after a power cut too. NORMAL would lose the
# turns since the last checkpoint with the machine, up to 4 MB of them. The price is one fsync for a turn: on a virtual disk
# 5 to 8 ms at the median instead of 0.1, and less than 20 in 99 of 100 turns, beside the seconds that a model speaks.
# What is deleted is overwritten: people delete what was said so that nobody reads it.
_SETTINGS = ("PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON", "PRAGMA secure_delete = ON")

Prepare: TypeAlias = Callable[[sqlite3.Connection], int]


class OpenStore:
    """A connection to a store, to be closed."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        version: int,
        *,
        path: Path | None = None,
        snapshot: bool = False,
    ) -> None:
        self.connection = connection
        self.version = version
        """That of the file: older than `SCHEMA_VERSION` where it cannot be written."""
        self.snapshot = snapshot
        """Whether what others write meanwhile is not seen: then it is for one reading only."""
        self._path = path
        self._identity = None if path is None else file_at(path)

    @property
    def current(self) -> bool:
        """Whether the file that is open is still the one at the path. One that was deleted can be written to all the same,
        and all that is lost at the end.
        """
        return self._path is None or (self._identity is not None and self._identity == file_at(self._path))

    def close(self) -> None:
        """Close it. Idempotent."""
        self.connection.close()


def open_in_memory() -> OpenStore:
    """A new store that is nowhere but in this process."""
    connection = _connect(":memory:", 0)
    try:
        connection.execute("PRAGMA temp_store = MEMORY")  # or a large sort may be in a file
        return OpenStore(connection, _prepare(connection))
    except BaseException:
        connection.close()
        raise


def open_file(path: Path) -> OpenStore:
    """The store in the file `path`, which is made where there is none.

    Raises `OSError` or `sqlite3.Error` with what is wrong; a file that is no such store is not written to.
    """
    create_private(path)
    give_up_at = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            return _open(path, _prepare, BUSY_TIMEOUT_S)
        except sqlite3.OperationalError as error:
            if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                raise
        time.sleep(_PAUSE_S)


def open_existing(path: Path, *, busy_timeout_s: float) -> OpenStore:
    """The store in the file `path` as it is, of whatever version: it is neither made nor brought up to date.

    Raises like `open_file`, and `FileFault` also for a file that is no store yet.
    """
    return _open(path, _recognise, busy_timeout_s)


def _open(path: Path, prepare: Prepare, busy_timeout_s: float) -> OpenStore:
    if path.is_dir():
        raise FileFault("there is a directory in its place")
    try:
        return _opened(path, "mode=rw", prepare, busy_timeout_s)
    except sqlite3.OperationalError as error:
        # What SQLite says of a store that takes a file beside it to be read, where none can be made.
        if primary_code(error) not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            raise
    # Nobody writes to it here, so it can be read as it lies. But what is in its log would be passed over without a word.
    if _size_bytes(path.with_name(f"{path.name}-wal")):
        raise FileFault(
            "it is read-only, or its directory is, and the file beside it that holds its latest turns cannot be read so"
        )
    return _opened(path, "mode=ro&immutable=1", _recognise, busy_timeout_s, snapshot=True)


def _opened(
    path: Path, how: str, prepare: Prepare, busy_timeout_s: float, *, snapshot: bool = False
) -> OpenStore:
    connection = _connect(f"{path.absolute().as_uri()}?{how}", busy_timeout_s)
    try:
        return OpenStore(connection, prepare(connection), path=path, snapshot=snapshot)
    except BaseException:
        connection.close()
        raise


def _connect(database: str, busy_timeout_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        database,
        uri=True,
        timeout=busy_timeout_s,
        isolation_level=None,  # transactions are written out
        check_same_thread=False,  # one at a time, says the contract; a Host may close it from where it ends
    )


def _prepare(connection: sqlite3.Connection) -> int:
    """Make it a store of this version where that can be done; returns the version that it has then."""
    version = version_of(connection, FORM)
    try:
        # Before there is anything in it: in another mode, Hosts that begin together would wait for one another in vain.
        if connection.execute("PRAGMA journal_mode").fetchone()[0] not in ("wal", "memory"):
            connection.execute("PRAGMA journal_mode = WAL")
        define_functions(connection)
        bring_up(connection, FORM)
        version = SCHEMA_VERSION
    except sqlite3.OperationalError as error:
        if not version or primary_code(error) != sqlite3.SQLITE_READONLY:
            raise
    for setting in _SETTINGS:
        connection.execute(setting)
    return version


def _recognise(connection: sqlite3.Connection) -> int:
    version = version_of(connection, FORM)
    if not version:
        raise FileFault("the file is empty")
    for setting in _SETTINGS:
        connection.execute(setting)
    return version


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
