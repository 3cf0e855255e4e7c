"""Conversations that a Host keeps for providers that keep none themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from engine_intelligence.activity import SessionRef


class Turn(msgspec.Struct, frozen=True):
    """One completed exchange: what the player said, and what was answered."""

    input: str
    output: str
    remote: str | None = None
    """The id under which the service that answered knows the conversation up to here, where it keeps one (rule P7)."""


class ConversationStore(Protocol):
    """Where conversations are kept, by session. Used from the thread of the Host's event loop; calls take
    milliseconds.

    Only completed turns are in it (rule P5), each whole.
    """

    def history(self, session: SessionRef) -> Sequence[Turn]:
        """The turns of `session`, oldest first; empty for one that has none yet.

        Raises `ProviderError` with reason `session-lost` for a session whose turns were dropped (rule P7),
        and with `unavailable` if the store cannot be read.
        """
        ...

    def append(self, session: SessionRef, turn: Turn, accept: Callable[[], bool]) -> bool:
        """Add `turn` to `session` if `accept()` says so, atomically; returns what it said.

        `accept` is called when the turn is written and not yet visible. So a turn is in the store exactly if
        it stands. Raises `ProviderError` with reason `unavailable`, before `accept` is called, if the turn
        cannot be written.
        """
        ...

    def close(self) -> None:
        """Release the store. Idempotent."""
        ...
