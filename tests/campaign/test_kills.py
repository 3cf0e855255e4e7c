"""Kills of games and Hosts: a few of them find nothing, and what they look for is found where it is."""

import subprocess
import sys

import pytest
from campaign import kills
from campaign.killing import Killed, LastOf
from campaign.streams import Watched
from support.port_messages import hello
from support.port_rigs import client_rig
from support.process_marks import Mark

from engine_intelligence import IntelligencePortClient, TextDelta
from engine_intelligence.protocol.messages import Events


@pytest.mark.spec("H5", "H6", "B6", "C5")
def test_a_few_kills_leave_nothing() -> None:
    record = kills.run(0.001)
    assert kills.violations(record) == 0
    assert sum(group["kills"] for group in record["game_killed"].values()) == 4
    assert sum(group["kills"] for group in record["host_killed"].values()) == 4
    table = kills.table(record)
    assert "| the game, socket | 1 | 0 |" in table
    assert "| the game, socket, with agents | 1 | 0 |" in table


def test_a_process_that_is_left_is_a_violation() -> None:
    group = kills.tally([Killed(left=1, ms=3.0, wrong=""), Killed(left=0, ms=2.0, wrong="")])
    assert kills.violations({"game_killed": {"socket": group}, "host_killed": {}}) == 1


def test_a_kill_that_went_wrong_is_a_violation() -> None:
    group = kills.tally([Killed(left=0, ms=3.0, wrong="the client was never closed")])
    assert kills.violations({"game_killed": {}, "host_killed": {"socket": group}}) == 1


def test_a_kill_that_could_not_be_carried_out_is_a_violation() -> None:
    def fails() -> Killed:
        raise AssertionError("the game did not get far")

    group = kills.tally([kills.attempt(fails)])
    assert kills.violations({"game_killed": {"socket": group}, "host_killed": {}}) == 1


@pytest.mark.parametrize("known_before", [True, False])
def test_a_process_that_outlives_the_kill_is_found_and_ended(known_before: bool) -> None:
    mark = Mark()
    early = LastOf(mark)
    command = [sys.executable, "-S", "-E", "-c", "print(flush=True); import time; time.sleep(3600)"]
    with subprocess.Popen(command, env=mark.environment, stdout=subprocess.PIPE) as left_over:
        assert left_over.stdout is not None
        left_over.stdout.readline()
        last = LastOf(mark) if known_before else early
        assert last.wait(patience_s=0.05)[1] == 1
        assert left_over.wait() != 0


def test_an_event_of_what_was_never_accepted_is_noticed() -> None:
    rig = client_rig(hello=hello())
    watched = Watched(rig.client)
    started = watched.submit("hello")
    assert started is not None
    watched.forget(started.id)
    rig.port.arrive(Events((TextDelta(started.id, 1, "a"),)))
    watched.poll()
    assert [what.split(":")[0] for what in watched.wrong] == ["I2"]


def test_a_gap_in_the_numbers_of_events_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = client_rig(hello=hello())
    watched = Watched(rig.client)
    started = watched.submit("hello")
    assert started is not None

    def poll(client: IntelligencePortClient) -> list[TextDelta]:
        return [TextDelta(started.id, 2, "a")]

    monkeypatch.setattr(IntelligencePortClient, "poll", poll)
    watched.poll()
    assert [what.split(":")[0] for what in watched.wrong] == ["I3"]
