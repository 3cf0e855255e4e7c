"""The sink of one Activity, which counts what passes through it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine_intelligence.activity import FinishReason, Usage
from engine_intelligence.contracts import ActivitySink
from engine_intelligence.spending.estimate import tokens_of_text, told_tokens


class Meter:
    """An `ActivitySink` in front of `sink`. The tokens of its Activity are handed to `spend` once, whatever is called how
    often and from which thread (rule P2): those that were told, or else about those of the text.

    They are handed over before the terminal is passed on, and in part before that by `progress`: the parts are as much as the
    whole. `cancel` stops the Activity at its provider, and `ended` is called with the meter when it is settled.
    """

    __slots__ = ("_booked", "_ended", "_lock", "_settled", "_sink", "_spend", "_stopped", "_tokens", "cancel")

    def __init__(
        self,
        sink: ActivitySink,
        *,
        spend: Callable[[int], object],
        cancel: Callable[[], object],
        ended: Callable[[Meter], object],
    ) -> None:
        self._sink = sink
        self._spend = spend
        self.cancel = cancel
        self._ended = ended
        # Held for some bytecodes, in which nothing of others runs but a finaliser, for which it is a lock to re-enter.
        self._lock = threading.RLock()
        self._tokens = 0
        self._booked = 0
        self._settled = False
        self._stopped = False

    def text(self, text: str) -> None:
        """See `ActivitySink.text`."""
        tokens = tokens_of_text(text)
        with self._lock:
            if self._stopped:
                return
            if not self._settled:
                self._tokens += tokens
        self._sink.text(text)

    def complete(self, output: str, usage: Usage | None = None, finish: FinishReason | None = None) -> bool:
        """See `ActivitySink.complete`."""
        self._settle(told_tokens(usage), tokens_of_text(output))
        return False if self._stopped else self._sink.complete(output, usage, finish)

    def fail(self, cause: str | BaseException) -> None:
        """See `ActivitySink.fail`."""
        self._settle()
        if not self._stopped:
            self._sink.fail(cause)

    def cancelled(self) -> None:
        """See `ActivitySink.cancelled`."""
        self._settle()
        if not self._stopped:
            self._sink.cancelled()

    def progress(self) -> None:
        """Hand over what there is so far, so that a Host that is killed loses little of it."""
        with self._lock:
            if self._settled:
                return
            due = self._tokens - self._booked
            self._booked += due
        if due:
            self._spend(due)

    def stop(self, cause: BaseException) -> bool:
        """End the Activity from our side, and return whether nothing else had. What its provider still says of it is not
        passed on.
        """
        if not self._settle(stopped=True):
            return False
        self._sink.fail(cause)
        return True

    def abandon(self) -> None:
        """Settle an Activity of which nothing more is to come, without an end."""
        self._settle()

    def _settle(self, told: int | None = None, of_output: int = 0, *, stopped: bool = False) -> bool:
        """Hand over what is left, and return whether this was the end."""
        with self._lock:
            if self._settled:
                return False
            self._settled = True
            self._stopped = stopped
            tokens = max(self._tokens, of_output) if told is None else told
            due = tokens - self._booked
        self._spend(due)
        self._ended(self)
        return True
