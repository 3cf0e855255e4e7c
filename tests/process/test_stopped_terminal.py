"""A terminal that takes nothing more, such as a paused one: neither the Host nor its end waits for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine_intelligence

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")

GAME = """
import time
from engine_intelligence import Completed, spawn_host

host = spawn_host("support.process_minds:mind")
client = host.client("mind")
client.submit("noise")
done = False
for _ in range(4000):
    done = done or any(isinstance(event, Completed) for event in client.poll())
    if done or client.closed:
        break
    time.sleep(0.005)
print("completed" if done else client.close_reason, host.close().wait(20))
"""


@pytest.mark.fault("R36", "C29")
@pytest.mark.spec("H5", "H6")
def test_a_terminal_that_is_stopped_stops_neither_the_host_nor_its_end() -> None:
    master, terminal = pty.openpty()
    try:
        tests = Path(__file__).parents[1]
        package = Path(engine_intelligence.__file__).parents[1]
        game = subprocess.run(
            [sys.executable, "-c", GAME],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), str(package)])},
            stdout=subprocess.PIPE,
            stderr=terminal,
            timeout=60,
            check=True,
            text=True,
        )
    finally:
        os.close(terminal)
        os.close(master)
    assert game.stdout.split() == ["completed", "True"]
