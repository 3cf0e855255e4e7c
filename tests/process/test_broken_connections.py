"""A proxy between a game and its Host that delays, cuts up, swallows or cuts off what they say (rules C5, M3)."""

import os
import random
import signal
from pathlib import Path

import msgspec
import pytest
from support.process_marks import PATIENCE_S, Mark, until
from support.process_minds import MIND
from support.process_play import (
    NothingWaits,
    answer,
    code_of_close,
    frames,
    submitted,
    text_of,
    until_text,
)
from support.process_proxy import FAULT_VARIABLE, Fault, script
from support.process_start import Starter
from support.process_stormy_minds import nothing

from engine_intelligence import Deadlines, Failed, HostConnection, IntelligenceEvent

pytestmark = pytest.mark.skipif(os.name != "posix", reason="starts a script of the shell in place of Python")

IMPATIENT = Deadlines(unresponsive_s=1.0, close_grace_s=0.3)


def through(start: Starter, folder: Path, fault: Fault, deadlines: Deadlines = IMPATIENT) -> HostConnection:
    """A Host behind a proxy with that fault."""
    start.environment[FAULT_VARIABLE] = msgspec.json.encode(fault).decode()
    return start(python=script(folder), deadlines=deadlines)


def counted(text: str) -> bool:
    """Whether the text is that of a Host that counts, with nothing left out or twice."""
    return text == "".join(f"{n} " for n in range(text.count(" ")))


@pytest.mark.fault("R23", "R25")
@pytest.mark.spec("M3", "S6")
@pytest.mark.parametrize(
    "fault",
    [Fault(at_once=True, chunk_bytes=1), Fault(at_once=True, gather_bytes=64 * 1024)],
    ids=["a byte at a time", "many frames at once"],
)
def test_it_makes_no_difference_in_which_pieces_a_connection_delivers(
    start: Starter, tmp_path: Path, fault: Fault
) -> None:
    client = through(start, tmp_path, fault).client(MIND)
    words = " ".join(f"word-{n}" for n in range(500)) + " "
    assert answer(client, words) == words
    submitted(client, "talk")
    assert counted(text_of([event for _ in range(5) for event in until_text(client)]))


@pytest.mark.fault("R40", "R27", "R11")
@pytest.mark.spec("C5", "S1")
@pytest.mark.parametrize("both_ways", [False, True])
def test_a_connection_that_swallows_what_the_host_says_is_given_up_as_unresponsive(
    start: Starter, tmp_path: Path, both_ways: bool
) -> None:
    fault = Fault(swallows_from_host=True, swallows_from_game=both_ways)
    connection = through(start, tmp_path, fault)
    client = connection.client(MIND)
    submitted(client, "talk")
    text = text_of(until_text(client))
    os.kill(connection.pid, signal.SIGUSR1)
    with NothingWaits():
        while client.close_reason is None:
            text += text_of(client.poll())
            frames(1)
    assert code_of_close(client) == "unresponsive"
    assert counted(text)


@pytest.mark.fault("R40")
@pytest.mark.spec("C4", "C5")
def test_what_arrives_once_a_connection_is_whole_again_reaches_no_client_that_was_given_up(
    start: Starter, tmp_path: Path, mark: Mark
) -> None:
    connection = through(start, tmp_path, Fault(swallows_from_host=True))
    client = connection.client(MIND)
    submitted(client, "talk")
    until_text(client)
    os.kill(connection.pid, signal.SIGUSR1)
    until(lambda: client.closed, "the end of the client")
    os.kill(connection.pid, signal.SIGUSR2)
    events: list[IntelligenceEvent] = []
    for _ in range(20):
        events += client.poll()
        frames(1)
    assert events == []
    assert connection.close().wait(PATIENCE_S)
    mark.until_gone()


@pytest.mark.fault("R40")
@pytest.mark.spec("S6", "C5")
def test_what_a_connection_swallows_of_the_game_ends_by_the_deadlines_of_the_game(
    start: Starter, tmp_path: Path
) -> None:
    # The Host goes on with its heartbeats, so nobody is frozen; it never hears of the Activity.
    deadlines = Deadlines(activity_s=1.0, first_text_s=20.0, stall_s=20.0, close_grace_s=0.3)
    connection = through(start, tmp_path, Fault(swallows_from_game=True), deadlines)
    client = connection.client(MIND)
    answer(client, "hello")
    os.kill(connection.pid, signal.SIGUSR1)
    frames(3)
    submitted(client, "lost")
    events: list[IntelligenceEvent] = []

    def ended() -> bool:
        events.extend(client.poll())
        return bool(events)

    until(ended, "the end of the Activity")
    assert isinstance(events[0], Failed)
    assert events[0].error.detail.reason == "timeout"


@pytest.mark.fault("R26")
@pytest.mark.spec("C5", "M3", "H6")
def test_a_connection_that_ends_in_the_middle_of_a_frame_ends_both_sides(
    start: Starter, tmp_path: Path, mark: Mark
) -> None:
    connection = through(start, tmp_path, Fault(cuts=True))
    client = connection.client(MIND)
    submitted(client, "talk")
    until_text(client)
    os.kill(connection.pid, signal.SIGUSR1)
    assert code_of_close(client) in ("frame-truncated", "host-ended")
    mark.until_gone()  # the Host too, of its own accord


@pytest.mark.fault("R13")
@pytest.mark.spec("C5", "S6")
def test_a_host_that_is_stopped_again_and_again_for_a_moment_is_kept_and_loses_nothing(
    start: Starter,
) -> None:
    moments = random.Random("pauses")
    connection = start(deadlines=Deadlines(unresponsive_s=5.0, close_grace_s=0.3))
    client = connection.client(MIND)
    submitted(client, "talk")
    text = text_of(until_text(client))
    for _ in range(12):
        os.kill(connection.pid, signal.SIGSTOP)
        for _ in range(moments.randrange(4)):
            text += text_of(client.poll())
            frames(1)
        os.kill(connection.pid, signal.SIGCONT)
        text += text_of(until_text(client))
    assert counted(text)
    assert not client.closed


class Storm:
    """A signal every millisecond, which interrupts whatever this process waits for in the system."""

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGALRM, nothing)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)


@pytest.mark.fault("R32")
@pytest.mark.spec("S6", "C6", "H6")
def test_a_storm_of_signals_on_both_sides_disturbs_neither(start: Starter, mark: Mark) -> None:
    with Storm():
        connection = start("support.process_stormy_minds:mind")
        client = connection.client(MIND)
        words = " ".join(f"word-{n}" for n in range(1000)) + " "
        assert [answer(client, words) == words for _ in range(5)] == [True] * 5
        submitted(client, "talk")
        assert counted(text_of([event for _ in range(20) for event in until_text(client)]))
        assert connection.close().wait(PATIENCE_S)
    mark.until_gone()
