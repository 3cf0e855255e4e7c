"""A sink that holds a provider to its word: it keeps what is said, and what should not have been."""

from __future__ import annotations

import threading
from typing import Any

from engine_intelligence.activity import FinishReason, Usage
from engine_intelligence.scrubbing import describe_exception


class StrictSink:
    """An `ActivitySink` for one Activity. Like the real one it may be called from any thread and never raises."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.texts: list[str] = []
        """The texts before the terminal, without empty ones."""
        self.terminal: str | None = None
        """The first terminal: `complete`, `fail` or `cancelled`."""
        self.output: str | None = None
        self.cause: str | None = None
        self.late: list[str] = []
        """The calls after the terminal."""
        self.mistyped: list[str] = []
        """What was handed over and is not of the type that the contract has for it."""

    @property
    def joined(self) -> str:
        """The texts, joined."""
        return "".join(self.texts)

    def text(self, text: str) -> None:
        """See `ActivitySink.text`."""
        said: Any = text  # a provider may hand over anything
        with self._lock:
            if not isinstance(said, str):
                self.mistyped.append(f"text() was handed {type(said).__name__}, not str")
            elif self.terminal is not None:
                self.late.append("text")
            elif said:
                self.texts.append(said)

    def complete(self, output: str, usage: Usage | None = None, finish: FinishReason | None = None) -> bool:
        """See `ActivitySink.complete`."""
        given: Any = output
        usage_given: Any = usage
        with self._lock:
            if not isinstance(given, str):
                self.mistyped.append(f"complete() was handed {type(given).__name__} as its output, not str")
            if usage_given is not None and not isinstance(usage_given, Usage):
                self.mistyped.append(f"complete() was handed {type(usage_given).__name__} as its usage")
            if finish not in (None, "stop", "length"):
                self.mistyped.append("complete() was handed a finish that is not 'stop', 'length' or None")
            stands = self._end("complete")
            if stands and isinstance(given, str):
                self.output = given
            return stands

    def fail(self, cause: str | BaseException) -> None:
        """See `ActivitySink.fail`."""
        given: Any = cause
        with self._lock:
            if not isinstance(given, str | BaseException):
                self.mistyped.append(f"fail() was handed {type(given).__name__}, not a str or an exception")
            if self._end("fail"):
                self.cause = describe_exception(given) if isinstance(given, BaseException) else str(given)

    def cancelled(self) -> None:
        """See `ActivitySink.cancelled`."""
        with self._lock:
            self._end("cancelled")

    def _end(self, terminal: str) -> bool:
        if self.terminal is not None:
            self.late.append(terminal)
            return False
        self.terminal = terminal
        return True
