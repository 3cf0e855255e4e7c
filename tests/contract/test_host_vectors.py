"""Rule M1: the Host's side of a port, played from the transcripts of the TypeScript package.

The freedoms are those of tests/vectors/README.md, and no others.
"""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.loop import settle

from engine_intelligence import (
    ActivitySink,
    ActivitySubmission,
    Failed,
    IntelligenceError,
    IntelligenceEvent,
    IntelligenceFailure,
    IntelligenceLimits,
    IntelligencePortBinding,
    Ok,
    PortEnded,
    Result,
    bind_intelligence_port,
    create_intelligence_runtime,
)
from engine_intelligence.ports.memory import MemoryPort, memory_port_pair
from engine_intelligence.protocol.messages import Closed, Events, HostMessage, Poll, RealmMessage, Rejected
from engine_intelligence.testing import Transcript

VECTORS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "host.json").read_text(encoding="utf-8")
)
# Those of the package, where a transcript names none.
DEFAULTS = {
    "maxInputChars": 16384,
    "maxOutputChars": 65536,
    "maxConcurrentActivities": 8,
    "maxPendingEventsPerActivity": 256,
    "maxPollEvents": 64,
}


class ScriptedProvider:
    """Notes what it is asked, behaves as the transcript says, and confirms a cancel at once."""

    def __init__(self, id: str, behaviour: dict[str, Any]) -> None:
        self._id = id
        self._behaviour = behaviour
        self.calls: list[list[str]] = []
        self.sinks: dict[str, ActivitySink] = {}

    @property
    def id(self) -> str:
        return self._id

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        if "startThrows" in self._behaviour:
            raise RuntimeError(self._behaviour["startThrows"])
        self.calls.append(["start", submission.id])
        self.sinks[submission.id] = sink
        return Ok(None)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        self.calls.append(["cancel", activity_id])
        self.sinks[activity_id].cancelled()
        return Ok(None)

    async def close(self) -> None:
        self.calls.append(["close"])
        if self._behaviour.get("closeThrows"):
            raise RuntimeError("close failed")


@dataclass
class Replay:
    """A binding that answers the realm of a transcript."""

    realm: MemoryPort[HostMessage, RealmMessage]
    provider: ScriptedProvider
    binding: IntelligencePortBinding
    arrived: list[HostMessage]
    told: Transcript
    expected: Transcript

    async def take(self, step: dict[str, Any], largest: int) -> None:
        """One step of the transcript."""
        match step:
            case {"realm": message}:
                self.realm.send(msgspec.convert(message, RealmMessage))
            case {"provider": method, "activityId": id}:
                sink = self.provider.sinks[id]
                getattr(sink, method)(*([step["value"]] if "value" in step else []))
            case {"hostCloses": _}:
                await self.binding.close()
            case {"host": message}:
                await settle()
                self.arrived += self.receive()
                assert self.arrived, f"nothing arrived, where {message} is due"
                self.compare(self.arrived.pop(0), message, largest)
            case {"note": "port released"}:
                await settle()
                assert self.arrived == []
                with pytest.raises(PortEnded):
                    self.realm.receive()
            case _:
                raise AssertionError(f"not a step: {step}")

    def receive(self) -> list[HostMessage]:
        try:
            return list(self.realm.receive())
        except PortEnded:
            return []

    def compare(self, message: HostMessage, expected: dict[str, Any], largest: int) -> None:
        match message:
            case Events(events):
                assert expected["kind"] == "intelligence-events"
                assert len(events) <= largest
                self.told.take(events)
                self.expected.take(msgspec.convert(with_texts(expected["events"]), list[IntelligenceEvent]))
            case Rejected(id, error):
                assert (expected["kind"], expected["activityId"]) == ("intelligence-rejected", id)
                compare_failure(error, expected["error"])
            case Closed():
                assert expected == {"kind": "intelligence-closed"}
            case _:
                raise AssertionError(f"{message} has no place in a transcript")


def with_texts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A transcript leaves the two sentences of an error out; ours have to have some."""
    sentences = {"expected": "", "hint": ""}
    return [
        {**event, "error": {**event["error"], **sentences}} if "error" in event else event for event in events
    ]


def compare_failure(error: IntelligenceFailure, expected: dict[str, Any]) -> None:
    detail: dict[str, Any] = msgspec.to_builtins(error.detail)
    if str(expected["detail"].get("cause", "")).startswith("duplicate activity identity"):
        assert (error.code, detail["field"]) == ("intelligence-invalid-request", "id")
        return
    assert error.code == expected["code"]
    for key, value in expected["detail"].items():
        if key == "cause":
            # Ours puts the class of an exception before its text.
            assert value in detail["cause"]
        else:
            assert detail[key] == value


def compare_activities(told: Transcript, expected: Transcript) -> None:
    assert sorted(told.activities) == sorted(expected.activities)
    for id in expected.activities:
        assert told.text(id) == expected.text(id)
        ours, theirs = told.terminal(id), expected.terminal(id)
        if isinstance(theirs, Failed):
            assert isinstance(ours, Failed)
            compare_failure(ours.error, msgspec.to_builtins(theirs.error))
        elif theirs is not None:
            assert ours is not None
            assert msgspec.structs.replace(ours, sequence=0) == msgspec.structs.replace(theirs, sequence=0)


def polled(steps: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], int]]:
    """Each step, with how many events the realm last asked for."""
    largest = 0
    for step in steps:
        if step.get("realm", {}).get("kind") == Poll.__struct_config__.tag:
            largest = step["realm"]["maxEvents"]
        yield step, largest


async def replay(vector: dict[str, Any]) -> None:
    realm_end, host_end = memory_port_pair()
    provider = ScriptedProvider(vector["providerId"], vector["providerBehaviour"])
    limits = msgspec.convert({**DEFAULTS, **vector["limits"]}, IntelligenceLimits)
    binding = bind_intelligence_port(
        host_end, create_intelligence_runtime(provider, limits=limits), announce=False
    )
    played = Replay(realm_end, provider, binding, [], Transcript(), Transcript())
    for step, largest in polled(vector["steps"]):
        await played.take(step, largest)
        await settle()
    assert [*played.arrived, *played.receive()] == []
    assert provider.calls == vector["providerCalls"]
    compare_activities(played.told, played.expected)
    await binding.close()


@pytest.mark.spec("M1", "M4", "B2", "B5")
@pytest.mark.parametrize("name", VECTORS)
def test_a_host_behaves_as_that_of_the_typescript_package(name: str) -> None:
    asyncio.run(replay(VECTORS[name]))


@pytest.mark.spec("M1")
def test_there_are_transcripts_to_be_true_to() -> None:
    assert len(VECTORS) >= 15
