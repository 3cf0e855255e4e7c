"""What a game does with Hosts that remember, and what has to be in their store afterwards."""

import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from engine_intelligence import (
    Completed,
    Deadlines,
    HostConnection,
    IntelligenceEvent,
    IntelligenceLimits,
    IntelligenceService,
    Ok,
    SessionRef,
    SqliteConversationStore,
    TextDelta,
    spawn_host,
)
from engine_intelligence.conversation import Turn
from support.remembering_minds import MIND, SOURCE, STORE_VARIABLE, answer_to

_PAUSE_S = 0.001


def session(name: str) -> SessionRef:
    return SessionRef(MIND, name)


def start(path: Path, *, limits: IntelligenceLimits | None = None) -> HostConnection:
    """A Host whose conversations are in the file `path`."""
    environment = {**os.environ, STORE_VARIABLE: str(path)}
    return spawn_host(SOURCE, limits=limits, environment=environment, deadlines=Deadlines(close_grace_s=2.0))


class Player:
    """Has a conversation in each of its sessions, one input at a time, and notes which turns were told to be complete."""

    def __init__(self, service: IntelligenceService, name: str, sessions: Sequence[SessionRef]) -> None:
        self._service = service
        self._name = name
        self._free = list(sessions)
        self._said: dict[str, tuple[SessionRef, str]] = {}
        self._number = 0
        self.told: list[tuple[SessionRef, str]] = []
        self.said: list[tuple[SessionRef, str]] = []
        self.others: list[IntelligenceEvent] = []
        """What came that is neither text nor a completion."""

    @property
    def busy(self) -> bool:
        return bool(self._said)

    def speak(self) -> None:
        """Say the next thing wherever an answer has come."""
        while self._free:
            where = self._free.pop(0)
            self._number += 1
            input = f"{self._name}.{self._number}"
            started = self._service.submit(input, where)
            assert isinstance(started, Ok), started
            self._said[started.value.id] = (where, input)
            self.said.append((where, input))

    def listen(self) -> None:
        """Take what has come."""
        for event in self._service.poll():
            if isinstance(event, TextDelta):
                continue
            ended = self._said.pop(event.activity_id)
            if isinstance(event, Completed):
                self.told.append(ended)
                self._free.append(ended[0])
            else:
                self.others.append(event)
        time.sleep(_PAUSE_S)


def kept(path: Path, where: SessionRef) -> list[Turn]:
    store = SqliteConversationStore(path)
    try:
        return list(store.history(where))
    finally:
        store.close()


def check_whole(path: Path) -> None:
    """The file is a whole database."""
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    finally:
        connection.close()


def check_turns(turns: Sequence[Turn], *, alone: bool) -> list[str]:
    """Each turn is whole and there once; where a conversation was had `alone`, each was given all before it. The inputs."""
    inputs = [turn.input for turn in turns]
    assert len(set(inputs)) == len(inputs), inputs
    for number, turn in enumerate(turns):
        if alone:
            assert turn.output == answer_to(turn.input, inputs[:number][-3:])
        else:
            assert turn.output.startswith(f'{{"to": "{turn.input}"')
            assert turn.output.endswith('"}')
    return inputs
