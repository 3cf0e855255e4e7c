"""The loop keeps its pace, and tells its own time from that of the calls into the service."""

from collections.abc import Iterable

import pytest
from cli.talking import WORDS

from engine_intelligence import (
    ActivityRef,
    CloseTask,
    Err,
    IntelligenceError,
    IntelligenceEvent,
    IntelligenceLimits,
    Ok,
    Result,
    SessionRef,
)
from engine_intelligence.cli.dialogue import Dialogue
from engine_intelligence.cli.frames import FRAME_NS, FrameMeter
from engine_intelligence.cli.loop import Interrupt, Loop, Quit, Say, Wish
from engine_intelligence.errors import closed

MS = 1_000_000


class ManualClock:
    def __init__(self) -> None:
        self.now_ns = 0
        self.slept: list[int] = []

    def __call__(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds * 1e9))
        self.now_ns += round(seconds * 1e9)


class SlowService:
    """A service whose calls take the time that they are told to."""

    provider_id = "gatekeeper"
    limits = IntelligenceLimits()

    def __init__(self, clock: ManualClock, poll_ns: int = 0, submit_ns: int = 0, cancel_ns: int = 0) -> None:
        self._clock = clock
        self._poll_ns, self._submit_ns, self._cancel_ns = poll_ns, submit_ns, cancel_ns

    def submit(self, input: str, session: SessionRef | None = None) -> Result[ActivityRef, IntelligenceError]:
        self._clock.now_ns += self._submit_ns
        return Ok(ActivityRef("activity-1", SessionRef("gatekeeper", "session-1")))

    def poll(self, max_events: int | None = None) -> list[IntelligenceEvent]:
        self._clock.now_ns += self._poll_ns
        return []

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        self._clock.now_ns += self._cancel_ns
        return Err(closed())

    def close(self) -> CloseTask:
        raise NotImplementedError


class TimedFace:
    """A face whose picture takes some time, and that leaves after some frames."""

    def __init__(self, clock: ManualClock, *picture_ns: int, wishes: Iterable[Wish] = ()) -> None:
        self._clock = clock
        self._pictures = list(picture_ns)
        self._wishes = list(wishes)

    def wishes(self, now: float) -> Iterable[Wish]:
        if len(self._pictures) == 1:
            yield Quit()
        elif self._wishes:
            yield self._wishes.pop(0)

    def show(self, now: float) -> None:
        self._clock.now_ns += self._pictures.pop(0)


def run(
    clock: ManualClock, face: TimedFace, service: SlowService | None = None, **more: object
) -> tuple[Dialogue, FrameMeter]:
    dialogue, meter = Dialogue(WORDS), FrameMeter()
    Loop(
        service or SlowService(clock),
        dialogue,
        face,
        meter=meter,
        clock_ns=clock,
        sleep=clock.sleep,
        **more,  # type: ignore[arg-type]
    ).run()
    return dialogue, meter


def test_it_sleeps_until_the_next_frame_is_due() -> None:
    clock = ManualClock()
    run(clock, TimedFace(clock, 4 * MS, 4 * MS, 4 * MS))
    assert clock.slept[:2] == pytest.approx([FRAME_NS - 4 * MS] * 2, abs=2)


def test_a_frame_that_was_a_little_late_is_caught_up_with() -> None:
    clock = ManualClock()
    run(clock, TimedFace(clock, 20 * MS, 4 * MS, 0))
    assert clock.slept[0] == pytest.approx(2 * FRAME_NS - 24 * MS, abs=2)


def test_frames_that_were_missed_are_not_run_in_a_burst() -> None:
    clock = ManualClock()
    run(clock, TimedFace(clock, 500 * MS, 4 * MS, 0))
    assert clock.slept[0] == pytest.approx(FRAME_NS - 4 * MS, abs=2)


def test_the_work_of_a_frame_is_from_its_start_to_its_sleep() -> None:
    clock = ManualClock()
    _, meter = run(clock, TimedFace(clock, 4 * MS, 20 * MS, 1 * MS))
    assert list(meter.recent_ns) == [4 * MS, 20 * MS, 1 * MS]


def test_a_picture_that_takes_too_long_is_not_our_fault() -> None:
    clock = ManualClock()
    _, meter = run(clock, TimedFace(clock, 30 * MS, 0))
    assert (meter.missed, meter.missed_by_us) == (1, 0)


def test_a_poll_that_takes_too_long_is_our_fault() -> None:
    clock = ManualClock()
    _, meter = run(clock, TimedFace(clock, 0, 0), SlowService(clock, poll_ns=30 * MS))
    assert meter.missed_by_us == 2


def test_submit_and_cancel_count_as_ours() -> None:
    clock = ManualClock()
    service = SlowService(clock, submit_ns=3 * MS, cancel_ns=5 * MS)
    _, meter = run(clock, TimedFace(clock, 0, 0, 0, wishes=[Say("May I pass?"), Interrupt()]), service)
    assert meter.our_cost().max_ns == 5 * MS
    assert meter.poll_cost().max_ns == 0


def test_a_service_that_closed_by_itself_is_noticed() -> None:
    clock = ManualClock()
    dialogue, _ = run(clock, TimedFace(clock, 0, 0), closed_reason=lambda: "The Host ended.")
    assert dialogue.closed_reason == "The Host ended."


def test_a_cancel_that_comes_too_late_changes_nothing() -> None:
    clock = ManualClock()
    dialogue, _ = run(clock, TimedFace(clock, 0, 0, 0, wishes=[Say("May I pass?"), Interrupt()]))
    assert dialogue.phase == "waiting"


def test_the_loop_asks_nothing_of_an_event_loop_or_a_thread() -> None:
    import subprocess
    import sys

    program = (
        "import sys, threading; import engine_intelligence.cli.loop; "
        "assert 'asyncio' not in sys.modules and threading.active_count() == 1"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
