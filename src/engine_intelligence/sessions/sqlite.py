"""Conversations in a SQLite file: private, bounded, and shared by as many Hosts as there are games running.

What is bounded: the turns of a session, by number and by characters, dropped oldest first and whole; and the sessions of a
provider, of which those not continued for longest lose their turns. They leave a tombstone of some bytes, so that a save-game
that comes back to one is told `session-lost` rather than met by somebody who has forgotten everything (rule P7). Tombstones are
bounded too: of more than `MAX_TOMBSTONES` the oldest go, and a session that old begins anew.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine_intelligence.activity import SessionRef
from engine_intelligence.conversation import Turn
from engine_intelligence.errors import ProviderError
from engine_intelligence.scrubbing import encodable, presentable, scrub

_log = logging.getLogger(__name__)

APPLICATION_ID = 0x65_69_63_73
"""What tells such a file from every other SQLite file: the bytes "eics"."""

SCHEMA_VERSION = 1

# A write takes a millisecond, so that a lock held for longer is a Host that hangs. The event loop waits for this: it must stay
# well below the second between two heartbeats.
BUSY_TIMEOUT_S = 0.5

MAX_TOMBSTONES = 10_000
"""Lost sessions that are remembered, per provider: of 100 bytes each, a megabyte."""

# `chars` stands before the texts, so that counting does not read them.
SCHEMA = """
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
"""


class SqliteConversationStore:
    """A `ConversationStore` in the file `path`, or in memory where that is `None`.

    Nothing is opened or created before the first use, and a file that cannot be used raises then, as the contract of the store
    says: construction raises only `ValueError`, for a bad argument. A file that is not such a store, or is damaged, is left
    as it is. Used from one thread at a time.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        # Far more than any model here reads; a day of play with one character.
        max_turns: int = 200,
        # Four times `max_output_chars`: about 64,000 tokens.
        max_chars: int = 262_144,
        # At an average of 20 turns of 500 characters, 10 MB for each provider.
        max_sessions: int = 1000,
    ) -> None:
        """`max_turns` and `max_chars` bound one session, whose latest turn is kept in any case; `max_sessions` one provider."""
        for name, value in (
            ("max_turns", max_turns),
            ("max_chars", max_chars),
            ("max_sessions", max_sessions),
        ):
            # `type() is int` rather than isinstance: True would pass for 1.
            if type(value) is not int or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
        self._path = None if path is None else Path(path)
        self._max_turns = max_turns
        self._max_chars = max_chars
        self._max_sessions = max_sessions
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    def history(self, session: SessionRef) -> Sequence[Turn]:
        """The turns of `session`, oldest first. Raises `ProviderError`: `session-lost`, or `unavailable` with what is wrong."""
        with self._errors("read"):
            rows: list[tuple[int, str | None, str]] = (
                self._open()
                .execute(
                    "SELECT lost, input, output FROM session LEFT JOIN turn ON turn.session = session.key"
                    " WHERE provider_id = ? AND id = ? ORDER BY turn.key",
                    (session.provider_id, session.id),
                )
                .fetchall()
            )
        if rows and rows[0][0]:
            raise _session_lost()
        return tuple(Turn(input, output) for _, input, output in rows if input is not None)

    def append(self, session: SessionRef, turn: Turn, accept: Callable[[], bool]) -> bool:
        """Add `turn` if `accept()` says so, and return what it said; what it raises is raised, and then nothing is added.

        Raises `ProviderError` before `accept` is called: `session-lost`, or `unavailable` with what is wrong. Should the system
        fail to write after `accept` has said yes, which it does not do short of a full disk, it raises `unavailable` too.
        """
        with self._errors("written"):
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            self._write(connection, session, turn)
        try:
            stands = accept()
        except BaseException:
            self._roll_back()
            raise
        if not stands:
            self._roll_back()
            return False
        with self._errors("written"):
            connection.execute("COMMIT")
        return True

    def close(self) -> None:
        """Close the file. Idempotent; a use after it raises `ProviderError` with reason `unavailable`."""
        self._closed = True
        self._drop()

    def _open(self) -> sqlite3.Connection:
        if self._closed:
            raise ProviderError("the store of conversations is closed", reason="unavailable")
        if self._connection is None:
            if self._path is not None:
                _create_private(self._path)
            connection = sqlite3.connect(
                ":memory:" if self._path is None else self._path,
                timeout=BUSY_TIMEOUT_S,
                isolation_level=None,  # transactions are written out
                check_same_thread=False,  # one at a time, says the contract; a Host may close it from where it ends
            )
            try:
                _prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _write(self, connection: sqlite3.Connection, session: SessionRef, turn: Turn) -> None:
        key = self._touch(connection, session)
        # What a provider emits may hold what UTF-8 cannot; a realm sees it repaired in the same way (rule D1).
        input, output = encodable(turn.input), encodable(turn.output)
        connection.execute(
            "INSERT INTO turn (session, chars, input, output) VALUES (?, ?, ?, ?)",
            (key, len(input) + len(output), input, output),
        )
        self._trim(connection, key)
        self._bury(connection, session.provider_id)

    def _touch(self, connection: sqlite3.Connection, session: SessionRef) -> int:
        """The key of `session`, which is now the last one used."""
        lost = connection.execute(
            "SELECT lost FROM session WHERE provider_id = ? AND id = ?", (session.provider_id, session.id)
        ).fetchone()
        if lost is not None and lost[0]:
            raise _session_lost()
        row: tuple[int] = connection.execute(
            "INSERT INTO session (provider_id, id, lost, used)"
            " SELECT ?1, ?2, 0, coalesce(max(used), 0) + 1 FROM session WHERE provider_id = ?1 AND lost = 0"
            " ON CONFLICT (provider_id, id) DO UPDATE SET used = excluded.used RETURNING key",
            (session.provider_id, session.id),
        ).fetchone()
        return row[0]

    def _trim(self, connection: sqlite3.Connection, key: int) -> None:
        """Drop the oldest turns of a session that its bounds do not hold."""
        kept, chars = 0, 0
        for turn_key, turn_chars in connection.execute(
            "SELECT key, chars FROM turn WHERE session = ? ORDER BY key DESC", (key,)
        ).fetchall():
            kept, chars = kept + 1, chars + turn_chars
            if kept > 1 and (kept > self._max_turns or chars > self._max_chars):
                connection.execute("DELETE FROM turn WHERE session = ? AND key <= ?", (key, turn_key))
                return

    def _bury(self, connection: sqlite3.Connection, provider_id: str) -> None:
        """Take their turns from the sessions that are too many, and forget the oldest of those that have none."""
        buried = connection.execute(
            "UPDATE session SET lost = 1 WHERE key IN (SELECT key FROM session WHERE provider_id = ? AND lost = 0"
            " ORDER BY used DESC LIMIT -1 OFFSET ?) RETURNING key",
            (provider_id, self._max_sessions),
        ).fetchall()
        if buried:
            connection.executemany("DELETE FROM turn WHERE session = ?", buried)
            connection.execute(
                "DELETE FROM session WHERE key IN (SELECT key FROM session WHERE provider_id = ? AND lost = 1"
                " ORDER BY used DESC LIMIT -1 OFFSET ?)",
                (provider_id, MAX_TOMBSTONES),
            )

    @contextmanager
    def _errors(self, what: str) -> Generator[None]:
        """Turn what the system or SQLite raises into `ProviderError`, and leave no transaction behind."""
        try:
            yield
        except BaseException as error:
            self._roll_back()
            if not isinstance(error, (sqlite3.Error, OSError, UnicodeError)):
                raise
            if self._path is not None:
                self._drop()  # the next use looks at the file anew: it may have been put right
            cause = f"the store of conversations cannot be {what}: {_describe(error)}"
            _log.warning("%s (%s)", scrub(cause), presentable(str(self._path)))
            raise ProviderError(cause, reason="unavailable") from None

    def _roll_back(self) -> None:
        connection = self._connection
        if connection is None or not connection.in_transaction:
            return
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._drop()  # a closed connection has no transaction

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _session_lost() -> ProviderError:
    return ProviderError(
        "this conversation is too old and has been dropped: begin a new one", reason="session-lost"
    )


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


def _prepare(connection: sqlite3.Connection) -> None:
    """Check that the file is a store of this version, or make it one if it is empty. Any other is not written to."""
    application, version = _identity(connection)
    if (application, version) != (APPLICATION_ID, SCHEMA_VERSION):
        connection.execute("BEGIN IMMEDIATE")
        # Again, under the lock: another Host may have been first.
        application, version = _identity(connection)
        if application == 0 and version == 0 and not _one(connection, "SELECT count(*) FROM sqlite_master"):
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif application != APPLICATION_ID:
            raise sqlite3.DatabaseError("the file is a database of another program")
        elif version != SCHEMA_VERSION:
            raise sqlite3.DatabaseError(
                f"the file has version {version}, and this program reads {SCHEMA_VERSION}"
            )
        connection.execute("COMMIT")
    if _one(connection, "PRAGMA journal_mode") not in ("wal", "memory"):
        connection.execute("PRAGMA journal_mode = WAL")
    # With WAL this loses at most the last turns when the machine, not the program, dies; the file stays whole.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _identity(connection: sqlite3.Connection) -> tuple[object, object]:
    return _one(connection, "PRAGMA application_id"), _one(connection, "PRAGMA user_version")


def _one(connection: sqlite3.Connection, query: str) -> object:
    row: tuple[object] = connection.execute(query).fetchone()
    return row[0]
