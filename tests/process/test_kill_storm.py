"""`kill -9` of the game and of the Host, twenty times each, at moments that differ and can be repeated."""

import os
import random
import signal
import time

import pytest
from support.process_games import Game
from support.process_marks import Mark
from support.process_minds import MIND
from support.process_plans import Plan
from support.process_play import code_of_close, submitted, until_text
from support.process_start import Starter

from engine_intelligence import TextDelta
from engine_intelligence.realm.connection import Transport

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills processes by signals")

TIMES = 20


@pytest.mark.spec("H5", "B6")
def test_nothing_is_left_after_the_game_was_killed_twenty_times_while_text_streamed(
    transport: Transport, mark: Mark
) -> None:
    moments = random.Random(f"game {transport}")
    for _ in range(TIMES):
        with Game(Plan(transport=transport, inputs=("talk", "flood")), mark.environment) as game:
            game.report()
            time.sleep(moments.uniform(0, 0.05))
            game.kill()
            mark.until_gone()


@pytest.mark.spec("H5", "B6")
def test_nothing_is_left_after_the_game_was_killed_twenty_times_while_its_host_started(
    transport: Transport, mark: Mark
) -> None:
    moments = random.Random(f"start {transport}")
    for _ in range(TIMES):
        plan = Plan(transport=transport, inputs=("talk",), waits_for_text=False)
        with Game(plan, mark.environment) as game:
            game.report()
            time.sleep(moments.uniform(0, 0.25))
            game.kill()
            mark.until_gone()


@pytest.mark.spec("H6", "C5")
def test_nothing_is_left_after_the_host_was_killed_twenty_times_while_text_streamed(
    start: Starter, mark: Mark
) -> None:
    moments = random.Random("host")
    for _ in range(TIMES):
        connection = start()
        client = connection.client(MIND)
        submitted(client, "talk")
        events = until_text(client)
        end = time.monotonic() + moments.uniform(0, 0.05)
        while time.monotonic() < end:
            events += client.poll()
            time.sleep(0.001)
        os.kill(connection.pid, signal.SIGKILL)
        assert code_of_close(client) == "host-ended"
        assert [e.sequence for e in events if isinstance(e, TextDelta)] == list(range(1, len(events) + 1))
        assert connection.close().wait(20)
        assert mark.listing() == []


@pytest.mark.spec("H6", "C5")
def test_nothing_is_left_after_the_host_was_killed_twenty_times_while_it_started(
    start: Starter, mark: Mark
) -> None:
    moments = random.Random("host start")
    for _ in range(TIMES):
        connection = start()
        client = connection.client(MIND)
        submitted(client, "talk")
        time.sleep(moments.uniform(0, 0.25))
        os.kill(connection.pid, signal.SIGKILL)
        assert code_of_close(client) == "host-ended"
        assert connection.close().wait(20)
        assert mark.listing() == []
