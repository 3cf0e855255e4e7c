"""How much a store of conversations keeps."""

from __future__ import annotations

import msgspec

# Far beyond what is of use, and within what SQLite counts in.
MOST = 100_000_000


class Bounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The bounds of a store. A bad one raises `ValueError` that names field and value (rule D2)."""

    # Far more than any model here reads; a day of play with one character.
    max_turns: int = 200
    """How many turns of one session are kept. The oldest go first."""
    # By the estimate, 262,144 letters: of English 65,000 tokens, half of what models with a context of 128,000 read.
    max_tokens: int = 131_072
    """How many tokens of one session are kept, by an estimate. The oldest turns go first; the latest is kept in any case."""
    # At an average of 20 turns of 500 characters, 10 MB for each provider.
    max_sessions: int = 1000
    """How many sessions of one provider are kept. Those not continued for longest go first."""

    def __post_init__(self) -> None:
        _check("max_turns", self.max_turns, least=1, most=MOST)
        _check("max_tokens", self.max_tokens, least=1, most=MOST)
        _check("max_sessions", self.max_sessions, least=1, most=MOST)


def _check(name: str, value: object, *, least: int, most: int) -> None:
    # `type() is int` rather than isinstance: True would pass for 1.
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, not {value!r}")
