"""The life of one Activity, as a table.

An Activity *waits* while another one of its session runs (rule P6), then *runs*. A cancel makes it
*cancelling*, until the provider confirms, something else ends it first, or the grace is over (rules S12,
S13). Once *ended* it accepts nothing more, which is what makes a second terminal, late text and callbacks of
a closed provider harmless (rules S6, P2, B5). A signal without an entry changes nothing.

The table knows no clock, queue or provider; `runtime.py` acts on what it says.
"""

from __future__ import annotations

from enum import Enum, IntEnum, auto
from typing import NamedTuple


# Phases and signals are looked up for every piece of text; an IntEnum hashes like an int, an Enum several times slower.
class Phase(IntEnum):
    """Where an Activity is in its life."""

    WAITING = auto()
    RUNNING = auto()
    CANCELLING = auto()
    ENDED = auto()


class Signal(IntEnum):
    """What can happen to an Activity."""

    START = auto()
    """Its turn has come: the provider is about to be called."""
    TEXT = auto()
    COMPLETE = auto()
    FAIL = auto()
    CANCELLED = auto()
    """The provider confirms that it stopped."""
    CANCEL = auto()
    """The game asks for a cancel."""
    BREACH = auto()
    """The provider broke the contract: it raised in `start` or `cancel`, or handed over what is not text."""
    REFUSE = auto()
    """The provider refused to start it: the submit is refused, and whatever was said of it is forgotten."""
    OVERFLOW = auto()
    """An output bound was passed."""
    EXPIRE = auto()
    """A deadline has passed."""


class Ending(Enum):
    """Which terminal a transition produces."""

    AS_SIGNALLED = auto()
    """The one that the signal carries."""
    CANCELLED = auto()
    """`Cancelled`, whatever the signal carries."""


class Transition(NamedTuple):
    """What a signal does to an Activity in some phase."""

    phase: Phase
    ending: Ending | None = None


_END = Transition(Phase.ENDED, Ending.AS_SIGNALLED)
_FORGET = Transition(Phase.ENDED)
_END_CANCELLED = Transition(Phase.ENDED, Ending.CANCELLED)

TRANSITIONS: dict[Phase, dict[Signal, Transition]] = {
    Phase.WAITING: {
        Signal.START: Transition(Phase.RUNNING),
        # The provider never heard of it, so there is nobody to wait for.
        Signal.CANCEL: _END_CANCELLED,
        Signal.EXPIRE: _END,
    },
    Phase.RUNNING: {
        Signal.TEXT: Transition(Phase.RUNNING),
        Signal.COMPLETE: _END,
        Signal.FAIL: _END,
        Signal.CANCELLED: _END_CANCELLED,
        Signal.CANCEL: Transition(Phase.CANCELLING),
        Signal.BREACH: _END,
        Signal.REFUSE: _FORGET,
        Signal.OVERFLOW: _END,
        Signal.EXPIRE: _END,
    },
    Phase.CANCELLING: {
        # Text is not listed: what comes after a cancel is not shown to a player who has just silenced the
        # speaker.
        Signal.COMPLETE: _END,
        # An error after a cancel is usually the cancel itself: a broken stream, a closed connection.
        Signal.FAIL: _END_CANCELLED,
        Signal.CANCELLED: _END_CANCELLED,
        Signal.BREACH: _END,
        Signal.REFUSE: _FORGET,
        Signal.OVERFLOW: _END,
        Signal.EXPIRE: _END_CANCELLED,
    },
    Phase.ENDED: {
        # A provider that completes inside `start` and then refuses all the same.
        Signal.REFUSE: _FORGET,
    },
}
