"""A Host that is killed loses nothing that it has told, and keeps nothing by halves."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from support.process_marks import PATIENCE_S
from support.remembering_minds import MIND
from support.remembering_play import Player, check_turns, check_whole, kept, session, start

TURNS = 200
SEED = 20261130
# A life is this long at most, from its first answer on: some turns, each of which writes to the disk.
LONGEST_LIFE_S = 0.12


def live_and_die(path: Path, life: int, chance: random.Random) -> Player:
    """A Host that has three conversations until it is killed at some moment; what was said and told."""
    with start(path) as host:
        client = host.client(MIND)
        player = Player(client, f"life {life}", [session(f"s{number}") for number in range(3)])
        gives_up_at, dies_at = time.monotonic() + PATIENCE_S, None
        while dies_at is None or time.monotonic() < dies_at:
            player.speak()
            player.listen()
            assert not client.closed, client.close_reason
            assert time.monotonic() < gives_up_at, "no answer came"
            if dies_at is None and player.told:
                dies_at = time.monotonic() + chance.uniform(0, LONGEST_LIFE_S)
        assert host.pid is not None
        os.kill(host.pid, signal.SIGKILL)
        while not client.closed:
            player.listen()  # what it told before it died was told
        assert player.others == []
        return player


@pytest.mark.skipif(os.name != "posix", reason="kills a Host by a signal that it cannot see")
@pytest.mark.spec("P5", "P7")
def test_a_turn_that_was_told_is_there_once_however_often_its_host_is_killed(tmp_path: Path) -> None:
    path, chance = tmp_path / "conversations.sqlite3", random.Random(SEED)
    lives: list[Player] = []
    while sum(len(player.told) for player in lives) < TURNS:
        lives.append(live_and_die(path, len(lives), chance))
    assert len(lives) > 3
    check_whole(path)
    for where in (session(f"s{number}") for number in range(3)):
        inputs = check_turns(kept(path, where), alone=True)
        told = [input for player in lives for place, input in player.told if place == where]
        said = [input for player in lives for place, input in player.said if place == where]
        assert [input for input in inputs if input in set(told)] == told
        # What was complete when the Host died and was not told any more is there too, in its place.
        assert [input for input in said if input in set(inputs)] == inputs
