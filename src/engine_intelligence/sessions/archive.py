"""A store of conversations as a person looks at it: from outside, while Hosts use it."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from engine_intelligence.activity import SessionRef
from engine_intelligence.conversation import Turn
from engine_intelligence.errors import SetupError
from engine_intelligence.sessions.opening import OpenStore, open_existing
from engine_intelligence.sessions.schema import define_functions, turn_columns
from engine_intelligence.sqlite_files import describe

# A person waits for longer than a game does.
BUSY_TIMEOUT_S = 5.0


class SessionSummary(NamedTuple):
    """What is known of one session without reading it out."""

    session: SessionRef
    turns: int
    tokens: int
    """About how many, by `turn_tokens`."""
    used_at: int | None
    """When its latest turn was added, in seconds since 1970; `None` where an older version of the store did not note it."""
    lost: bool
    """Whether its turns were dropped or deleted: whoever continues it is told `session-lost`."""


class ConversationArchive:
    """The store in the file `path`, which has to be there: it is never made, nor changed but by `delete`.

    A Host that uses it meanwhile is not kept waiting: each method reads or writes one session at a time and then lets go.
    Raises `SetupError`, also from its methods: `store-missing`, or `store-unusable` with what is wrong. Close it, or use it
    in a `with` statement. For one thread.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            raise SetupError("store-missing", f"There is no store of conversations at {path}.")
        with self._told():
            self._opened: OpenStore = open_existing(path, busy_timeout_s=BUSY_TIMEOUT_S)
        define_functions(self._opened.connection)

    def __enter__(self) -> ConversationArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def summaries(self) -> list[SessionSummary]:
        """All sessions, by provider, the latest used first; those that are lost last."""
        old = self._opened.version < 2
        tokens, used_at = ("turn_tokens(input, output)", "NULL") if old else ("tokens", "used_at")
        with self._told():
            rows = self._opened.connection.execute(
                f"SELECT provider_id, id, count(turn.key), coalesce(sum({tokens}), 0), {used_at}, lost"  # noqa: S608 - constants
                " FROM session LEFT JOIN turn ON turn.session = session.key GROUP BY session.key"
                " ORDER BY provider_id, lost, used DESC"
            ).fetchall()
        return [
            SessionSummary(SessionRef(provider_id, id), turns, of_all, at, bool(lost))
            for provider_id, id, turns, of_all, at, lost in rows
        ]

    def find(self, session: SessionRef) -> SessionSummary | None:
        """The summary of one session; `None` if the store does not know it."""
        return next((each for each in self.summaries() if each.session == session), None)

    def turns(self, session: SessionRef) -> Sequence[Turn]:
        """The turns of a session, oldest first; none for one that is lost or not known."""
        with self._told():
            rows = self._opened.connection.execute(
                f"SELECT {turn_columns(self._opened.version)}"  # noqa: S608 - one of two constants
                " FROM session JOIN turn ON turn.session = session.key WHERE provider_id = ? AND id = ? ORDER BY turn.key",
                (session.provider_id, session.id),
            ).fetchall()
        return tuple(Turn(*row) for row in rows)

    def delete(self, session: SessionRef) -> bool:
        """Take its turns from a session and leave it lost. Returns whether the store knew it.

        The texts are gone from the file when this returns, unless a Host is reading at that moment: then when it next writes
        its log back.
        """
        connection = self._opened.connection
        with self._told():
            connection.execute("BEGIN IMMEDIATE")
            found = connection.execute(
                "UPDATE session SET lost = 1 WHERE provider_id = ? AND id = ? RETURNING key",
                (session.provider_id, session.id),
            ).fetchone()
            if found is not None:
                connection.execute("DELETE FROM turn WHERE session = ?", found)
            connection.execute("COMMIT")
        self._write_back()
        return found is not None

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._opened.close()

    def _write_back(self) -> None:
        """Empty the log, where the old texts are as well, if that can be done without waiting for anybody."""
        connection = self._opened.connection
        try:
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error:
            pass  # a Host is at work, and writes it back itself
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")

    @contextmanager
    def _told(self) -> Generator[None]:
        """What is wrong with the file, as a sentence for a person."""
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeError) as error:
            opened: OpenStore | None = getattr(self, "_opened", None)
            if opened is not None and opened.connection.in_transaction:
                opened.connection.rollback()
            raise SetupError(
                "store-unusable",
                f"The store of conversations {self._path} cannot be used: {describe(error)}.",
            ) from None
