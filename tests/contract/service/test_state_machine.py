"""The runtime against a model of sections 3 and 4, over any order of what may happen.

The model says what has to be told of each Activity in the end, and at each poll that it was told in time and in order.
Deadlines fall between the steps of the clock, so that no step meets one exactly.
"""

from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from support.scene import make_scene

from engine_intelligence import Cancelled, Completed, Deadlines, Err, Failed, SessionRef

PLACES, PENDING, POLLED, OUTPUT = 4, 3, 5, 24
DEADLINES = Deadlines(first_text_s=10.5, stall_s=6.5, activity_s=25.5, cancel_grace_s=2.5)
SESSIONS = [SessionRef("test.provider", f"kept-{number}") for number in range(2)]

End = Literal["completed", "cancelled", "overflow", "failed", "timeout", "stalled"]


@dataclass
class Model:
    """What is known of one Activity."""

    id: str
    session: SessionRef
    accepted_at: float
    started_at: float | None = None
    last_text_at: float | None = None
    cancelled_at: float | None = None
    text: str = ""
    output: str = ""
    end: End | None = None
    delivered: bool = False

    @property
    def running(self) -> bool:
        return self.started_at is not None and self.end is None

    @property
    def waiting(self) -> bool:
        return self.started_at is None and self.end is None

    def due(self) -> tuple[float, End]:
        """When it ends if nothing more happens, and how."""
        # Once the game has asked for a cancel, that is what it gets, and the grace is the only time that counts (S12).
        if self.cancelled_at is not None:
            return self.cancelled_at + DEADLINES.cancel_grace_s, "cancelled"
        all_due: list[tuple[float, End]] = [(self.accepted_at + DEADLINES.activity_s, "timeout")]
        if self.last_text_at is not None:
            all_due.append((self.last_text_at + DEADLINES.stall_s, "stalled"))
        elif self.started_at is not None:
            all_due.append((self.started_at + DEADLINES.first_text_s, "timeout"))
        return min(all_due)


@dataclass
class World:
    """All Activities that hold a place, in order of submission."""

    held: list[Model] = field(default_factory=list[Model])

    def busy(self, session: SessionRef) -> bool:
        return any(model.running for model in self.held if model.session == session)

    def start_what_may(self, now: float) -> None:
        for model in self.held:
            if model.waiting and not self.busy(model.session):
                model.started_at = now


class RuntimeMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.scene = make_scene(
            deadlines=DEADLINES,
            max_input_chars=8,
            max_output_chars=OUTPUT,
            max_concurrent_activities=PLACES,
            max_pending_events_per_activity=PENDING,
            max_poll_events=POLLED,
        )
        self.world = World()
        self.expected_cancels: list[str] = []

    def running(self, which: int) -> Model | None:
        running = [model for model in self.world.held if model.running]
        return running[which % len(running)] if running else None

    def settle(self) -> None:
        """What is due is done, on both sides."""
        self.scene.runtime.turn()
        self.world.start_what_may(self.scene.clock())

    @rule(
        input=st.sampled_from(["x", "", "x" * 8, "x" * 9, "\ud800"]),
        session=st.sampled_from([None, None, *SESSIONS]),
    )
    def submit(self, input: str, session: SessionRef | None) -> None:
        result = self.scene.runtime.submit(input, session)
        if not 1 <= len(input) <= 8 or input == "\ud800":
            assert isinstance(result, Err)
            assert result.error.code == "intelligence-invalid-request"
        elif len(self.world.held) == PLACES:
            assert isinstance(result, Err)
            assert result.error.code == "intelligence-capacity-exceeded"
        else:
            assert not isinstance(result, Err)
            self.world.held.append(Model(result.value.id, result.value.session, self.scene.clock()))
        self.settle()

    @rule(
        which=st.integers(0, PLACES),
        texts=st.lists(st.sampled_from(["", "a", "bc", "🛡🛡", "abcdefghij"]), max_size=5),
    )
    def text(self, which: int, texts: list[str]) -> None:
        model = self.running(which)
        # What is said between a cancel and the end may be delivered or not: that is not said.
        if model is None or model.cancelled_at is not None:
            return
        for text in texts:
            self.scene.provider.sinks[model.id].text(text)
            if model.end is not None:
                continue
            if len(model.text) + len(text) > OUTPUT:
                model.end = "overflow"
                self.expected_cancels.append(model.id)
            elif text:
                model.text += text
                model.last_text_at = self.scene.clock()
        self.settle()

    @rule(which=st.integers(0, PLACES), output=st.sampled_from(["whole", "x" * OUTPUT, "x" * (OUTPUT + 1)]))
    def complete(self, which: int, output: str) -> None:
        model = self.running(which)
        if model is None:
            return
        stands = self.scene.provider.sinks[model.id].complete(output)
        assert stands is (len(output) <= OUTPUT)
        if stands:
            model.end, model.output = "completed", output
        else:
            model.end = "overflow"
            if model.cancelled_at is None:
                self.expected_cancels.append(model.id)
        self.settle()

    @rule(which=st.integers(0, PLACES))
    def fail(self, which: int) -> None:
        model = self.running(which)
        if model is None:
            return
        self.scene.provider.sinks[model.id].fail("it broke")
        # An error that comes of the cancel is no failure to the game.
        model.end = "failed" if model.cancelled_at is None else "cancelled"
        self.settle()

    @rule(which=st.integers(0, PLACES))
    def cancelled(self, which: int) -> None:
        model = self.running(which)
        if model is None or model.cancelled_at is None:
            return
        self.scene.provider.sinks[model.id].cancelled()
        model.end = "cancelled"
        self.settle()

    @rule(which=st.integers(0, PLACES - 1))
    def cancel(self, which: int) -> None:
        if not self.world.held:
            return
        model = self.world.held[which % len(self.world.held)]
        result = self.scene.runtime.cancel(model.id)
        assert result.ok is (model.end is None)
        if model.waiting:
            model.end = "cancelled"
        elif model.running and model.cancelled_at is None:
            model.cancelled_at = self.scene.clock()
            self.expected_cancels.append(model.id)
        self.settle()

    @precondition(lambda self: any(model.end for model in self.world.held))
    @rule(method=st.sampled_from(["text", "complete", "fail", "cancelled"]))
    def say_something_late(self, method: str) -> None:
        sinks = self.scene.provider.sinks
        for model in self.world.held:
            if model.end and model.id in sinks:
                before = self.scene.runtime.ignored_signals
                getattr(sinks[model.id], method)(*(["late"] if method != "cancelled" else []))
                assert self.scene.runtime.ignored_signals == before + 1

    @rule(seconds=st.sampled_from([1, 1, 2, 5, 9]))
    def advance(self, seconds: int) -> None:
        self.scene.clock.advance(seconds)
        now = self.scene.clock()
        for model in self.world.held:
            at, end = model.due()
            if model.end is None and at <= now:
                if end != "cancelled" and model.started_at is not None:
                    self.expected_cancels.append(model.id)
                model.end = end
        self.settle()

    @rule(most=st.sampled_from([1, 2, 3, POLLED, 100, None, 0, -1]))
    def poll(self, most: int | None) -> None:
        events = self.scene.poll(most)
        assert len(events) <= max(0, min(POLLED if most is None else most, POLLED))
        if most is None or most > 0:
            assert events or not self.pending()
        for event in events:
            model = next(model for model in self.world.held if model.id == event.activity_id)
            self.check(model)
        self.world.held = [model for model in self.world.held if not model.delivered]
        self.settle()

    def pending(self) -> bool:
        """Whether there is something to tell, as far as the model knows."""
        return any(model.end or self.scene.told.text(model.id) != model.text for model in self.world.held)

    def check(self, model: Model) -> None:
        told, terminal = self.scene.told.text(model.id), self.scene.told.terminal(model.id)
        assert model.text.startswith(told)
        if terminal is None:
            return
        assert told == model.text
        model.delivered = True
        match terminal:
            case Completed():
                assert (model.end, model.output, model.session) == (
                    "completed",
                    terminal.output,
                    terminal.session,
                )
            case Cancelled():
                assert model.end == "cancelled"
            case Failed():
                reasons = {"overflow": None, "failed": "other", "timeout": "timeout", "stalled": "stalled"}
                assert model.end in reasons
                assert terminal.error.detail.reason == reasons[model.end]

    @invariant()
    def places_are_held_until_the_terminal_was_polled(self) -> None:
        assert self.scene.runtime.held_activities == len(self.world.held)

    @invariant()
    def what_is_pending_is_bounded(self) -> None:
        ended = sum(model.end is not None for model in self.world.held)
        assert self.scene.runtime.pending_events <= len(self.world.held) * (PENDING - 1) + ended

    @invariant()
    def those_that_may_run_were_started_and_no_others(self) -> None:
        started = [model.id for model in self.world.held if model.started_at is not None]
        held = {model.id for model in self.world.held}
        assert sorted(id for id in self.scene.provider.starts if id in held) == sorted(started)

    @invariant()
    def the_provider_was_told_to_cancel_once_where_it_had_to_be(self) -> None:
        assert sorted(self.scene.provider.cancels) == sorted(self.expected_cancels)

    def teardown(self) -> None:
        """Everything that is still held comes to its end by the clock alone."""
        for _ in range(8):
            self.advance(9)
        while self.scene.runtime.held_activities:
            before = self.scene.runtime.held_activities, self.scene.runtime.pending_events
            self.poll(None)
            assert (self.scene.runtime.held_activities, self.scene.runtime.pending_events) != before
        assert self.world.held == []


QUICK = settings(max_examples=60, stateful_step_count=40, deadline=None, database=None)


@pytest.mark.spec("S6", "S7", "S8", "S10", "S11", "S12", "S13", "S15", "P5", "P6", "D3")
def test_the_runtime_does_what_the_model_says_in_any_order_of_events() -> None:
    run_state_machine_as_test(RuntimeMachine, settings=QUICK)
