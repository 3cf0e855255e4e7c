"""What tests of spending are made of."""

from collections.abc import Sequence

import pytest

from engine_intelligence.activity import ActivitySubmission, SessionRef
from engine_intelligence.errors import ProviderError
from engine_intelligence.spending.budget import Account, Budget
from engine_intelligence.spending.ledger import Ledger

HOST = "/games/castle/host.toml"

# A Monday in 2023, a quarter of a second after a full minute.
A_TIME_MS = 1_700_000_040_250


class WallClock:
    """A wall clock that a test sets, to the past too. The file of a ledger knows milliseconds, and so does this."""

    def __init__(self, now_ms: int = A_TIME_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms * 1_000_000 + 999_999

    def advance(self, *, ms: int = 0, s: float = 0, hours: float = 0) -> None:
        self.now_ms += ms + round(s * 1000) + round(hours * 3_600_000)


def account(
    provider: str | None = "oracle",
    *,
    a_minute: int | None = None,
    a_day: int | None = None,
    host: str = HOST,
) -> Account:
    return Account(host, provider, Budget(activities_per_minute=a_minute, output_tokens_per_day=a_day))


def refusal(ledger: Ledger, accounts: Sequence[Account]) -> ProviderError:
    """How an Activity is refused."""
    with pytest.raises(ProviderError) as raised:
        ledger.admit(accounts)
    return raised.value


def wait_s(ledger: Ledger, accounts: Sequence[Account]) -> float:
    """For how many seconds an Activity is refused."""
    error = refusal(ledger, accounts)
    assert error.reason == "rate-limited"
    assert error.retry_after_s is not None
    return error.retry_after_s


def tokens_of(ledger: Ledger, provider: str | None = "oracle") -> int:
    """The tokens that are counted on an account of `HOST`."""
    return sum(line.tokens for line in ledger.lines() if line.provider == provider)


def submission(id: str = "activity-1", session: str = "session-1") -> ActivitySubmission:
    return ActivitySubmission(id, SessionRef("oracle", session), "May I pass?")
