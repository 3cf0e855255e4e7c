"""The ledger: counted together, kept over restarts, bounded, and never silent about what it cannot do."""

import os
import sqlite3
import stat
import sys
from pathlib import Path

import pytest
from support.spending_parts import WallClock, account, refusal, tokens_of, wait_s

from engine_intelligence.errors import ProviderError, provider_failed
from engine_intelligence.spending.entries import Line
from engine_intelligence.spending.ledger import ADVICE, STOPPED, Ledger


def told(error: ProviderError) -> str | None:
    """What a game is told of it."""
    return provider_failed("oracle", error).detail.cause


def opened(path: Path, clock: WallClock) -> Ledger:
    return Ledger(path, clock_ns=clock)


def rows(path: Path, table: str) -> int:
    connection = sqlite3.connect(path)
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.close()
    assert isinstance(count, int)
    return count


# What is counted, and on what


def test_what_was_counted_is_there_after_a_restart(path: Path, clock: WallClock) -> None:
    accounts = [account(a_minute=1)]
    before = opened(path, clock)
    before.admit(accounts)
    before.spend(accounts, 7)
    before.close()
    clock.advance(s=10)
    after = opened(path, clock)
    assert wait_s(after, accounts) == 50
    assert tokens_of(after) == 7
    after.close()


def test_two_hosts_are_counted_together(ledger: Ledger, path: Path, clock: WallClock) -> None:
    accounts = [account(a_minute=2)]
    other = opened(path, clock)
    ledger.admit(accounts)
    other.admit(accounts)
    assert wait_s(ledger, accounts) == wait_s(other, accounts) == 60
    other.close()


def test_providers_and_hosts_have_accounts_of_their_own(ledger: Ledger) -> None:
    for each in (
        account("oracle", a_minute=1),
        account("smith", a_minute=1),
        account("oracle", a_minute=1, host="b"),
    ):
        ledger.admit([each])


def test_an_account_of_all_providers_is_none_of_a_provider_without_a_name(ledger: Ledger) -> None:
    ledger.admit([account("", a_minute=1)])
    ledger.admit([account(None, a_minute=1)])


def test_what_one_account_refuses_is_counted_on_none(ledger: Ledger, clock: WallClock) -> None:
    own, shared = account(a_minute=1), account(None, a_minute=2)
    ledger.admit([own, shared])
    refusal(ledger, [own, shared])
    ledger.admit([account("smith"), shared])
    assert wait_s(ledger, [shared]) == 60


def test_the_wait_is_that_of_the_last_account_to_be_free(ledger: Ledger, clock: WallClock) -> None:
    own, shared = account(a_minute=1), account(None, a_minute=1)
    ledger.admit([own])
    clock.advance(s=20)
    ledger.admit([shared])
    clock.advance(s=10)
    error = refusal(ledger, [own, shared])
    assert error.retry_after_s == 50
    assert "all providers of this Host together" in error.cause


@pytest.mark.parametrize("whose", ["oracle", None])
@pytest.mark.parametrize(("a_minute", "a_day"), [(1, None), (None, 1)])
def test_a_game_is_told_in_full_which_budget_is_used_up(
    ledger: Ledger, whose: str | None, a_minute: int | None, a_day: int | None
) -> None:
    accounts = [account(whose, a_minute=a_minute, a_day=a_day)]
    ledger.admit(accounts)
    ledger.spend(accounts, 1)
    error = refusal(ledger, accounts)
    assert told(error) == error.cause
    assert "[...]" not in error.cause


def test_a_day_is_passed_by_the_token_that_reaches_its_bound(ledger: Ledger) -> None:
    accounts = [account(a_day=100)]
    ledger.spend(accounts, 99)
    ledger.admit(accounts)
    ledger.spend(accounts, 1)
    assert refusal(ledger, accounts).reason == "rate-limited"


def test_a_budget_that_is_set_later_knows_of_the_tokens_of_the_day(ledger: Ledger, clock: WallClock) -> None:
    ledger.spend([account()], 100)
    clock.advance(hours=23)
    assert refusal(ledger, [account(a_day=100)]).reason == "rate-limited"


def test_what_was_counted_too_much_is_taken_back(ledger: Ledger) -> None:
    accounts = [account(a_day=100)]
    ledger.spend(accounts, 100)
    ledger.spend(accounts, -1)
    ledger.admit(accounts)


def test_what_is_shown_is_what_counts(ledger: Ledger, clock: WallClock) -> None:
    own, shared = account(a_minute=1), account(None, a_day=5)
    ledger.admit([own, shared])
    ledger.spend([own, shared], 6)
    clock.advance(s=59)
    all_together, oracle = ledger.lines()
    assert oracle == Line(own.host, "oracle", own.budget, 1, 6, 1.0)
    assert (all_together.provider, all_together.activities, all_together.tokens) == (None, 0, 6)
    assert all_together.free_in_s == 86_400 + 60 - 59 - 0.25


def test_names_that_utf_8_cannot_encode_are_counted(ledger: Ledger) -> None:
    ledger.admit([account("\udce9", a_minute=1, host="/games/\udce9/host.toml")])


class InterruptingClock(WallClock):
    """A clock during whose first reading, which is in the midst of an admission, another Host asks."""

    def __init__(self, other: Ledger) -> None:
        super().__init__()
        self.reason: str | None = None
        self._other = other

    def __call__(self) -> int:
        if self.reason is None:
            self.reason = refusal(self._other, [account(a_minute=1)]).reason
        return super().__call__()


def test_nobody_is_admitted_while_another_is(path: Path, clock: WallClock) -> None:
    other = opened(path, clock)
    other.check()
    interrupting = InterruptingClock(other)
    ledger = Ledger(path, clock_ns=interrupting)
    ledger.admit([account(a_minute=1)])
    assert interrupting.reason == "unavailable"
    ledger.close()
    other.close()


# What is kept, and how


def test_the_ledger_stays_small_however_much_is_asked_and_spent(
    ledger: Ledger, path: Path, clock: WallClock
) -> None:
    accounts = [account(a_minute=5, a_day=10**9)]
    for _ in range(300):
        for _ in range(8):
            try:
                ledger.admit(accounts)
            except ProviderError:
                pass
            ledger.spend(accounts, 10)
        clock.advance(s=20)
    assert rows(path, "start") <= 5
    assert rows(path, "tokens") == 100
    clock.advance(hours=25)
    ledger.admit([account("other")])
    assert (rows(path, "start"), rows(path, "tokens"), rows(path, "account")) == (0, 0, 1)


def test_of_an_account_that_is_always_in_use_only_the_last_day_is_kept(
    ledger: Ledger, path: Path, clock: WallClock
) -> None:
    for _ in range(100):
        ledger.admit([account()])
        ledger.spend([account()], 10)
        clock.advance(hours=1)
    ledger.admit([account()])
    assert rows(path, "tokens") == 25 - 1


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such modes")
def test_the_ledger_is_for_its_owner_alone(ledger: Ledger, path: Path) -> None:
    ledger.admit([account()])
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}


def test_nothing_is_created_before_the_first_use(path: Path) -> None:
    Ledger(path).close()
    assert not path.parent.exists()


def test_a_closed_ledger_stands_alone_in_its_folder(ledger: Ledger, path: Path) -> None:
    ledger.admit([account()])
    ledger.close()
    ledger.close()
    assert os.listdir(path.parent) == ["spending.sqlite3"]


# The switch


def test_a_switch_that_is_thrown_stops_every_host_until_it_is_thrown_back(
    ledger: Ledger, path: Path, clock: WallClock
) -> None:
    other = opened(path, clock)
    ledger.admit([account()])
    other.stop()
    for each in (ledger, other):
        assert each.is_stopped()
        error = refusal(each, [account()])
        assert (error.reason, error.retry_after_s) == ("unavailable", None)
    other.resume()
    for each in (ledger, other):
        assert not each.is_stopped()
        each.admit([account()])
    other.close()


def test_a_switch_is_there_after_a_restart_and_tells_since_when(path: Path, clock: WallClock) -> None:
    before = opened(path, clock)
    before.stop()
    since_s = clock.now_ms / 1000
    before.close()
    clock.advance(hours=100)
    after = opened(path, clock)
    after.stop()
    assert after.stopped_at_s() == since_s
    assert refusal(after, [account()]).reason == "unavailable"
    after.close()


def test_what_is_refused_by_the_switch_is_not_counted(ledger: Ledger) -> None:
    accounts = [account(a_minute=1)]
    ledger.stop()
    refusal(ledger, accounts)
    ledger.resume()
    ledger.admit(accounts)


def test_a_game_is_told_in_full_that_spending_was_stopped_and_how_it_goes_on(ledger: Ledger) -> None:
    ledger.stop()
    assert told(refusal(ledger, [account()])) == STOPPED
    assert "engine-intelligence spending resume" in STOPPED


# A ledger that cannot be used


def unusable(ledger: Ledger) -> ProviderError:
    """How an Activity is refused where the ledger cannot be used; the game is told what to do."""
    error = refusal(ledger, [account()])
    assert error.reason == "unavailable"
    cause = told(error)
    assert cause is not None
    assert cause.endswith(ADVICE)
    return error


def test_a_file_that_is_no_database_refuses_activities_and_is_left_as_it_is(
    ledger: Ledger, path: Path
) -> None:
    path.parent.mkdir()
    path.write_bytes(b"precious " * 1000)
    assert "not a database" in unusable(ledger).cause
    assert path.read_bytes() == b"precious " * 1000


def test_a_damaged_ledger_refuses_activities(ledger: Ledger, path: Path) -> None:
    for number in range(200):
        ledger.spend([account(f"provider {number}" + "x" * 100)], 1)
    ledger.close()
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 40_000)
    unusable(ledger)


def test_a_database_of_another_program_refuses_activities(ledger: Ledger, path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE precious (x)")
    connection.close()
    assert "another program" in unusable(ledger).cause


def test_a_folder_that_cannot_be_made_refuses_activities(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    ledger = Ledger(tmp_path / "data" / "spending.sqlite3")
    unusable(ledger)


def test_a_read_only_ledger_refuses_activities_and_can_be_shown(
    ledger: Ledger, path: Path, clock: WallClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.spend([account()], 7)
    ledger.close()
    connect = sqlite3.connect

    def read_only(
        database: Path, *, timeout: float, isolation_level: None, check_same_thread: bool
    ) -> sqlite3.Connection:
        # As the system opens a file that may not be written; the user who runs the tests may write to all of them.
        return connect(
            f"file:{database}?mode=ro",
            uri=True,
            timeout=timeout,
            isolation_level=isolation_level,
            check_same_thread=check_same_thread,
        )

    monkeypatch.setattr(sqlite3, "connect", read_only)
    assert "read-only" in unusable(ledger).cause
    assert tokens_of(ledger) == 7


def test_a_ledger_that_another_program_holds_refuses_activities_until_it_lets_go(
    ledger: Ledger, path: Path
) -> None:
    ledger.admit([account()])
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert "locked" in unusable(ledger).cause
    holder.execute("COMMIT")
    ledger.admit([account()])
    holder.close()


def test_what_cannot_be_written_is_kept_and_counted_before_anything_is_admitted(
    ledger: Ledger, path: Path
) -> None:
    accounts = [account(a_day=5)]
    ledger.admit(accounts)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    ledger.spend(accounts, 5)
    states = [ledger.is_behind]
    holder.execute("COMMIT")
    holder.close()
    assert refusal(ledger, accounts).reason == "rate-limited"
    states.append(ledger.is_behind)
    assert states == [True, False]
    assert tokens_of(ledger) == 5


def test_what_cannot_be_written_is_written_at_the_close(ledger: Ledger, path: Path, clock: WallClock) -> None:
    ledger.admit([account()])
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    ledger.spend([account()], 5)
    holder.execute("COMMIT")
    holder.close()
    ledger.close()
    assert tokens_of(ledger) == 5


def test_a_look_at_the_switch_does_not_wait_for_whoever_holds_the_ledger(ledger: Ledger, path: Path) -> None:
    ledger.stop()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert ledger.is_stopped()
    holder.execute("COMMIT")
    holder.close()


def test_a_look_at_a_ledger_that_became_unreadable_tells_what_was_seen_last(
    ledger: Ledger, path: Path
) -> None:
    ledger.stop()
    assert ledger.is_stopped()
    ledger.close()
    path.write_bytes(b"rubbish" * 1000)
    assert ledger.is_stopped()


@pytest.mark.skipif(sys.platform == "win32", reason="the system moves no file that is open")
def test_a_ledger_that_was_moved_away_is_not_written_to_any_more(
    ledger: Ledger, path: Path, clock: WallClock
) -> None:
    ledger.admit([account()])
    for file in path.parent.iterdir():
        file.rename(file.with_name(file.name.replace("spending", "old")))
    other = opened(path, clock)
    other.stop()
    assert ledger.is_stopped()
    assert refusal(ledger, [account()]).reason == "unavailable"
    other.close()
