"""What may be spent, and by whom."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

# What JSON and MessagePack both hold exactly, and SQLite with room for sums.
_MOST = 2**53


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one provider, or all of a Host together, may spend. What is `None` is not bounded.

    Each bound is a whole number of at least 1; a bad one raises `ValueError`.
    """

    activities_per_minute: int | None = None
    """How many Activities may be started in any 60 seconds."""
    output_tokens_per_day: int | None = None
    """After how many tokens of output in 24 hours no Activity is started. One that runs is not stopped by it."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value: object = getattr(self, name)
            # `type() is int` rather than isinstance: True would pass for 1.
            if value is not None and (type(value) is not int or not 1 <= value <= _MOST):
                raise ValueError(f"{name} must be a whole number of 1 to {_MOST}, not {_shown(value)}")


class Account(NamedTuple):
    """Under what name something is counted in the ledger, and how much of it there may be.

    The name is of a configuration and of one of its providers, or of all of them (`None`).
    """

    host: str
    provider: str | None
    budget: Budget

    @property
    def whose(self) -> str:
        """Whose budget it is, in words for a person."""
        return "all providers of this Host together" if self.provider is None else "this provider"


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:
        return "a number of thousands of digits"  # which Python refuses to print
