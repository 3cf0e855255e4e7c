"""A Host that a signal interrupts every millisecond. A Host imports this module by name."""

import signal

from engine_intelligence.providers.stream import StreamProvider
from support.process_minds import MIND, behave


def mind() -> StreamProvider:
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    return StreamProvider(MIND, behave)
