"""The frame loop that everything here runs: input, poll, what came of it, a picture, and sleep until the next frame.

It is one thread without an event loop. What a frame shows and where its input comes from is the face's matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, TypeAlias

from engine_intelligence.activity import SessionRef
from engine_intelligence.cli.dialogue import Dialogue
from engine_intelligence.cli.frames import FRAME_NS, Frame, FrameMeter
from engine_intelligence.contracts import IntelligenceService


class Say(NamedTuple):
    """The player says this."""

    text: str


class Interrupt(NamedTuple):
    """The player wants what is being said to stop, or to quit."""


class Quit(NamedTuple):
    """The player has left."""


Wish: TypeAlias = Say | Interrupt | Quit


class Face(Protocol):
    """Where input comes from, and where the state is shown. Neither method waits."""

    def wishes(self, now: float) -> Iterable[Wish]:
        """What the player did since the last frame."""
        ...

    def show(self, now: float) -> None:
        """Show the state as it is."""
        ...


class Loop:
    """A loop at 60 frames a second around one service, one dialogue and one face."""

    def __init__(
        self,
        service: IntelligenceService,
        dialogue: Dialogue,
        face: Face,
        *,
        closed_reason: Callable[[], str | None] = lambda: None,
        keep_session: Callable[[SessionRef], str | None] = lambda _session: None,
        meter: FrameMeter | None = None,
        clock_ns: Callable[[], int] = time.perf_counter_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`closed_reason` says why the service closed by itself, if it did. `keep_session` saves a session, and says what went
        wrong if it could not. `meter` is fed with every frame."""
        self._service = service
        self._dialogue = dialogue
        self._face = face
        self._closed_reason = closed_reason
        self._keep_session = keep_session
        self._kept_session = dialogue.session
        self._meter = FrameMeter() if meter is None else meter
        self._clock_ns = clock_ns
        self._sleep = sleep
        self._ours_ns = 0
        self._began_ns: int | None = None

    def run(self) -> None:
        """Run frames until the dialogue is quitting."""
        deadline_ns = self._clock_ns()
        while not self._dialogue.quitting:
            self.frame()
            deadline_ns += FRAME_NS
            left_ns = deadline_ns - self._clock_ns()
            if left_ns > 0:
                self._sleep(left_ns / 1e9)
            elif left_ns < -FRAME_NS:
                deadline_ns = self._clock_ns()  # frames that were missed are not caught up with

    def frame(self) -> None:
        """Run one frame."""
        began_ns = self._clock_ns()
        interval_ns = None if self._began_ns is None else began_ns - self._began_ns
        self._began_ns = began_ns
        now = began_ns / 1e9
        self._ours_ns = 0
        dialogue = self._dialogue

        for wish in self._face.wishes(now):
            self._carry_out(wish, now)

        before_ns = self._clock_ns()
        events = self._service.poll()
        poll_ns = self._clock_ns() - before_ns
        self._ours_ns += poll_ns
        for event in events:
            dialogue.accept(event, now)
        dialogue.settle()
        reason = self._closed_reason()
        if reason is not None:
            dialogue.service_closed(reason)
        if dialogue.session is not None and dialogue.session != self._kept_session:
            self._kept_session = dialogue.session
            dialogue.notice = self._keep_session(dialogue.session) or dialogue.notice

        self._face.show(now)
        self._meter.record(Frame(self._clock_ns() - began_ns, self._ours_ns, poll_ns, interval_ns))

    def _carry_out(self, wish: Wish, now: float) -> None:
        dialogue = self._dialogue
        match wish:
            case Say(text=text):
                if dialogue.may_ask(text):
                    before_ns = self._clock_ns()
                    submitted = self._service.submit(text, dialogue.session)
                    self._ours_ns += self._clock_ns() - before_ns
                    dialogue.asked(text, submitted, now)
            case Interrupt():
                activity_id = dialogue.interrupt(now)
                if activity_id is not None:
                    before_ns = self._clock_ns()
                    cancelled = self._service.cancel(activity_id)
                    self._ours_ns += self._clock_ns() - before_ns
                    dialogue.cancel_asked(cancelled)
            case Quit():
                dialogue.quit()
