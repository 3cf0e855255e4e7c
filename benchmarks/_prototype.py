"""The yardstick: submit, sink and poll in plain Python, with none of the contract's guards. Nobody should use it.

It bounds nothing, checks nothing, belongs to one thread and knows no deadline; what it does is what is left when all of
that is taken away. Ratios to it tell what the guards cost, whatever machine they are measured on.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TypeAlias

import msgspec


class Session(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """As `SessionRef`."""

    provider_id: str
    id: str


class Delta(msgspec.Struct, tag="text-delta", tag_field="type", frozen=True, gc=False, rename="camel"):
    """As `TextDelta`."""

    activity_id: str
    sequence: int
    text: str


class End(msgspec.Struct, tag="completed", tag_field="type", frozen=True, rename="camel"):
    """As `Completed`."""

    activity_id: str
    sequence: int
    session: Session
    output: str


Event: TypeAlias = Delta | End


class Voice:
    """An Activity and its sink in one."""

    __slots__ = ("ended", "events", "id", "in_line", "line", "sequence", "session")

    def __init__(self, id: str, session: Session, line: deque[Voice]) -> None:
        self.id = id
        self.session = session
        self.line = line
        self.events: deque[Event] = deque()
        self.sequence = 0
        self.in_line = False
        self.ended = False

    def text(self, text: str) -> None:
        """More output."""
        self.sequence += 1
        self._add(Delta(self.id, self.sequence, text))

    def complete(self, output: str) -> None:
        """The end."""
        self.ended = True
        self.sequence += 1
        self._add(End(self.id, self.sequence, self.session, output))

    def _add(self, event: Event) -> None:
        self.events.append(event)
        if not self.in_line:
            self.in_line = True
            self.line.append(self)


class Prototype:
    """A service over nothing: whoever submits gets the sink."""

    def __init__(self) -> None:
        self.voices: dict[str, Voice] = {}
        self.line: deque[Voice] = deque()

    def submit(self, input: str) -> Voice:
        """Begin an Activity."""
        voice = Voice(
            "activity-" + os.urandom(16).hex(), Session("prototype", os.urandom(16).hex()), self.line
        )
        self.voices[voice.id] = voice
        return voice

    def poll(self, max_events: int = 256) -> list[Event]:
        """The next events, one of each Activity in turn."""
        line = self.line
        events: list[Event] = []
        if not line:
            return events
        while line and len(events) < max_events:
            voice = line.popleft()
            events.append(voice.events.popleft())
            if voice.events:
                line.append(voice)
            else:
                voice.in_line = False
                if voice.ended:
                    del self.voices[voice.id]
        return events
