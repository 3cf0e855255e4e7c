"""What looks at the switch while Activities run, and ends them when it is thrown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from engine_intelligence.errors import ProviderError
from engine_intelligence.scrubbing import describe_exception
from engine_intelligence.spending.budget import Account
from engine_intelligence.spending.ledger import STOPPED, Ledger
from engine_intelligence.spending.meter import Meter

_log = logging.getLogger(__name__)

# A look takes 6 microseconds of the event loop, or 14 after another Host has written: a twenty-thousandth of its time at most.
# `PRAGMA data_version` instead of the row itself costs the same.
LOOK_S = 0.25
"""How long a switch that was thrown may stay unseen, in seconds, so that with the cancel all is over within one."""

# What a killed Host has not written of running Activities is what they said in so many looks.
_LOOKS_PER_BOOKING = 4


class Watch:
    """The one of a Host: all its providers that spend share it, and the ledger.

    It has no task and no thread. While an Activity runs there is a timer of the running event loop; without a loop, as in a
    test, nothing is looked at. But for `ended` and `spend`, which any thread may call, it is used from the loop's thread.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._running: set[Meter] = set()
        self._members = 0
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looks = 0

    def join(self) -> None:
        """Another provider uses the ledger."""
        self._members += 1

    def leave(self) -> None:
        """A provider needs it no longer. With the last one the ledger is closed."""
        self._members -= 1
        if self._members == 0:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self.ledger.close()

    def spend(self, accounts: Sequence[Account], tokens: int) -> None:
        """See `Ledger.spend`."""
        self.ledger.spend(accounts, tokens)

    def began(self, meter: Meter) -> None:
        """An Activity runs from now on."""
        self._running.add(meter)
        self._set_timer()

    def ended(self, meter: Meter) -> None:
        """An Activity has ended. Any thread may call this; the timer ends by itself."""
        self._running.discard(meter)

    def _set_timer(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self._timer is None or self._loop is not loop:
            self._loop = loop
            self._timer = loop.call_later(LOOK_S, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self._running:
            return
        if self.ledger.is_stopped():
            self._stop_all()
        self._looks += 1
        # While it is behind, each attempt might wait for a lock that another program does not give back.
        if self._looks % _LOOKS_PER_BOOKING == 0 and not self.ledger.is_behind:
            for meter in list(self._running):
                meter.progress()
        if self._running:
            self._set_timer()

    def _stop_all(self) -> None:
        for meter in list(self._running):
            # First its end: a provider that says at once that it has cancelled would be taken for the game's own cancel.
            if meter.stop(ProviderError(STOPPED, reason="unavailable")):
                _cancel(meter)


def _cancel(meter: Meter) -> None:
    try:
        meter.cancel()
    except BaseException as error:  # noqa: BLE001 - a border: its Activity is over all the same
        _log.warning("a provider failed to cancel: %s", describe_exception(error))
