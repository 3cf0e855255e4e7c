"""Games that are processes of their own: `python -m support.process_games PLAN`. A test says in the plan how the game ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias

import msgspec
import pytest

from engine_intelligence import Deadlines, HostConnection, IntelligencePortClient, TextDelta, spawn_host
from engine_intelligence.realm.connection import Transport
from support.process_marks import PATIENCE_S, until

Ending: TypeAlias = Literal[
    "plays-on", "returns", "sys.exit", "raises", "os._exit", "sigterm", "closes", "survives-ctrl-c"
]

RAISED = "this game was always going to break"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a game does: it submits every input, waits for text of each, says so, and ends."""

    transport: Transport = "auto"
    source: str = "support.process_minds:mind"
    inputs: tuple[str, ...] = ("talk",)
    ending: Ending = "plays-on"
    grace_s: float = 0.3
    unresponsive_s: float = 10.0
    forks_sibling: bool = False
    """Whether a fork of the game, which knows nothing of it, holds the connection open."""
    waits_for_text: bool = True
    stage: str | None = None
    """The file by which the provider shows that it has got to its point; the game waits for it."""


class Report(msgspec.Struct, frozen=True):
    """What a game says when it plays."""

    game: int
    host: int
    texts: tuple[str, ...]


def main(plan: Plan) -> None:
    connection = spawn_host(
        plan.source,
        transport=plan.transport,
        deadlines=Deadlines(close_grace_s=plan.grace_s, unresponsive_s=plan.unresponsive_s),
    )
    client = connection.client("mind")
    texts: dict[str, str] = {}
    for each in plan.inputs:
        started = client.submit(each)
        assert started.ok
        texts[started.value.id] = ""
        if plan.waits_for_text:
            _until_text(client, texts, started.value.id)
    if plan.stage is not None:
        stage = Path(plan.stage)
        until(stage.exists, "the point that the provider gets to")
    if plan.forks_sibling and os.fork() == 0:
        time.sleep(3600)
    _report(connection, texts)
    match plan.ending:
        case "plays-on":
            while True:
                client.poll()
                time.sleep(0.001)
        case "returns":
            return
        case "sys.exit":
            sys.exit(3)
        case "raises":
            raise RuntimeError(RAISED)
        case "os._exit":
            os._exit(4)
        case "sigterm":
            os.kill(os.getpid(), signal.SIGTERM)
        case "closes":
            connection.close().wait()
        case "survives-ctrl-c":
            try:
                while True:
                    client.poll()
                    time.sleep(0.001)
            except KeyboardInterrupt:
                pass
            texts = dict.fromkeys(texts, "")
            client.poll()
            _until_text(client, texts, next(iter(texts)))
            _report(connection, texts)


def _until_text(client: IntelligencePortClient, texts: dict[str, str], activity_id: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not texts[activity_id]:
        assert time.monotonic() < end, client.close_reason
        for event in client.poll():
            if isinstance(event, TextDelta):
                texts[event.activity_id] += event.text
        time.sleep(0.001)


def _report(connection: HostConnection, texts: Mapping[str, str]) -> None:
    report = Report(os.getpid(), connection.pid, tuple(texts.values()))
    print(json.dumps(msgspec.to_builtins(report)), flush=True)


class Game:
    """Such a process, seen from the test that started it."""

    def __init__(
        self,
        plan: Plan,
        environment: Mapping[str, str],
        *,
        own_group: bool = False,
        options: tuple[str, ...] = (),
    ) -> None:
        tests = Path(__file__).parents[1]
        self.process = subprocess.Popen(
            [
                sys.executable,
                *options,
                "-m",
                "support.process_games",
                msgspec.json.encode(plan).decode(),
            ],
            env={**environment, "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent / "src")])},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=own_group,
        )

    def report(self) -> Report:
        """Wait for the line that says that the game plays."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            pytest.fail(f"the game did not get far: {self.said()}")
        return msgspec.json.decode(line, type=Report)

    def kill(self) -> None:
        """`kill -9`, and nothing else."""
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def exit_code(self) -> int:
        """Wait for its end."""
        until(lambda: self.process.poll() is not None, "the end of the game")
        return self.process.returncode

    def said(self) -> str:
        """All that it and its Host printed on standard error; waits until both are gone."""
        return self.process.communicate(timeout=PATIENCE_S)[1].decode()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=Plan))
