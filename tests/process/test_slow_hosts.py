"""Hosts that do not get ready, that take the whole processor, or that say a great deal (rules S1, S10, S15)."""

import os
from pathlib import Path

import pytest
from support.process_fast_minds import COUNT_VARIABLE
from support.process_marks import until
from support.process_minds import GATE_VARIABLE, MIND, STAGE_VARIABLE
from support.process_play import MINDS, NothingWaits, answer, submitted, until_text
from support.process_start import Starter

from engine_intelligence import (
    Deadlines,
    Failed,
    IntelligenceEvent,
    IntelligenceLimits,
    IntelligencePortClient,
    Ok,
    TextDelta,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="ends a wait by a signal")

FAST = "support.process_fast_minds:mind"


def until_end(client: IntelligencePortClient) -> list[IntelligenceEvent]:
    """Poll until one terminal has come; returns what came."""
    events: list[IntelligenceEvent] = []

    def ended() -> bool:
        events.extend(client.poll())
        return bool(events) and not isinstance(events[-1], TextDelta)

    until(ended, "the end of the Activity")
    return events


@pytest.mark.fault("C1", "R3")
@pytest.mark.spec("S1", "S15", "H1")
def test_a_host_that_does_not_get_ready_holds_no_call_up_and_the_activity_ends_by_its_deadline(
    start: Starter, tmp_path: Path
) -> None:
    start.environment[GATE_VARIABLE] = str(tmp_path / "a gate that nobody opens")
    deadlines = Deadlines(first_text_s=0.5, close_grace_s=0.3)
    client = start(f"{MINDS}:patient", deadlines=deadlines).client(MIND)
    submitted(client, "hello")
    with NothingWaits():
        events = until_end(client)
    assert isinstance(events[-1], Failed)
    assert events[-1].error.detail.reason == "timeout"


@pytest.mark.fault("C2", "R46")
@pytest.mark.spec("S1", "H6")
@pytest.mark.parametrize("asked", ["block", "spin", "hold"])
def test_a_provider_that_takes_all_of_its_host_holds_no_call_of_the_game_up(
    start: Starter, tmp_path: Path, asked: str
) -> None:
    stage = tmp_path / "stage"
    start.environment[STAGE_VARIABLE] = str(stage)
    client = start().client(MIND)
    submitted(client, asked)
    until_text(client)
    until(stage.exists, "the point from which nothing goes on in the Host")
    with NothingWaits():
        for _ in range(2000):
            started = client.submit("anyone?")
            client.poll()
            client.cancel(started.value.id if isinstance(started, Ok) else "nobody")
    assert not client.closed


@pytest.mark.fault("C4", "R50")
@pytest.mark.spec("S6", "S7", "S9")
def test_a_hundred_thousand_pieces_of_text_arrive_whole_through_a_host_in_bounded_polls(
    start_auto: Starter, tmp_path: Path
) -> None:
    (gate := tmp_path / "gate").touch()
    start_auto.environment[GATE_VARIABLE] = str(gate)
    start_auto.environment[COUNT_VARIABLE] = "100000"
    limits = IntelligenceLimits(max_output_chars=600_000)
    client = start_auto(FAST, limits=limits).client(MIND)
    submitted(client, "count")
    largest, text = 0, ""

    def over() -> bool:
        nonlocal largest, text
        events = client.poll()
        largest = max(largest, len(events))
        text += "".join(event.text for event in events if isinstance(event, TextDelta))
        return any(event.type == "completed" for event in events)

    until(over, "the end of the count", 60.0)
    assert text == "ready " + "".join(f"{n} " for n in range(100_000))
    assert largest <= limits.max_poll_events


@pytest.mark.fault("C25", "R50", "R61")
@pytest.mark.spec("S10", "M3")
@pytest.mark.parametrize(
    ("chars", "end"),
    [
        (65_536, "completed"),
        (65_537, "failed intelligence-output-overflow"),
        (2_000_000, "failed intelligence-output-overflow"),
        (20_000_000, "failed intelligence-output-overflow"),
    ],
)
def test_one_piece_of_any_length_is_delivered_or_is_an_overflow_and_the_client_lives(
    start: Starter, chars: int, end: str
) -> None:
    client = start(FAST).client(MIND)
    submitted(client, str(chars))
    last = until_end(client)[-1]
    assert (f"failed {last.error.code}" if isinstance(last, Failed) else last.type) == end
    assert answer(client, "5") == "xxxxx"
