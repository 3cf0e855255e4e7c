"""The roles of the contract, as Protocols: who may call what, when, and from which thread.

A *realm* holds an `IntelligenceService` and calls it once a frame. A *Host* holds an `IntelligenceProvider`,
which answers through an `ActivitySink`. A `MessagePort` is one end of a channel between the two.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from engine_intelligence.activity import (
    ActivityRef,
    ActivitySubmission,
    FinishReason,
    IntelligenceEvent,
    SessionRef,
    Usage,
)
from engine_intelligence.errors import IntelligenceError
from engine_intelligence.limits import IntelligenceLimits
from engine_intelligence.result import Result

Clock: TypeAlias = Callable[[], float]
"""A monotonic clock: seconds from an arbitrary origin, never going back, such as `time.monotonic`."""

ReceivedT = TypeVar("ReceivedT", covariant=True)
SentT = TypeVar("SentT", contravariant=True)


class CloseTask(Protocol):
    """The end of something, as it comes about.

    Every call of the same `close()` returns the same one (rules B1, C6).
    """

    @property
    def done(self) -> bool:
        """Whether the end is reached. Looking never waits, so a frame loop may look once a frame."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end, for at most `timeout` seconds, and return `done`.

        This blocks the calling thread.
        """
        ...

    def __await__(self) -> Generator[Any, None, None]: ...


class IntelligenceService(Protocol):
    """What a game holds: submit, poll and cancel, none of which ever waits (section 3).

    One thread at a time calls it, usually that of the frame loop.
    """

    @property
    def provider_id(self) -> str:
        """The provider that this service speaks to."""
        ...

    @property
    def limits(self) -> IntelligenceLimits:
        """The bounds that requests and output are held to."""
        ...

    def submit(self, input: str, session: SessionRef | None = None) -> Result[ActivityRef, IntelligenceError]:
        """Ask for an Activity over `input`, continuing `session` or beginning one.

        Returns `Ok(ActivityRef)`, or `Err` with what was wrong, in which case nothing has changed. Never
        raises, never waits. After `Ok`, poll until the Activity's terminal has come; until then it holds one
        of `limits.max_concurrent_activities` places.
        """
        ...

    def poll(self, max_events: int | None = None) -> list[IntelligenceEvent]:
        """The events that have come, in order within each Activity; at most `max_events`, or
        `limits.max_poll_events`.

        Returns an empty list where there are none, where `max_events` is not a positive int, or when the
        service is closed. Never raises, never waits. Call it once a frame.
        """
        ...

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        """Ask that a running Activity be stopped. Its terminal follows: usually `Cancelled`, or the one that
        came first.

        Returns `Ok(None)`, also when it was asked before, or `Err` if no such Activity is running. Never
        raises, never waits.
        """
        ...

    def close(self) -> CloseTask:
        """End the service.

        All that is running is dropped without further events. Every call returns the same close task.
        """
        ...


class ActivitySink(Protocol):
    """Where a provider puts what comes of one Activity.

    Its methods may be called from any thread, at any time and in any order, also after the terminal and after
    the close; they never raise, and what the contract does not allow is ignored and counted (rule P2).
    """

    def text(self, text: str) -> None:
        """More output. Empty text is ignored."""
        ...

    def complete(self, output: str, usage: Usage | None = None, finish: FinishReason | None = None) -> bool:
        """The end, with the whole output.

        Returns whether it stands: only then may the turn be added to the session (P5).
        """
        ...

    def fail(self, cause: str | BaseException) -> None:
        """The end, by a failure.

        A `ProviderError` says in which way; of other exceptions a scrubbed text is kept (E2).
        """
        ...

    def cancelled(self) -> None:
        """The end, because the provider stopped when it was told to cancel."""
        ...


class IntelligenceProvider(Protocol):
    """What carries out Activities. It is handed a submission and a sink, and nothing else (rule P1)."""

    @property
    def id(self) -> str:
        """The name of this provider: it scopes sessions, so it must stay the same from run to run."""
        ...

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        """Begin an Activity and return at once. `Err` refuses it, and so does an exception (rule S14).

        Called on the thread of the service, which on a Host is that of the event loop.
        """
        ...

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        """Begin to stop an Activity and return at once; then call a terminal of its sink.

        Called like `start`.
        """
        ...

    async def close(self) -> None:
        """Release everything. A service awaits it once, for at most the Host's `close_grace_s` (rule B4).

        Closing what is closed does nothing.
        """
        ...


class MessagePort(Protocol[ReceivedT, SentT]):
    """One end of a two-ended channel of messages, used from one thread.

    `send` and `receive` never wait. Both raise `PortEnded` once the channel is over, `receive` only after
    everything that had arrived has been handed out.
    """

    def send(self, message: SentT) -> None:
        """Send one message, in order."""
        ...

    def receive(self) -> Sequence[ReceivedT]:
        """What has arrived since the last call, in order; empty where nothing has."""
        ...

    def listen(self, wake: Callable[[], None] | None) -> None:
        """Have `wake` called whenever `receive` has something new, also when the channel ends; `None` stops
        that.

        It is called on the port's own thread. A realm needs none: it receives once a frame.
        """
        ...

    def idle(self, seconds: float) -> None:
        """Wait until something may have arrived, for at most `seconds`.

        Only a close task's `wait` calls this.
        """
        ...

    def close(self) -> Awaitable[None] | None:
        """Release this end; the other end sees the end of the channel. Idempotent.

        On the side that has an event loop it may return something to await, which is done when what was sent
        is under way.
        """
        ...


class LookingPort(Protocol):
    """What a port may have besides, so that a poll in which nothing has come costs little more than a system call."""

    @property
    def quick_look(self) -> Callable[[int], object]:
        """A function of a time-out in milliseconds, which is 0: whether there may be something to receive."""
        ...


class PortEnded(Exception):
    """The channel is over. `reason` is a name in kebab-case, and the text a sentence that a log can use."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return self.message
