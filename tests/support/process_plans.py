"""Games that are processes of their own: `python -m support.process_plans PLAN`. A test says in the plan how the game ends."""

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from engine_intelligence import (
    Deadlines,
    Failed,
    HostConnection,
    IntelligencePortClient,
    Ok,
    TextDelta,
    spawn_host,
)
from engine_intelligence.realm.spawning import Transport
from support.forks import native_fork

# Like that of the tests; not theirs, so that a game starts without what tests need.
PATIENCE_S = 20.0

Ending: TypeAlias = Literal[
    "plays-on",
    "returns",
    "sys.exit",
    "raises",
    "os._exit",
    "sigterm",
    "closes",
    "survives-ctrl-c",
    "hears-out",
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
    """Whether a fork of the game that Python does not hear of, such as that of a native library, holds the connection."""
    waits_for_text: bool = True
    stage: str | None = None
    """The file by which the provider shows that it has got to its point; the game waits for it."""


class Report(msgspec.Struct, frozen=True):
    """What a game says when it plays."""

    game: int
    host: int
    texts: tuple[str, ...]
    ends: tuple[str, ...] = ()
    """How each Activity ended, for a game that hears them out: the type, and the code of a failure."""
    close_reason: str | None = None


def main(plan: Plan) -> None:
    interrupted: list[int] = []
    # A shell that starts the tests in its background has its children ignore this signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if plan.ending == "survives-ctrl-c":
        signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    connection = spawn_host(
        plan.source,
        transport=plan.transport,
        deadlines=Deadlines(close_grace_s=plan.grace_s, unresponsive_s=plan.unresponsive_s),
    )
    client = connection.client("mind")
    texts: dict[str, str] = {}
    for each in plan.inputs:
        started = client.submit(each)
        assert isinstance(started, Ok)
        texts[started.value.id] = ""
        if plan.waits_for_text:
            _until_text(client, texts, started.value.id)
    if plan.stage is not None:
        stage = Path(plan.stage)
        end = time.monotonic() + PATIENCE_S
        while not stage.exists():
            assert time.monotonic() < end
            time.sleep(0.001)
    if plan.forks_sibling and native_fork() == 0:
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
            while not interrupted:
                client.poll()
                time.sleep(0.001)
            texts = dict.fromkeys(texts, "")
            client.poll()
            _until_text(client, texts, next(iter(texts)))
            _report(connection, texts)
        case "hears-out":
            ends = _until_ends(client, texts)
            _report(connection, texts, ends)


def _until_text(client: IntelligencePortClient, texts: dict[str, str], activity_id: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not texts[activity_id]:
        assert time.monotonic() < end, client.close_reason
        for event in client.poll():
            if isinstance(event, TextDelta):
                texts[event.activity_id] += event.text
        time.sleep(0.001)


def _until_ends(client: IntelligencePortClient, texts: dict[str, str]) -> tuple[str, ...]:
    ends = dict.fromkeys(texts, "")
    end = time.monotonic() + PATIENCE_S
    while not all(ends.values()) and client.close_reason is None:
        assert time.monotonic() < end
        for event in client.poll():
            match event:
                case TextDelta(activity_id=id, text=text):
                    texts[id] += text
                case Failed(activity_id=id, error=error):
                    ends[id] = f"failed {error.code}"
                case _:
                    ends[event.activity_id] = event.type
        time.sleep(0.001)
    return tuple(ends.values())


def _report(connection: HostConnection, texts: Mapping[str, str], ends: tuple[str, ...] = ()) -> None:
    report = Report(
        os.getpid(), connection.pid, tuple(texts.values()), ends, connection.close_reason if ends else None
    )
    print(json.dumps(msgspec.to_builtins(report)), flush=True)


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=Plan))
