"""Games that a Host starts: `python -m support.process_run_games PLAN`. Each line that one prints is a `Line` in JSON."""

import json
import os
import select
import signal
import subprocess
import sys
import time

import msgspec

from engine_intelligence import Completed, IntelligencePortClient, Ok, TextDelta, connect

# Like that of the tests; not theirs, so that a game starts without what tests need.
PATIENCE_S = 20.0

RECORDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2")

# What a process has that is let inherit all that can be inherited.
LOOK_AROUND = """
import json, os
names = [name for name in os.environ if name.startswith("ENGINE_INTELLIGENCE_")]
files = []
for number in os.listdir("/proc/self/fd"):
    try:
        files.append(os.readlink(f"/proc/self/fd/{number}"))
    except OSError:
        pass
print(json.dumps({"names": names, "sockets": [file for file in files if file.startswith("socket:")]}))
"""


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What such a game does. It plays until its standard input ends, and ends with `exit_code`."""

    connects: bool = True
    input: str = "hello from the game"
    completes: bool = True
    """Whether it waits for the end of its Activity, and not only for text of it."""
    closes: bool = False
    """Whether it closes its connection then, and goes on."""
    looks_around: bool = False
    exit_code: int = 0


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What such a game says."""

    game: int | None = None
    launcher: int | None = None
    host: int | None = None
    text: str = ""
    names: list[str] = []
    """The variables of this package in its environment."""
    child: dict[str, list[str]] = {}
    """What a process that it started has: variables of this package, and sockets."""
    closed: str | None = None
    signal: str | None = None


def say(line: Line) -> None:
    os.write(1, msgspec.json.encode(line) + b"\n")  # also from a signal's handler


def main(plan: RunPlan) -> None:
    for name in RECORDED:
        signal.signal(getattr(signal, name), lambda number, _: say(Line(signal=signal.Signals(number).name)))
    client: IntelligencePortClient | None = None
    text, host = "", None
    if plan.connects:
        connection = connect()
        host, client = connection.pid, connection.client("mind")
        text = play(client, plan)
        if plan.closes:
            connection.close().wait()
    names = [name for name in os.environ if name.startswith("ENGINE_INTELLIGENCE_")]
    child: dict[str, list[str]] = {}
    if plan.looks_around:
        ran = subprocess.run(
            [sys.executable, "-S", "-E", "-c", LOOK_AROUND],
            close_fds=False,
            stdout=subprocess.PIPE,
            check=True,
        )
        child = json.loads(ran.stdout)
    say(Line(game=os.getpid(), launcher=os.getppid(), host=host, text=text, names=names, child=child))
    go_on(client)
    sys.exit(plan.exit_code)


def play(client: IntelligencePortClient, plan: RunPlan) -> str:
    assert isinstance(client.submit(plan.input), Ok)
    text = ""
    end = time.monotonic() + PATIENCE_S
    while True:
        assert time.monotonic() < end, client.close_reason
        assert not client.closed, client.close_reason
        for event in client.poll():
            match event:
                case TextDelta():
                    text += event.text
                case Completed():
                    return event.output
                case _:
                    raise AssertionError(event)
        if text and not plan.completes:
            return text
        time.sleep(0.001)


def go_on(client: IntelligencePortClient | None) -> None:
    """Play until the standard input ends, and say once that the client is closed."""
    told = False
    while not select.select([0], [], [], 0.001)[0]:
        if client is not None and not told:
            client.poll()
            if client.closed:
                told = True
                say(Line(closed=client.close_reason))


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=RunPlan))
