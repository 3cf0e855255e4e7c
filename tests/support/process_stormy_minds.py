"""A Host that a signal interrupts every millisecond. A Host imports this module by name."""

import signal
from types import FrameType

from engine_intelligence.providers.stream import StreamProvider
from support.process_minds import MIND, behave


def nothing(number: int, frame: FrameType | None) -> None:
    """Handle a signal, and do nothing about it."""


def mind() -> StreamProvider:
    signal.signal(signal.SIGALRM, nothing)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    return StreamProvider(MIND, behave)
