"""Conversations in a SQLite file: private, bounded, and shared by as many Hosts as there are games running.

What is bounded: the turns of a session, by number and by an estimate of tokens, dropped oldest first and whole; and the
sessions of a provider, of which those not continued for longest lose their turns. They leave a tombstone of some bytes, so that
a save-game that comes back to one is told `session-lost` rather than met by somebody who has forgotten everything (rule P7).
Tombstones are bounded too: of more than `MAX_TOMBSTONES` the oldest go, and a session that old begins anew.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine_intelligence.activity import SessionRef
from engine_intelligence.conversation import Turn, turn_tokens
from engine_intelligence.errors import ProviderError
from engine_intelligence.scrubbing import encodable, presentable, scrub
from engine_intelligence.sessions.bounds import Bounds
from engine_intelligence.sessions.opening import OpenStore, open_file, open_in_memory
from engine_intelligence.sessions.schema import turn_columns
from engine_intelligence.sqlite_files import describe

_log = logging.getLogger(__name__)

MAX_TOMBSTONES = 10_000
"""Lost sessions that are remembered, per provider: of 100 bytes each, a megabyte."""

_DEFAULTS = Bounds()


class SqliteConversationStore:
    """A `ConversationStore` in the file `path`, or in memory where that is `None`.

    Nothing is opened or created before the first use, and a file that cannot be used raises then, as the contract of the store
    says: construction raises only `ValueError`, for a bad argument. A file that is not such a store, or is damaged, is left
    as it is; one that may only be read gives its turns, and refuses new ones. Used from one thread at a time.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        max_turns: int = _DEFAULTS.max_turns,
        max_tokens: int = _DEFAULTS.max_tokens,
        max_sessions: int = _DEFAULTS.max_sessions,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`max_turns` and `max_tokens` bound one session, whose latest turn is kept in any case; `max_sessions` one provider.

        Tokens are those of `turn_tokens`. `clock` is seconds since 1970, and tells people when a session was last used.
        """
        self._path = None if path is None else Path(path)
        self._bounds = Bounds(max_turns=max_turns, max_tokens=max_tokens, max_sessions=max_sessions)
        self._clock = clock
        self._opened: OpenStore | None = None
        self._closed = False
        # A turn that stands, and that the system failed to write at the last moment. No other is taken before it is written.
        self._owed: tuple[SessionRef, Turn] | None = None

    def history(self, session: SessionRef) -> Sequence[Turn]:
        """The turns of `session`, oldest first. Raises `ProviderError`: `session-lost`, or `unavailable` with what is wrong."""
        with self._errors("read"):
            opened = self._open()
            rows: list[tuple[int, str | None, str, str | None]] = opened.connection.execute(
                f"SELECT lost, {turn_columns(opened.version)}"  # noqa: S608 - one of two constants
                " FROM session LEFT JOIN turn ON turn.session = session.key"
                " WHERE provider_id = ? AND id = ? ORDER BY turn.key",
                (session.provider_id, session.id),
            ).fetchall()
            if opened.snapshot:
                self._drop()
        if rows and rows[0][0]:
            raise _session_lost()
        turns = [Turn(input, output, remote) for _, input, output, remote in rows if input is not None]
        if self._owed is not None and self._owed[0] == session:
            turns.append(self._owed[1])
        return tuple(turns)

    def append(self, session: SessionRef, turn: Turn, accept: Callable[[], bool]) -> bool:
        """Add `turn` if `accept()` says so, and return what it said; what it raises is raised, and then nothing is added.

        Raises `ProviderError` before `accept` is called: `session-lost`, or `unavailable` with what is wrong. Should the system
        fail to write after `accept` has said yes, as it does where the disk is just then full, the turn is kept in memory and
        written as soon as that succeeds, before any other turn is accepted.
        """
        self._settle()
        with self._errors("written"):
            connection = self._open().connection
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
        try:
            with self._errors("written"):
                connection.execute("COMMIT")
        except ProviderError:
            self._owed = (session, turn)
        return True

    def close(self) -> None:
        """Close the file. Idempotent; a use after it raises `ProviderError` with reason `unavailable`."""
        if not self._closed:
            try:
                self._settle()
            except ProviderError:
                _log.error("the store of conversations was closed with a turn that could not be written")
        self._closed = True
        self._drop()

    def _settle(self) -> None:
        """Write the turn that is owed, if there is one. Raises `ProviderError` if that fails."""
        if self._owed is None:
            return
        with self._errors("written"):
            connection = self._open().connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._write(connection, *self._owed)
            except ProviderError:  # its session is lost by now, and it with it
                self._roll_back()
            else:
                connection.execute("COMMIT")
        self._owed = None

    def _open(self) -> OpenStore:
        if self._closed:
            raise ProviderError("the store of conversations is closed", reason="unavailable")
        if self._opened is not None and not self._opened.current:
            self._drop()
        if self._opened is None:
            self._opened = open_in_memory() if self._path is None else open_file(self._path)
        return self._opened

    def _write(self, connection: sqlite3.Connection, session: SessionRef, turn: Turn) -> None:
        key = self._touch(connection, session)
        # What a provider emits may hold what UTF-8 cannot; a realm sees it repaired in the same way (rule D1).
        turn = Turn(
            encodable(turn.input),
            encodable(turn.output),
            None if turn.remote is None else encodable(turn.remote),
        )
        connection.execute(
            "INSERT INTO turn (session, tokens, input, output, remote) VALUES (?, ?, ?, ?, ?)",
            (key, turn_tokens(turn), turn.input, turn.output, turn.remote),
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
            "INSERT INTO session (provider_id, id, lost, used, used_at)"
            " SELECT ?1, ?2, 0, coalesce(max(used), 0) + 1, ?3 FROM session WHERE provider_id = ?1 AND lost = 0"
            " ON CONFLICT (provider_id, id) DO UPDATE SET used = excluded.used, used_at = excluded.used_at RETURNING key",
            (session.provider_id, session.id, int(self._clock())),
        ).fetchone()
        return row[0]

    def _trim(self, connection: sqlite3.Connection, key: int) -> None:
        """Drop the oldest turns of a session that its bounds do not hold."""
        kept, tokens, bounds = 0, 0, self._bounds
        for turn_key, of_turn in connection.execute(
            "SELECT key, tokens FROM turn WHERE session = ? ORDER BY key DESC", (key,)
        ).fetchall():
            kept, tokens = kept + 1, tokens + of_turn
            if kept > 1 and (kept > bounds.max_turns or tokens > bounds.max_tokens):
                connection.execute("DELETE FROM turn WHERE session = ? AND key <= ?", (key, turn_key))
                return

    def _bury(self, connection: sqlite3.Connection, provider_id: str) -> None:
        """Take their turns from the sessions that are too many, and forget the oldest of those that have none."""
        buried = connection.execute(
            "UPDATE session SET lost = 1 WHERE key IN (SELECT key FROM session WHERE provider_id = ? AND lost = 0"
            " ORDER BY used DESC LIMIT -1 OFFSET ?) RETURNING key",
            (provider_id, self._bounds.max_sessions),
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
            cause = f"the store of conversations cannot be {what}: {describe(error)}"
            _log.warning("%s (%s)", scrub(cause), presentable(str(self._path)))
            raise ProviderError(cause, reason="unavailable") from None

    def _roll_back(self) -> None:
        opened = self._opened
        if opened is None or not opened.connection.in_transaction:
            return
        try:
            opened.connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._drop()  # a closed connection has no transaction

    def _drop(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()


def _session_lost() -> ProviderError:
    return ProviderError(
        "this conversation is too old or was deleted: begin a new one", reason="session-lost"
    )
