"""How long a game waits: for the import, for `spawn_host` to return, for a Host's first event, and for the first text of the
local model. Milliseconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from _local_model import missing_for_local_model
from _record import record
from _turns import Samples, in_turns

import engine_intelligence
from engine_intelligence import TextDelta, spawn_host
from engine_intelligence.host.directories import DATA_VARIABLE

BLOCKS = 25
PACKAGE = Path(engine_intelligence.__file__).resolve().parent
FRAME_S = 0.001
OF_MODEL = "first text of the local model"


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
    """Of the provider that says what it is told."""
    return ms_to_first_delta("scripted", {"text": "Halt!", "interval_s": 0}, os.environ)


def ms_to_first_text_of_model() -> float:
    """Of the local model, which is loaded meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        return ms_to_first_delta("llama", {}, {**os.environ, DATA_VARIABLE: folder})


def ms_to_first_delta(kind: str, options: Mapping[str, object], environment: Mapping[str, str]) -> float:
    """From the call of `spawn_host` until a game that polls a thousand times a second has the first delta."""
    began = time.perf_counter()
    with spawn_host(kind, options=options, environment=environment) as host:
        client = host.client(kind)
        assert client.submit("May I pass?").ok
        while True:
            events = client.poll()
            if events:
                took = time.perf_counter() - began
                assert isinstance(events[0], TextDelta), events
                return took * 1000
            assert not client.closed, client.close_reason
            time.sleep(FRAME_S)


def main() -> None:
    """Run it."""
    bare, package = "pass", "import engine_intelligence"
    missing = missing_for_local_model()
    with tempfile.TemporaryDirectory() as cache:
        interpreter = Interpreter(cache)
        samples: Samples = in_turns(
            {
                "Python": lambda: interpreter.ms(bare),
                "import": lambda: interpreter.ms(package),
                "import, package not compiled": lambda: interpreter.ms_uncompiled(package),
                "spawn_host returns": ms_to_spawn,
                "first event of a Host": ms_to_first_event,
                **({} if missing else {OF_MODEL: ms_to_first_text_of_model}),
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
        *(() if missing else (OF_MODEL,)),
    )
    samples = {name: samples[name] for name in order}
    limits = {
        order[0]: 60.0,
        order[1]: 60.0,
        order[2]: 20.0,
        order[3]: 500.0,
    }
    left_out = {OF_MODEL: missing} if missing else {}
    record("startup", "milliseconds", samples, [], limits=limits, left_out=left_out)


if __name__ == "__main__":
    main()
