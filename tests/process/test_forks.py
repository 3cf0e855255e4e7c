"""A process that the game forked holds what the game has open, and must not end it."""

import os
import signal
import time

import pytest

from engine_intelligence import Completed, IntelligencePortClient, Ok, spawn_host


def completed(client: IntelligencePortClient, text: str) -> bool:
    """Whether an answer comes, within a bound that is far beyond what it takes."""
    assert isinstance(client.submit(text), Ok)
    for _ in range(4000):
        if any(isinstance(event, Completed) for event in client.poll()):
            return True
        time.sleep(0.005)
    return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.spec("H6")
def test_a_fork_of_the_game_that_leaves_the_connection_does_not_close_it() -> None:
    with spawn_host("scripted", options={"interval_s": 0}) as host:
        client = host.client("scripted")
        assert completed(client, "before")
        fork = os.fork()
        if fork == 0:
            # As a fork does that runs to the end of the `with` block.
            os._exit(0 if host.close().wait(5) else 1)
        _, status = os.waitpid(fork, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert completed(client, "after")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.spec("H6")
def test_a_connection_is_closed_while_a_fork_of_the_game_still_has_it() -> None:
    host = spawn_host("scripted", options={"interval_s": 0})
    assert completed(host.client("scripted"), "before")
    fork = os.fork()
    if fork == 0:
        signal.pause()
        os._exit(0)
    try:
        assert host.close().wait(20)
    finally:
        os.kill(fork, signal.SIGKILL)
        os.waitpid(fork, 0)
