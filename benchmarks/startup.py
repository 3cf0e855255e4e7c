"""How long a game waits: for the import, for `spawn_host` to return, and for a Host's first event. Milliseconds."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from _record import record
from _turns import Samples, in_turns

from engine_intelligence import TextDelta, spawn_host

BLOCKS = 25
FRAME_S = 0.001


def ms_of_process(code: str, **variables: str) -> float:
    """How long an interpreter takes to start, run some code and end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **variables})
    return (time.perf_counter() - began) * 1000


def ms_without_bytecode(code: str) -> float:
    """The same, where no module of the package has been compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        return ms_of_process(code, PYTHONPYCACHEPREFIX=folder)


def ms_to_spawn() -> float:
    """Until `spawn_host` returns."""
    began = time.perf_counter()
    host = spawn_host("scripted", options={"text": "Halt!", "interval_s": 0})
    took = time.perf_counter() - began
    host.close().wait()
    return took * 1000


def ms_to_first_event() -> float:
    """From the call of `spawn_host` until a game that polls a thousand times a second has the first delta."""
    began = time.perf_counter()
    with spawn_host("scripted", options={"text": "Halt!", "interval_s": 0}) as host:
        client = host.client("scripted")
        assert client.submit("May I pass?").ok
        while True:
            events = client.poll()
            if events:
                took = time.perf_counter() - began
                assert isinstance(events[0], TextDelta), events
                return took * 1000
            time.sleep(FRAME_S)


def main() -> None:
    """Run it."""
    bare, package = "pass", "import engine_intelligence"
    samples: Samples = in_turns(
        {
            "Python alone": lambda: ms_of_process(bare),
            "import": lambda: ms_of_process(package),
            "Python alone, nothing compiled": lambda: ms_without_bytecode(bare),
            "import, nothing compiled": lambda: ms_without_bytecode(package),
            "spawn_host returns": ms_to_spawn,
            "first event of a Host": ms_to_first_event,
        },
        BLOCKS,
    )
    for name, alone in (
        ("import", "Python alone"),
        ("import, nothing compiled", "Python alone, nothing compiled"),
    ):
        over = [mine - theirs for mine, theirs in zip(samples.pop(name), samples.pop(alone), strict=True)]
        samples[f"{name}, over Python alone"] = over
    order = (
        "import, over Python alone",
        "import, nothing compiled, over Python alone",
        "spawn_host returns",
        "first event of a Host",
    )
    samples = {name: samples[name] for name in order}
    limits = {
        order[0]: 60.0,
        order[1]: 60.0,
        order[2]: 20.0,
        order[3]: 500.0,
    }
    record("startup", "milliseconds", samples, [], limits=limits)


if __name__ == "__main__":
    main()
