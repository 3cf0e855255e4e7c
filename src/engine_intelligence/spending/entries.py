"""What the ledger reads and writes in its file, each as a part of the caller's transaction. Times are those of `windows`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine_intelligence.scrubbing import encodable
from engine_intelligence.spending.budget import Account, Budget
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
from engine_intelligence.sqlite_files import one


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


class Spent(NamedTuple):
    """Tokens that wait to be written."""

    accounts: Sequence[Account]
    minute: int
    tokens: int


def stopped_at_ms(connection: sqlite3.Connection) -> int | None:
    """When the switch was thrown, or `None` while it is not."""
    at = one(connection, "SELECT at FROM stopped")
    return at if isinstance(at, int) else None


def touch(connection: sqlite3.Connection, account: Account, now_ms: int) -> tuple[int, Account]:
    """The key of an account, which is made or brought up to date."""
    budget = account.budget
    row: tuple[int] = connection.execute(
        "INSERT INTO account (host, is_realm, provider, activities_per_minute, output_tokens_per_day, used_at)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (host, is_realm, provider) DO UPDATE SET"
        " used_at = max(used_at, excluded.used_at),"
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


def refusal_of(
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


def count_start(connection: sqlite3.Connection, keys: Sequence[tuple[int, Account]], now_ms: int) -> None:
    """Count a start on each of the accounts, where it is bounded."""
    for key, account in keys:
        if account.budget.activities_per_minute is not None:  # so there are never more than that of them
            connection.execute("INSERT INTO start (account, at) VALUES (?, ?)", (key, now_ms))


def count_tokens(connection: sqlite3.Connection, spent: Spent, now_ms: int) -> None:
    """Count tokens on each of their accounts."""
    for account in spent.accounts:
        key, _ = touch(connection, account, now_ms)
        connection.execute(
            "INSERT INTO tokens (account, minute, tokens) VALUES (?, ?, ?)"
            " ON CONFLICT (account, minute) DO UPDATE SET tokens = tokens + excluded.tokens",
            (key, spent.minute, spent.tokens),
        )


def prune(connection: sqlite3.Connection, now_ms: int) -> None:
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


def read_lines(connection: sqlite3.Connection, now_ms: int) -> Iterator[Line]:
    """What each account has spent. It changes nothing."""
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
        refusal = refusal_of(connection, key, account, now_ms)
        free_in_s = 0.0 if refusal is None else max(0, refusal[0] - now_ms) / SECOND_MS
        yield Line(host, account.provider, budget, started, max(0, spent), free_in_s)
