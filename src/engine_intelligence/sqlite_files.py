"""SQLite files that several Hosts share: private, of a known form, and in WAL mode."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from engine_intelligence.errors import ProviderError
from engine_intelligence.scrubbing import presentable, scrub

_log = logging.getLogger(__name__)

BUSY_TIMEOUT_S = 0.5
"""How long a transaction waits for another program's, in seconds.

A write takes a millisecond, so that a lock held for longer is a Host that hangs. The event loop waits for this: it must stay
well below the second between two heartbeats.
"""


# By primary result code (https://sqlite.org/rescode.html). The texts of SQLite are for programmers, and some mislead: a
# directory that may not be written to is "attempt to write a readonly database" in one place and "unable to open database
# file" in another.
FAULTS = {
    sqlite3.SQLITE_BUSY: "another program holds it locked",
    sqlite3.SQLITE_LOCKED: "another program holds it locked",
    sqlite3.SQLITE_READONLY: "it is read-only, or its directory is",
    sqlite3.SQLITE_IOERR: "the system failed to read or write it",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
}


class FileFault(sqlite3.DatabaseError):
    """What this program finds wrong with a file by itself. Its text is told as it stands."""


class Form(NamedTuple):
    """What tells one kind of file from every other SQLite file, and how an empty or older one is made into it."""

    name: str
    """What a person is told that the file is: "the ledger of spending"."""
    application_id: int
    version: int
    """The newest, from 1 on."""
    steps: Mapping[int, str]
    """The statements, each ended by a semicolon, that make the newest version of each older one; of an empty file by 0."""


class SqliteFile:
    """One file at `path`, or a database in memory where that is `None`.

    Nothing is opened or created before the first use. A file that is none of the form, or is damaged, is left as it is. Used
    by one thread at a time, which may be another one each time.
    """

    def __init__(self, path: str | os.PathLike[str] | None, form: Form) -> None:
        self._path = None if path is None else Path(path)
        self._form = form
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None

    def open(self) -> sqlite3.Connection:
        """The connection, in autocommit mode: transactions are written out. To be called inside `errors`."""
        if self._connection is not None and self._opened != self._there():
            self.close()  # the file was moved away: what others write from now on is written into another
        if self._connection is None:
            if self._path is not None:
                create_private(self._path)
            connection = sqlite3.connect(
                ":memory:" if self._path is None else self._path,
                timeout=BUSY_TIMEOUT_S,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                _prepare(connection, self._form)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            self._opened = self._there()
        return self._connection

    @contextmanager
    def errors(self, what: str, advice: str = "") -> Generator[None]:
        """Turn what the system or SQLite raises into `ProviderError` with reason `unavailable`, and leave no transaction.

        `what` could not be done, such as "read"; `advice` is a sentence that follows.
        """
        try:
            yield
        except BaseException as error:
            self.roll_back()
            if not isinstance(error, (sqlite3.Error, OSError, UnicodeError)):
                raise
            if self._path is not None:
                self.close()  # the next use looks at the file anew: it may have been put right
            cause = f"{self._form.name} cannot be {what}: {describe(error)}"
            _log.warning("%s (%s)", scrub(cause), presentable(str(self._path)))
            raise ProviderError(f"{cause}. {advice}" if advice else cause, reason="unavailable") from None

    def roll_back(self) -> None:
        """End a transaction without a trace, if there is one."""
        connection = self._connection
        if connection is None or not connection.in_transaction:
            return
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error:
            self.close()  # a closed connection has no transaction

    def close(self) -> None:
        """Close the connection. Idempotent; the next use opens the file again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _there(self) -> tuple[int, int] | None:
        return None if self._path is None else file_at(self._path)


def one(connection: sqlite3.Connection, query: str, values: tuple[object, ...] = ()) -> object:
    """The first column of the first row, or `None` where there is none."""
    row: tuple[object, ...] | None = connection.execute(query, values).fetchone()
    return None if row is None else row[0]


def describe(error: Exception) -> str:
    """What `error` says of the file, without the path: a part of a sentence. For `sqlite3.Error` and `OSError`."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, sqlite3.Error):
        return FAULTS.get(primary_code(error), str(error))
    return str(error)


def primary_code(error: sqlite3.Error) -> int:
    """The primary result code of `error`; 0 where SQLite did not give one."""
    code = getattr(error, "sqlite_errorcode", None)  # absent where the module itself raised it
    return code & 0xFF if isinstance(code, int) else 0


def create_private(path: Path) -> None:
    """Create the file for its owner alone, with its directory; one that is there keeps its mode. Raises `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        pass


def file_at(path: Path) -> tuple[int, int] | None:
    """Which file is at `path` now, by device and number; `None` for none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def version_of(connection: sqlite3.Connection, form: Form) -> int:
    """The version of `form` that the file has; 0 for an empty file. Raises `FileFault` for any other file."""
    application, version, tables = _look(connection)
    if application == 0 and version == 0 and tables == 0:
        return 0
    if application != form.application_id:
        raise FileFault("the file is a database of another program")
    if not 1 <= version <= form.version:
        raise FileFault(f"the file has version {version}, and this program reads up to {form.version}")
    return version


def _look(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """The application, the version and the number of tables, all of one moment: another Host may be making the file."""
    own = not connection.in_transaction
    if own:
        connection.execute("BEGIN")
    try:
        queries = "PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master"
        application, version, tables = (connection.execute(query).fetchone()[0] for query in queries)
        return application, version, tables
    finally:
        if own and connection.in_transaction:  # an error of the system ends it
            connection.execute("ROLLBACK")


def bring_up(connection: sqlite3.Connection, form: Form) -> None:
    """Give an empty or older file the newest version of `form`: wholly or not at all.

    Any number of processes may do that at once. What is wrong is raised, and the file is then as it was.
    """
    if version_of(connection, form) == form.version:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection, form)  # again, under the lock: another Host may have been first
        for statement in form.steps.get(version, "").split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {form.application_id}")
        connection.execute(f"PRAGMA user_version = {form.version}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _prepare(connection: sqlite3.Connection, form: Form) -> None:
    """Check that the file has the form, or give it that. Any other is not written to."""
    bring_up(connection, form)
    if one(connection, "PRAGMA journal_mode") not in ("wal", "memory"):
        _to_wal(connection)
    # With WAL this loses at most the last transactions when the machine, not the program, dies; the file stays whole.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _to_wal(connection: sqlite3.Connection) -> None:
    """Change to the mode in which readers and a writer do not wait for each other. It stays with the file."""
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if primary_code(error) != sqlite3.SQLITE_BUSY:
            raise
        # Another Host is at the file just now. It is right in either mode, and the next one to open it tries again.
