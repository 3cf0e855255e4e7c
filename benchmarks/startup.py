"""How long a game waits: for the import, for `spawn_host` to return, and for a Host's first event. Milliseconds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _record import record
from _turns import Samples, in_turns

import engine_intelligence
from engine_intelligence import TextDelta, spawn_host

BLOCKS = 25
PACKAGE = Path(engine_intelligence.__file__).resolve().parent
FRAME_S = 0.001


class Interpreter:
    """Starts interpreters that keep the modules they compile in a folder of the benchmark's own."""

    def __init__(self, cache: str) -> None:
        self._environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)
        # Where an interpreter with that prefix keeps what it compiles of the package.
        self._of_package = Path(cache, *PACKAGE.parts[1:])

    def ms(self, code: str) -> float:
        """How long one takes to start, run some code and end."""
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=self._environment)
        return (time.perf_counter() - began) * 1000

    def ms_uncompiled(self, code: str) -> float:
        """The same, where no module of the package has been compiled before."""
        shutil.rmtree(self._of_package, ignore_errors=True)
        return self.ms(code)


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
    with tempfile.TemporaryDirectory() as cache:
        interpreter = Interpreter(cache)
        samples: Samples = in_turns(
            {
                "Python": lambda: interpreter.ms(bare),
                "import": lambda: interpreter.ms(package),
                "import, package not compiled": lambda: interpreter.ms_uncompiled(package),
                "spawn_host returns": ms_to_spawn,
                "first event of a Host": ms_to_first_event,
            },
            BLOCKS,
        )
    alone = samples["Python"]
    for name in ("import", "import, package not compiled"):
        over = [mine - theirs for mine, theirs in zip(samples.pop(name), alone, strict=True)]
        samples[f"{name}, over Python alone"] = over
    order = (
        "import, over Python alone",
        "import, package not compiled, over Python alone",
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
