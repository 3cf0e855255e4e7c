"""The windows against a model that keeps every start and every token, whatever the clock and the Hosts do."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.spending_parts import WallClock, account, refusal, tokens_of, wait_s

from engine_intelligence.spending.ledger import Ledger

A_MINUTE, A_DAY = 3, 100
MINUTE_MS, DAY_MS = 60_000, 86_400_000


class Model:
    """What one account holds: each start, and each sum of tokens with the minute it was spent in."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.spent: list[tuple[int, int]] = []

    def settle(self, now_ms: int) -> None:
        """What lies in the future was counted by a clock that has gone back. What no longer counts is forgotten."""
        minute = now_ms // MINUTE_MS
        self.starts = [min(at, now_ms) for at in self.starts if now_ms - at < MINUTE_MS]
        self.spent = [
            (min(at, minute), tokens) for at, tokens in self.spent if now_ms < (at + 1) * MINUTE_MS + DAY_MS
        ]

    def starts_at(self, now_ms: int) -> int:
        return sum(now_ms - at < MINUTE_MS for at in self.starts)

    def tokens_at(self, now_ms: int) -> int:
        return sum(tokens for at, tokens in self.spent if now_ms < (at + 1) * MINUTE_MS + DAY_MS)

    def allows(self, now_ms: int) -> bool:
        return self.starts_at(now_ms) < A_MINUTE and self.tokens_at(now_ms) < A_DAY

    def free_ms(self, now_ms: int) -> int:
        """The first moment at which it allows another one: only then something ceases to count."""
        moments = [at + MINUTE_MS for at in self.starts]
        moments += [(at + 1) * MINUTE_MS + DAY_MS for at, _ in self.spent]
        return min(moment for moment in moments if moment > now_ms and self.allows(moment))


class Windows(RuleBasedStateMachine):
    """Two accounts, of which one is counted on by all Activities, and two Hosts."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = WallClock()
        self.ledgers = [self.opened(), self.opened()]
        self.models = {"oracle": Model(), None: Model()}
        self.accounts = [account(name, a_minute=A_MINUTE, a_day=A_DAY) for name in self.models]

    def opened(self) -> Ledger:
        return Ledger(self.folder / "spending.sqlite3", clock_ns=self.clock)

    def teardown(self) -> None:
        for ledger in self.ledgers:
            ledger.close()
        shutil.rmtree(self.folder)

    @rule(
        ms=st.sampled_from(
            [1, 999, 20_000, 59_999, 60_000, 60_001, 3_600_000, DAY_MS - 1, DAY_MS, DAY_MS + 60_000]
        )
    )
    def time_passes(self, ms: int) -> None:
        self.clock.advance(ms=ms)

    @rule(ms=st.sampled_from([1, 30_000, 60_000, 3_600_000, 3 * DAY_MS]))
    def the_clock_is_set_back(self, ms: int) -> None:
        self.clock.advance(ms=-ms)

    @rule(host=st.sampled_from([0, 1]), tokens=st.integers(1, 120), together=st.booleans())
    def tokens_are_spent(self, host: int, tokens: int, together: bool) -> None:
        chosen = self.accounts if together else self.accounts[1:]
        self.ledgers[host].spend(chosen, tokens)
        for each in chosen:
            self.models[each.provider].spent.append((self.clock.now_ms // MINUTE_MS, tokens))

    @rule(host=st.sampled_from([0, 1]))
    def a_host_is_started_again(self, host: int) -> None:
        self.ledgers[host].close()
        self.ledgers[host] = self.opened()

    @rule(host=st.sampled_from([0, 1]))
    def an_activity_is_asked_for(self, host: int) -> None:
        now_ms, models = self.clock.now_ms, list(self.models.values())
        for model in models:
            model.settle(now_ms)
        full = [model for model in models if not model.allows(now_ms)]
        if full:
            # Each account is free again at its own first moment, and all of them at the last of these.
            wait_ms = max(model.free_ms(now_ms) for model in full) - now_ms
            assert wait_ms <= DAY_MS + MINUTE_MS
            assert wait_s(self.ledgers[host], self.accounts) == wait_ms / 1000
            return
        self.ledgers[host].admit(self.accounts)
        for model in models:
            model.starts.append(now_ms)

    @invariant()
    def what_is_shown_is_what_was_spent(self) -> None:
        now_ms = self.clock.now_ms
        for name, model in self.models.items():
            assert tokens_of(self.ledgers[1], name) == model.tokens_at(now_ms)


Windows.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestWindows = Windows.TestCase


def test_an_activity_is_allowed_after_the_wait_and_not_a_millisecond_before(
    ledger: Ledger, clock: WallClock
) -> None:
    accounts = [account(a_minute=2)]
    ledger.admit(accounts)
    clock.advance(ms=1234)
    ledger.admit(accounts)
    error = refusal(ledger, accounts)
    assert (error.reason, error.retry_after_s) == ("rate-limited", 58.766)
    clock.advance(ms=58_765)
    assert refusal(ledger, accounts).retry_after_s == 0.001
    clock.advance(ms=1)
    ledger.admit(accounts)


def test_a_day_ends_when_the_minute_of_the_last_token_too_many_is_24_hours_old(
    ledger: Ledger, clock: WallClock
) -> None:
    accounts = [account(a_day=100)]
    ledger.spend(accounts, 40)
    clock.advance(hours=2)
    ledger.spend(accounts, 60)
    clock.advance(hours=1)
    # The first 40 were spent 250 ms into their minute, three hours ago.
    left_ms = 21 * 3_600_000 + 60_000 - 250
    error = refusal(ledger, accounts)
    assert (error.reason, error.retry_after_s) == ("rate-limited", left_ms / 1000)
    clock.advance(ms=left_ms - 1)
    assert refusal(ledger, accounts).retry_after_s == 0.001
    clock.advance(ms=1)
    ledger.admit(accounts)


def test_a_clock_that_is_set_back_by_a_year_locks_nobody_out_for_longer_than_a_window(
    ledger: Ledger, clock: WallClock
) -> None:
    by_minute, by_day = [account("minute", a_minute=1)], [account("day", a_day=1)]
    ledger.admit(by_minute)
    ledger.spend(by_day, 1)
    clock.advance(hours=-365 * 24)
    assert refusal(ledger, by_minute).retry_after_s == 60
    day_s = refusal(ledger, by_day).retry_after_s
    assert day_s is not None
    assert day_s <= 86_460
    clock.advance(s=60)
    ledger.admit(by_minute)
    clock.advance(s=day_s - 60)
    ledger.admit(by_day)
