"""`Sink`: all that a provider is given of the service (rule P1)."""

from __future__ import annotations

from engine_intelligence.activity import FinishReason, Usage
from engine_intelligence.lifecycle import Signal
from engine_intelligence.signals import Activity, SignalBox

_TEXT = Signal.TEXT  # a name of this module: a member of an enumeration is looked up in two steps


class Sink:
    """The `ActivitySink` of one Activity: all that a provider is given of the service (rule P1)."""

    __slots__ = ("_activity", "_box", "_clock", "_inbox")

    def __init__(self, box: SignalBox, activity: Activity) -> None:
        self._box = box
        self._activity = activity
        self._inbox = box.inbox
        self._clock = box.clock

    def text(self, text: str) -> None:
        """See `ActivitySink.text`."""
        box, inbox, clock = self._box, self._inbox, self._clock
        plain = text if type(text) is str and text.isascii() else box.plain_text(text)
        if plain:
            inbox.append((self._activity, _TEXT, plain, None, clock()))
            if box.wake is not None or len(inbox) > box.max_waiting_texts:
                box.text_came()

    def complete(self, output: str, usage: Usage | None = None, finish: FinishReason | None = None) -> bool:
        """See `ActivitySink.complete`."""
        return self._box.completion_said(self._activity, output, usage, finish)

    def fail(self, cause: str | BaseException) -> None:
        """See `ActivitySink.fail`."""
        self._box.failure_said(self._activity, cause)

    def cancelled(self) -> None:
        """See `ActivitySink.cancelled`."""
        self._box.signal(self._activity, Signal.CANCELLED)
