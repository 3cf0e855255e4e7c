"""How long ago something still counts. All times are whole milliseconds of the wall clock, since 1970.

Both windows slide, so that no 60 seconds and no 24 hours hold more than a budget, wherever one begins to count, and so that
the time until a budget is free follows from what was spent alone. A calendar day would allow two budgets within the minutes
around midnight, and would depend on the time zone of the machine.

Starts are counted one by one. Tokens are summed by the minute in which they were spent, which bounds what is kept to 1441
sums a budget, and each sum counts until the last of its minute is 24 hours old.
"""

from __future__ import annotations

from collections.abc import Iterable

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
DAY_MS = 24 * 60 * MINUTE_MS


def minute_of(now_ms: int) -> int:
    """The number of the minute that `now_ms` is in."""
    return now_ms // MINUTE_MS


def oldest_start_ms(now_ms: int) -> int:
    """The oldest start that still counts."""
    return now_ms - MINUTE_MS + 1


def oldest_minute(now_ms: int) -> int:
    """The oldest minute whose tokens still count."""
    return (now_ms - DAY_MS) // MINUTE_MS


def free_after_start_ms(start_ms: int) -> int:
    """When a start no longer counts."""
    return start_ms + MINUTE_MS


def free_after_tokens_ms(spent: Iterable[tuple[int, int]], limit: int) -> int | None:
    """When less than `limit` of the tokens count, or `None` if that is so already.

    `spent` is minutes and what was spent in each, oldest first, all of which still count.
    """
    spent = list(spent)
    left = sum(tokens for _, tokens in spent)
    if left < limit:
        return None
    for minute, tokens in spent:
        left -= tokens
        if left < limit:
            return (minute + 1) * MINUTE_MS + DAY_MS
    raise AssertionError("nothing is less than the least limit")
