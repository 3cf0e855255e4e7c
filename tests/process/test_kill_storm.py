"""`kill -9` of the game and of the Host, twenty times each while text streams, at moments that differ and can be repeated.

The ways to a Host take turns.
"""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from support.process_games import Game
from support.process_marks import Mark
from support.process_minds import MIND
from support.process_plans import Plan
from support.process_play import MINDS, QUICK, code_of_close, submitted, until_text

from engine_intelligence import HostConnection, TextDelta, spawn_host
from engine_intelligence.realm.spawning import Transport

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills processes by signals")


@pytest.fixture
def until_the_end() -> Iterator[ExitStack]:
    """Closes what a test that failed has not closed."""
    with ExitStack() as stack:
        yield stack


WAYS: tuple[Transport, ...] = ("socket", "loopback") * 10


def started(transport: Transport, mark: Mark) -> HostConnection:
    return spawn_host(f"{MINDS}:mind", transport=transport, environment=mark.environment, deadlines=QUICK)


@pytest.mark.fault("R14", "C27")
@pytest.mark.spec("H5", "B6")
def test_nothing_is_left_after_the_game_was_killed_twenty_times_while_text_streamed(
    mark: Mark,
) -> None:
    moments = random.Random("game")
    for transport in WAYS:
        with Game(Plan(transport=transport, inputs=("talk", "flood")), mark.environment) as game:
            game.report()
            time.sleep(moments.uniform(0, 0.05))
            game.kill()
            mark.until_gone()


@pytest.mark.fault("R14")
@pytest.mark.spec("H5", "B6")
def test_nothing_is_left_after_the_game_was_killed_ten_times_while_its_host_started(
    mark: Mark,
) -> None:
    moments = random.Random("start of a game")
    for transport in WAYS[:10]:
        plan = Plan(transport=transport, inputs=("talk",), waits_for_text=False)
        with Game(plan, mark.environment) as game:
            game.report()
            time.sleep(moments.uniform(0, 0.25))
            game.kill()
            mark.until_gone()


@pytest.mark.fault("R6", "C26")
@pytest.mark.spec("H6", "C5")
def test_nothing_is_left_after_the_host_was_killed_twenty_times_while_text_streamed(
    mark: Mark, until_the_end: ExitStack
) -> None:
    moments = random.Random("host")
    for transport in WAYS:
        connection = until_the_end.enter_context(started(transport, mark))
        client = connection.client(MIND)
        submitted(client, "talk")
        events = until_text(client)
        end = time.monotonic() + moments.uniform(0, 0.05)
        while time.monotonic() < end:
            events += client.poll()
            time.sleep(0.001)
        os.kill(connection.pid, signal.SIGKILL)
        assert code_of_close(client) in ("host-ended", "frame-truncated")
        assert [e.sequence for e in events if isinstance(e, TextDelta)] == list(range(1, len(events) + 1))
        assert connection.close().wait(20)
        mark.until_gone()


@pytest.mark.fault("R5", "C26")
@pytest.mark.spec("H6", "C5")
def test_nothing_is_left_after_the_host_was_killed_ten_times_while_it_started(
    mark: Mark, until_the_end: ExitStack
) -> None:
    moments = random.Random("host start")
    for transport in WAYS[:10]:
        connection = until_the_end.enter_context(started(transport, mark))
        client = connection.client(MIND)
        submitted(client, "talk")
        time.sleep(moments.uniform(0, 0.25))
        os.kill(connection.pid, signal.SIGKILL)
        assert code_of_close(client) in ("host-ended", "frame-truncated")
        assert connection.close().wait(20)
        mark.until_gone()
