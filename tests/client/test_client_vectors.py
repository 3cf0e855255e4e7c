"""Rule M1: the client behaves step by step as the transcripts of the TypeScript package say."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.port_doubles import RealmPortDouble, kind
from support.port_rigs import ClientRig, client_rig

from engine_intelligence import CloseTask, IntelligenceEvent, IntelligenceLimits, SessionRef, TextDelta
from engine_intelligence.protocol.codec import encode_json, host_message_decoder

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "client.json").read_text("utf-8")
)
PACKAGE_LIMITS = {
    "maxInputChars": 16384,
    "maxOutputChars": 65536,
    "maxConcurrentActivities": 8,
    "maxPendingEventsPerActivity": 256,
    "maxPollEvents": 64,
}


def plain(value: object) -> Any:
    """What stands on the wire."""
    return json.loads(encode_json(value))


def with_texts(value: Any) -> Any:
    """A message of a transcript, with the texts of errors that transcripts leave out."""
    if isinstance(value, list):
        return [with_texts(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, dict):
        return value
    filled = {name: with_texts(item) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return {"expected": "", "hint": "", **filled} if "code" in filled else filled  # pyright: ignore[reportUnknownVariableType]


def assert_error(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """`detail` may hold more than the transcript shows, and the texts are ours."""
    assert actual["code"] == expected["code"]
    assert expected["detail"].items() <= actual["detail"].items()


class Delivered:
    """What has been delivered, in a form that does not show how text was cut into deltas."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.terminals: dict[str, dict[str, Any]] = {}
        self.sequences: dict[str, list[int]] = {}

    def add(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            id = event["activityId"]
            self.sequences.setdefault(id, []).append(event["sequence"])
            if event["type"] == "text-delta":
                self.texts[id] = self.texts.get(id, "") + event["text"]
            else:
                assert id not in self.terminals, f"a second terminal of {id}"
                self.terminals[id] = event

    def assert_like(self, expected: "Delivered") -> None:
        assert self.texts == expected.texts
        assert self.terminals.keys() == expected.terminals.keys()
        for id, terminal in self.terminals.items():
            wanted = expected.terminals[id]
            if "error" in wanted:
                assert_error(terminal["error"], wanted["error"])
            free = {"sequence", "error"}
            assert {k: v for k, v in terminal.items() if k not in free} == {
                k: v for k, v in wanted.items() if k not in free
            }
        for sequences in self.sequences.values():
            assert sequences == list(range(1, len(sequences) + 1))


class Replay:
    """One transcript, step by step."""

    def __init__(self, vector: Mapping[str, Any]) -> None:
        limits = msgspec.convert({**PACKAGE_LIMITS, **vector["limits"]}, IntelligenceLimits)
        self.rig: ClientRig = client_rig(limits=limits, provider_id=vector["providerId"])
        self.vector = vector
        self.steps: list[dict[str, Any]] = vector["steps"]
        self.delivered, self.expected = Delivered(), Delivered()
        self.tasks: list[CloseTask] = []
        self.receives_at_release: int | None = None
        self.decoder = host_message_decoder("json")

    @property
    def port(self) -> RealmPortDouble:
        return self.rig.port

    def run(self) -> None:
        for number, step in enumerate(self.steps):
            following = self.steps[number + 1] if number + 1 < len(self.steps) else {}
            if "call" in step:
                self.assert_nothing_unexpected_was_sent()
                self.port.heal()
                self.port.fail(following.get("portRaisesOn", "nothing").removeprefix("intelligence-"))
                self.call(step)
            elif "realm" in step:
                assert self.port.sent, f"nothing was sent where {step['realm']} was due"
                assert plain(self.port.sent.pop(0)) == step["realm"]
            elif "host" in step:
                self.port.arrive(self.decoder.decode(json.dumps(with_texts(step["host"])).encode()))
            elif "portRaisesOn" in step:
                assert f"send {step['portRaisesOn'].removeprefix('intelligence-')}" in self.port.log
            if "note" in step:
                self.note(step["note"])
        self.assert_nothing_unexpected_was_sent()
        made = self.rig.identities
        assert {"activities": made.activities, "sessions": made.sessions} == self.vector["identities"]
        if self.receives_at_release is not None:
            assert self.port.receives == self.receives_at_release

    def assert_nothing_unexpected_was_sent(self) -> None:
        assert [kind(message) for message in self.port.sent] == []

    def call(self, step: Mapping[str, Any]) -> None:
        client = self.rig.client
        match step["call"]:
            case "submit":
                given = step.get("session")
                session = None if given is None else SessionRef(given["providerId"], given["id"])
                self.assert_returns(client.submit(step["input"], session), step["returns"])
            case "cancel":
                self.assert_returns(client.cancel(step["activityId"]), step["returns"])
            case "poll":
                polled = client.poll(step["maxEvents"]) if "maxEvents" in step else client.poll()
                self.delivered.add(plain(polled))
                self.expected.add(step["returns"])
                self.delivered.assert_like(self.expected)
            case "close":
                self.tasks.append(client.close())
            case other:
                raise AssertionError(f"a step that this replay does not know: {other}")

    @staticmethod
    def assert_returns(actual: Any, expected: Mapping[str, Any]) -> None:
        assert actual.ok == expected["ok"]
        if actual.ok:
            assert plain(actual.value) == expected.get("value")
        else:
            assert_error(plain(actual.error.failure), expected)

    def note(self, note: str) -> None:
        # The client reads its port inside its calls: at this look and this call it notices what has arrived.
        closed = self.rig.client.closed
        if closed:
            self.rig.client.poll()
        match note:
            case "listener released":
                assert closed
                assert self.port.wake is None
                self.receives_at_release = self.port.receives
            case "port released":
                assert self.port.closes == 1
            case "both calls of close returned the same task":
                assert len(self.tasks) == 2
                assert self.tasks[0] is self.tasks[1]
            case "close task resolved":
                assert self.tasks[0].done
            case "nobody listens any more":
                assert self.port.wake is None
            case other:
                raise AssertionError(f"a note that this replay does not know: {other}")


@pytest.mark.spec("M1", "C4", "C5", "C6")
@pytest.mark.parametrize("name", VECTORS)
def test_the_client_does_what_the_transcript_says(name: str) -> None:
    Replay(VECTORS[name]).run()


def events_of(steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for step in steps:
        if step.get("call") == "poll":
            yield from step["returns"]


@pytest.mark.spec("M1")
def test_the_replay_notices_a_text_that_differs() -> None:
    vector = json.loads(json.dumps(VECTORS["round-trip"]))
    next(events_of(vector["steps"]))["text"] = "other"
    with pytest.raises(AssertionError):
        Replay(vector).run()


@pytest.mark.spec("M1")
def test_the_replay_allows_any_cut_of_the_same_text() -> None:
    whole, parts = Delivered(), Delivered()
    items: list[IntelligenceEvent] = [TextDelta("a", 1, "he"), TextDelta("a", 2, "llo")]
    parts.add(plain(items))
    whole.add(plain([TextDelta("a", 1, "hello")]))
    parts.assert_like(whole)
