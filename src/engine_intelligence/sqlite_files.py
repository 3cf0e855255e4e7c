"""SQLite files that several Hosts share: private, of a known form, and in WAL mode."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Generator
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


class Form(NamedTuple):
    """What tells one kind of file from every other SQLite file, and how an empty one is made into it."""

    name: str
    """What a person is told that the file is: "the ledger of spending"."""
    application_id: int
    version: int
    schema: str
    """Statements, each ended by a semicolon."""


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
                _create_private(self._path)
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
            cause = f"{self._form.name} cannot be {what}: {_describe(error)}"
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
        """Which file is at the path now."""
        if self._path is None:
            return None
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino


def one(connection: sqlite3.Connection, query: str, values: tuple[object, ...] = ()) -> object:
    """The first column of the first row, or `None` where there is none."""
    row: tuple[object, ...] | None = connection.execute(query, values).fetchone()
    return None if row is None else row[0]


def _describe(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)


def _create_private(path: Path) -> None:
    """Create the file for its owner alone, with its directory; one that is there keeps its mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        pass


def _prepare(connection: sqlite3.Connection, form: Form) -> None:
    """Check that the file has the form, or give it that if it is empty. Any other is not written to."""
    if _identity(connection) != (form.application_id, form.version):
        connection.execute("BEGIN IMMEDIATE")
        # Again, under the lock: another Host may have been first.
        application, version = _identity(connection)
        if application == 0 and version == 0 and not one(connection, "SELECT count(*) FROM sqlite_master"):
            for statement in form.schema.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {form.application_id}")
            connection.execute(f"PRAGMA user_version = {form.version}")
        elif application != form.application_id:
            raise sqlite3.DatabaseError("the file is a database of another program")
        elif version != form.version:
            raise sqlite3.DatabaseError(
                f"the file has version {version}, and this program reads {form.version}"
            )
        connection.execute("COMMIT")
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
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        # Another Host is at the file just now. It is right in either mode, and the next one to open it tries again.


def _identity(connection: sqlite3.Connection) -> tuple[object, object]:
    return one(connection, "PRAGMA application_id"), one(connection, "PRAGMA user_version")
