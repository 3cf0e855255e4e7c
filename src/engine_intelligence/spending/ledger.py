"""The ledger: what was spent, and whether spending is stopped. One file for as many Hosts as there are, which are counted
together.

Theory of operation. Nothing is admitted that is not written: a start is counted in the transaction that allows it, so that
two Hosts at once pass no bound. What was spent comes from any thread, and must not be lost or make its thread wait for
another: it is put into a queue, which is atomic, and written by whoever gets the lock. Who does not get it leaves, because
the holder looks into the queue again. Where it cannot be written it stays in the queue, and nothing is admitted before it is
written. So a ledger that cannot be used stops spending, and never lets it go on uncounted.

Times are those of the wall clock, because they outlive the machine. A clock that goes back would have what was counted lie
in the future, and count for longer: that is moved to now, so that nobody is locked out for longer than a window. Whoever can
set the clock forward can spend more.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from engine_intelligence.errors import ProviderError
from engine_intelligence.scrubbing import encodable
from engine_intelligence.spending.budget import Account, Budget
from engine_intelligence.spending.schema import FORM
from engine_intelligence.spending.windows import (
    DAY_MS,
    MINUTE_MS,
    SECOND_MS,
    free_after_start_ms,
    free_after_tokens_ms,
    minute_of,
    oldest_minute,
    oldest_start_ms,
)
from engine_intelligence.sqlite_files import BUSY_TIMEOUT_S, SqliteFile, one

STOPPED = "spending was stopped; to let it go on, call: engine-intelligence spending resume"
"""What a game is told while the switch is thrown."""

ADVICE = "Until it can, nothing may be spent; to see what is wrong, call: engine-intelligence spending show"

FILE_NAME = "spending.sqlite3"
"""The name of the ledger in the data directory."""


class Line(NamedTuple):
    """What one account has spent."""

    host: str
    provider: str | None
    """`None` for all providers of that Host together."""
    budget: Budget
    activities: int
    """Started in the last minute, where that is bounded."""
    tokens: int
    """Of output, in the last 24 hours."""
    free_in_s: float
    """After how many seconds another Activity may start; 0 if it may now."""


class _Spent(NamedTuple):
    """Tokens that wait to be written."""

    accounts: Sequence[Account]
    minute: int
    tokens: int


class Ledger:
    """The ledger in the file `path`, or in memory where that is `None`. Any thread may call it.

    Nothing is opened or created before the first use. `clock_ns` is the wall clock, in nanoseconds since 1970.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, *, clock_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._file = SqliteFile(path, FORM)
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._waiting: deque[_Spent] = deque()
        self._is_behind = False
        self._stopped = False

    # For those who spend

    def admit(self, accounts: Sequence[Account]) -> None:
        """Count the start of an Activity on each of `accounts`, if all of them and the switch allow it.

        Raises `ProviderError`: `rate-limited` with the time until all are free, if nothing else is spent meanwhile, or
        `unavailable` while spending is stopped or the ledger cannot be used. Then nothing is counted. It waits for other
        programs, for `BUSY_TIMEOUT_S` at most.
        """
        with self._writing() as connection:
            now_ms = self._now_ms()
            _prune(connection, now_ms)
            stopped = _stopped_at_ms(connection) is not None
            keys = [] if stopped else [_touch(connection, account, now_ms) for account in accounts]
            refusals = [
                refusal for key, account in keys if (refusal := _refusal(connection, key, account, now_ms))
            ]
            if not stopped and not refusals:
                _count_start(connection, keys, now_ms)
        # Raised outside: also what is refused has written what waited.
        if stopped:
            raise ProviderError(STOPPED, reason="unavailable")
        if refusals:
            free_ms, cause = max(refusals)
            raise ProviderError(cause, reason="rate-limited", retry_after_s=(free_ms - now_ms) / SECOND_MS)

    def spend(self, accounts: Sequence[Account], tokens: int) -> None:
        """Count tokens of output on each of `accounts`; a negative number takes back what was counted too much.

        It raises nothing and loses nothing: what cannot be written is kept, and written before anything is admitted. It does
        not wait for other threads, and for other programs for `BUSY_TIMEOUT_S` at most.
        """
        if tokens and accounts:
            self._waiting.append(_Spent(accounts, minute_of(self._now_ms()), tokens))
            self._write_waiting()

    @property
    def is_behind(self) -> bool:
        """Whether something was spent that could not be written yet."""
        return self._is_behind

    def is_stopped(self) -> bool:
        """Whether spending is stopped, to be asked again and again: it waits for nobody, and raises nothing.

        While the ledger cannot be read it is what was seen last.
        """
        if self._lock.acquire(blocking=False):
            try:
                self._stopped = _stopped_at_ms(self._file.open()) is not None
            except (sqlite3.Error, OSError):
                self._file.close()  # whoever wants to spend is told
            finally:
                self._lock.release()
            if not self._is_behind:  # another attempt might wait for a program that hangs
                self._write_waiting()
        return self._stopped

    def close(self) -> None:
        """Write what waits, and close the file. Idempotent; a later use opens it again."""
        self._write_waiting()
        with self._lock:
            self._file.close()

    # For a person

    def stop(self) -> None:
        """Have every Host refuse new Activities and end those that run. Raises `ProviderError` if it cannot be written."""
        with self._durably(), self._writing() as connection:
            connection.execute("INSERT OR IGNORE INTO stopped (key, at) VALUES (1, ?)", (self._now_ms(),))

    def resume(self) -> None:
        """Let spending go on. Raises `ProviderError` if it cannot be written."""
        with self._durably(), self._writing() as connection:
            connection.execute("DELETE FROM stopped")

    def stopped_at_s(self) -> float | None:
        """When spending was stopped, in seconds since 1970, or `None` while it is not. Raises `ProviderError`."""
        with self._held(), self._file.errors("read"):
            at_ms = _stopped_at_ms(self._file.open())
        return None if at_ms is None else at_ms / SECOND_MS

    def lines(self) -> list[Line]:
        """What was spent, by account, of all that spent in the last 24 hours. Raises `ProviderError`."""
        with self._held(), self._file.errors("read"):
            return list(_lines(self._file.open(), self._now_ms()))

    # Inside

    def _now_ms(self) -> int:
        return self._clock_ns() // 1_000_000

    @contextmanager
    def _held(self) -> Generator[None]:
        if not self._lock.acquire(timeout=BUSY_TIMEOUT_S):
            raise ProviderError(f"{FORM.name} is busy. {ADVICE}", reason="unavailable")
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        """A transaction, in which what waits is written first."""
        with self._held(), self._transaction() as connection:
            yield connection
        self._write_waiting()  # what came meanwhile, and found the lock taken

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with self._file.errors("written", ADVICE):
            connection = self._file.open()
            # With a lock on the file from the beginning: what is read is still so when it is judged and written.
            connection.execute("BEGIN IMMEDIATE")
            waiting = len(self._waiting)
            for place in range(waiting):  # by place: others append meanwhile
                _count_tokens(connection, self._waiting[place], self._now_ms())
            yield connection
            connection.execute("COMMIT")
            for _ in range(waiting):
                self._waiting.popleft()  # only here, and only with the lock
            self._is_behind = False

    def _write_waiting(self) -> None:
        while self._waiting:
            if not self._lock.acquire(blocking=False):
                return  # its holder looks again
            try:
                with self._transaction():
                    pass
            except ProviderError:
                self._is_behind = True
                return  # which was logged
            finally:
                self._lock.release()

    @contextmanager
    def _durably(self) -> Generator[None]:
        """Have what is written outlive also a machine that dies at once."""
        with self._held(), self._file.errors("written"):
            self._file.open().execute("PRAGMA synchronous = FULL")
        try:
            yield
        finally:
            with self._held(), self._file.errors("written"):
                self._file.open().execute("PRAGMA synchronous = NORMAL")


def _stopped_at_ms(connection: sqlite3.Connection) -> int | None:
    at = one(connection, "SELECT at FROM stopped")
    return at if isinstance(at, int) else None


def _touch(connection: sqlite3.Connection, account: Account, now_ms: int) -> tuple[int, Account]:
    """The key of an account, which is made or brought up to date."""
    budget = account.budget
    row: tuple[int] = connection.execute(
        "INSERT INTO account (host, is_realm, provider, activities_per_minute, output_tokens_per_day, used_at)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (host, is_realm, provider) DO UPDATE SET used_at = excluded.used_at,"
        " activities_per_minute = excluded.activities_per_minute,"
        " output_tokens_per_day = excluded.output_tokens_per_day RETURNING key",
        (
            encodable(account.host),
            account.provider is None,
            encodable(account.provider or ""),
            budget.activities_per_minute,
            budget.output_tokens_per_day,
            now_ms,
        ),
    ).fetchone()
    return row[0], account


def _refusal(
    connection: sqlite3.Connection, key: int, account: Account, now_ms: int
) -> tuple[int, str] | None:
    """When an account that is used up is free again, and what is used up; `None` if it is free."""
    bounds = (
        (_free_of_starts_ms(connection, key, account.budget), "Activities a minute"),
        (_free_of_tokens_ms(connection, key, account.budget, now_ms), "output tokens a day"),
    )
    # Without the number, which a scrubbed text could not tell: it may have as many digits as a key.
    found = [
        (free_ms, f"the budget of {what} for {account.whose} is used up")
        for free_ms, what in bounds
        if free_ms is not None
    ]
    return max(found, default=None)


def _free_of_starts_ms(connection: sqlite3.Connection, key: int, budget: Budget) -> int | None:
    limit = budget.activities_per_minute
    if limit is None:
        return None
    # As many as may be are counted from the last one on: when the first of those no longer counts, there is a place.
    at = one(
        connection,
        "SELECT at FROM start WHERE account = ? ORDER BY at DESC LIMIT 1 OFFSET ?",
        (key, limit - 1),
    )
    return free_after_start_ms(at) if isinstance(at, int) else None


def _free_of_tokens_ms(connection: sqlite3.Connection, key: int, budget: Budget, now_ms: int) -> int | None:
    limit = budget.output_tokens_per_day
    if limit is None:
        return None
    spent: list[tuple[int, int]] = connection.execute(
        "SELECT minute, tokens FROM tokens WHERE account = ? AND minute >= ? ORDER BY minute",
        (key, oldest_minute(now_ms)),
    ).fetchall()
    return free_after_tokens_ms(spent, limit)


def _count_start(connection: sqlite3.Connection, keys: Sequence[tuple[int, Account]], now_ms: int) -> None:
    for key, account in keys:
        if account.budget.activities_per_minute is not None:  # so there are never more than that of them
            connection.execute("INSERT INTO start (account, at) VALUES (?, ?)", (key, now_ms))


def _count_tokens(connection: sqlite3.Connection, spent: _Spent, now_ms: int) -> None:
    for account in spent.accounts:
        key, _ = _touch(connection, account, now_ms)
        connection.execute(
            "INSERT INTO tokens (account, minute, tokens) VALUES (?, ?, ?)"
            " ON CONFLICT (account, minute) DO UPDATE SET tokens = tokens + excluded.tokens",
            (key, spent.minute, spent.tokens),
        )


def _prune(connection: sqlite3.Connection, now_ms: int) -> None:
    """Drop what no longer counts, and move what lies in the future to now."""
    minute = minute_of(now_ms)
    connection.execute("DELETE FROM start WHERE at < ?", (oldest_start_ms(now_ms),))
    connection.execute("DELETE FROM tokens WHERE minute < ?", (oldest_minute(now_ms),))
    connection.execute("DELETE FROM account WHERE used_at < ?", (now_ms - DAY_MS - MINUTE_MS,))
    connection.execute("UPDATE start SET at = ?1 WHERE at > ?1", (now_ms,))
    connection.execute("UPDATE account SET used_at = ?1 WHERE used_at > ?1", (now_ms,))
    connection.execute(
        "INSERT INTO tokens (account, minute, tokens)"
        " SELECT account, ?1, sum(tokens) FROM tokens WHERE minute > ?1 GROUP BY account"
        " ON CONFLICT (account, minute) DO UPDATE SET tokens = tokens + excluded.tokens",
        (minute,),
    )
    connection.execute("DELETE FROM tokens WHERE minute > ?", (minute,))


def _lines(connection: sqlite3.Connection, now_ms: int) -> Iterator[Line]:
    rows: list[tuple[int, str, int, str, int | None, int | None, int, int]] = connection.execute(
        "SELECT key, host, is_realm, provider, activities_per_minute, output_tokens_per_day,"
        " (SELECT count(*) FROM start WHERE account = key AND at >= ?),"
        " (SELECT coalesce(sum(tokens), 0) FROM tokens WHERE account = key AND minute >= ?)"
        " FROM account WHERE used_at >= ? ORDER BY host, is_realm DESC, provider",
        (oldest_start_ms(now_ms), oldest_minute(now_ms), now_ms - DAY_MS - MINUTE_MS),
    ).fetchall()
    for key, host, is_realm, provider, activities, tokens, started, spent in rows:
        budget = Budget(activities_per_minute=activities, output_tokens_per_day=tokens)
        account = Account(host, None if is_realm else provider, budget)
        refusal = _refusal(connection, key, account, now_ms)
        free_in_s = 0.0 if refusal is None else max(0, refusal[0] - now_ms) / SECOND_MS
        yield Line(host, account.provider, budget, started, max(0, spent), free_in_s)
