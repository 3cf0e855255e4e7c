"""The bounds of a service, known to both sides, and the deadlines, which only configuration sets (rules D2,
M5).
"""

from __future__ import annotations

import math
from typing import Any

import msgspec


class IntelligenceLimits(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """How much one service may hold. Every bound is a positive whole number; a bad one raises `ValueError`
    (rule D2).

    Lengths are counted in Unicode code points, as `len(str)` counts them (rule D1).
    """

    # A game's prompt is a page or two of text: 16 Ki characters are about 4,000 tokens, what a small local
    # model can read.
    max_input_chars: int = 16_384
    """Bound of one input, in characters."""
    # Four times the input: no dialogue is longer, and a model that does not stop is caught after some minutes
    # of streaming.
    max_output_chars: int = 65_536
    """Bound of one answer, in characters."""
    # The number of simultaneous conversations of a busy scene, and about what one vendor key or one local
    # model can serve.
    max_concurrent_activities: int = 8
    """How many Activities are held at a time, each until its terminal was polled."""
    # Half a second of a fast model at 60 tokens a second; beyond it text is merged, not dropped (rule S11).
    max_pending_events_per_activity: int = 32
    """How many events of one Activity wait for a poll; more text is merged into the last. 2 or more."""
    # All that eight Activities can hold pending at once: 8 * 32.
    max_poll_events: int = 256
    """How many events one poll returns at most."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value: object = getattr(self, name)
            least = 2 if name == "max_pending_events_per_activity" else 1
            # `type() is int` rather than isinstance: True would pass for 1.
            if type(value) is not int or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, not {_shown(value)}")


class Deadlines(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long things may take, in seconds, by the monotonic clock. A bad one raises `ValueError` (rule D2).

    They belong to the configuration of a Host and of a client: no message from a realm sets them.
    """

    # A large model behind a queue, or a local one that reads a long prompt on a slow processor, takes tens of
    # seconds.
    first_text_s: float = 60.0
    """From the start of an Activity to its first text."""
    # Between two pieces of one answer: longer than any pause for a tool call that a player would sit through.
    stall_s: float = 30.0
    """From one text to the next."""
    # Ten minutes, the total time limit of the vendors' own SDKs.
    activity_s: float = 600.0
    """From the start of an Activity to its end."""
    # Closing an HTTP stream takes milliseconds; two seconds are what a player accepts after pressing Escape.
    cancel_grace_s: float = 2.0
    """What a provider is given to end an Activity that was cancelled."""
    # The time that init systems and games give a helper process before they kill it.
    close_grace_s: float = 5.0
    """What a Host or a provider is given to close."""
    # Ten heartbeats of one second.
    unresponsive_s: float = 10.0
    """How long a Host may be silent before a client gives it up."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value: object = getattr(self, name)
            if not _is_positive_finite(value):
                raise ValueError(f"{name} must be a positive, finite number of seconds, not {_shown(value)}")


def _is_positive_finite(value: Any) -> bool:
    if type(value) not in (int, float):
        return False  # `type() in`: True would pass for 1
    try:
        return 0 < float(value) < math.inf
    except OverflowError:
        return False  # an int that no float can hold


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:
        return "a number of thousands of digits"  # which Python refuses to print
