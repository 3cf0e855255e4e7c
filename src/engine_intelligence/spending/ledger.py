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
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from engine_intelligence.errors import ProviderError
from engine_intelligence.spending.budget import Account
from engine_intelligence.spending.entries import (
    Line,
    Spent,
    count_start,
    count_tokens,
    prune,
    read_lines,
    refusal_of,
    stopped_at_ms,
    touch,
)
from engine_intelligence.spending.schema import FORM
from engine_intelligence.spending.windows import SECOND_MS, minute_of
from engine_intelligence.sqlite_files import BUSY_TIMEOUT_S, SqliteFile

STOPPED = "spending was stopped; to let it go on, call: engine-intelligence spending resume"
"""What a game is told while the switch is thrown."""

ADVICE = "Until it can, nothing may be spent; to see what is wrong, call: engine-intelligence spending show"

FILE_NAME = "spending.sqlite3"
"""The name of the ledger in the data directory."""


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
        self._waiting: deque[Spent] = deque()
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
            prune(connection, now_ms)
            stopped = stopped_at_ms(connection) is not None
            keys = [] if stopped else [touch(connection, account, now_ms) for account in accounts]
            refusals = [
                refusal for key, account in keys if (refusal := refusal_of(connection, key, account, now_ms))
            ]
            if not stopped and not refusals:
                count_start(connection, keys, now_ms)
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
            self._waiting.append(Spent(accounts, minute_of(self._now_ms()), tokens))
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
                self._stopped = stopped_at_ms(self._file.open()) is not None
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
        self._throw("INSERT OR IGNORE INTO stopped (key, at) VALUES (1, ?)", self._now_ms())

    def resume(self) -> None:
        """Let spending go on. Raises `ProviderError` if it cannot be written."""
        self._throw("DELETE FROM stopped")

    def stopped_at_s(self) -> float | None:
        """When spending was stopped, in seconds since 1970, or `None` while it is not. Raises `ProviderError`."""
        with self._held(), self._file.errors("read"):
            at_ms = stopped_at_ms(self._file.open())
        return None if at_ms is None else at_ms / SECOND_MS

    def lines(self) -> list[Line]:
        """What was spent, by account, of all that spent in the last 24 hours. Raises `ProviderError`."""
        with self._held(), self._file.errors("read"):
            return list(read_lines(self._file.open(), self._now_ms()))

    def check(self) -> None:
        """Raise `ProviderError` if the ledger cannot be written."""
        with self._writing():
            pass

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
                count_tokens(connection, self._waiting[place], self._now_ms())
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

    def _throw(self, statement: str, *values: object) -> None:
        with self._held(), self._file.errors("written"):
            connection = self._file.open()
            connection.execute(
                "PRAGMA synchronous = FULL"
            )  # a switch outlives also a machine that dies at once
            connection.execute(statement, values)
