"""Rule E2 with real processes: a Host full of secrets in which everything fails shows none of them to anybody."""

import json
import pickle
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.canaries import Canary, Search, make_canaries
from support.canary_errors import ERRORS, ORDINARY
from support.canary_minds import CANARIES_VARIABLE, MIND
from support.canary_watch import Evidence, watching
from support.process_marks import Mark, until

from engine_intelligence import (
    Deadlines,
    Err,
    Failed,
    HostConnection,
    IntelligenceEvent,
    IntelligenceLimits,
    IntelligencePortClient,
    Ok,
    TextDelta,
    spawn_host,
)
from engine_intelligence.realm.spawning import Transport

pytestmark = [
    pytest.mark.spec("E2"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

MINDS = "support.canary_minds"
DEADLINES = Deadlines(close_grace_s=5.0, cancel_grace_s=5.0)

# Places at which any exception may come, and those at which one like SystemExit would mean something else.
ANYWHERE = ("generator", "start", "sink")
WHERE_ORDINARY = ("callback", "task", "thread", "other_loop", "deletion", "log")
AT_CANCEL = ("cancel", "unwind")
WITHOUT = ("start-err", "handle", "warning")

PLAYER_SECRET = "what the player wrote "


def activities(canaries: Mapping[str, Canary]) -> Iterator[str]:
    """Every exception at every place at which it may come, with secrets of every shape by turns, and all of both once."""
    shapes = list(canaries)
    for shape in shapes:
        for error in ERRORS:
            yield f"generator|{shape}|{error}"
    for turn, place in enumerate((*ANYWHERE, *WHERE_ORDINARY, *AT_CANCEL)):
        names = list(ERRORS) if place in ANYWHERE else ORDINARY
        for number, error in enumerate(names):
            yield f"{place}|{shapes[(number + turn) % len(shapes)]}|{error}"
    for place in WITHOUT:
        for shape in shapes:
            yield f"{place}|{shape}|alone"


class Play:
    """A game that asks for all of it, some Activities at a time."""

    def __init__(self, client: IntelligencePortClient, evidence: Evidence) -> None:
        self._client = client
        self._evidence = evidence
        self._running: dict[str, str] = {}

    def run(self, inputs: list[str]) -> None:
        waiting = list(reversed(inputs))

        def over() -> bool:
            while waiting and len(self._running) < self._client.limits.max_concurrent_activities:
                self._submit(waiting.pop())
            for event in self._client.poll():
                self._take(event)
            assert self._client.close_reason is None
            return not waiting and not self._running

        until(over, f"the end of {len(inputs)} Activities")

    def _submit(self, input: str) -> None:
        match self._client.submit(input):
            case Ok(started):
                self._running[started.id] = input
            case Err(error):
                self._evidence.look(error, error.failure)

    def _take(self, event: IntelligenceEvent) -> None:
        self._evidence.events.append(event)
        self._evidence.look(event)
        if not isinstance(event, TextDelta):
            del self._running[event.activity_id]
        elif self._running[event.activity_id].startswith(AT_CANCEL):
            self._evidence.look(self._client.cancel(event.activity_id))


def play(transport: Transport, canaries: Mapping[str, Canary], folder: Path, mark: Mark) -> Evidence:
    """One Host that fails in every Activity, and one that fails when its providers are made, warmed and closed."""
    temporary = folder / "temporary"
    temporary.mkdir()
    environment = {
        **mark.environment,
        # Their names say what they are; the provider reads the last one.
        **{f"{shape.upper().replace(' ', '_')}_API_KEY": canary.text for shape, canary in canaries.items()},
        CANARIES_VARIABLE: json.dumps({shape: canary.text for shape, canary in canaries.items()}),
        "PYTHONDEVMODE": "1",
        "TMPDIR": str(temporary),
        "XDG_CACHE_HOME": str(temporary),
    }
    limits = IntelligenceLimits(max_concurrent_activities=16)
    with watching(folder / "printed") as evidence:
        for factory in ("mind", "cast"):
            connection = spawn_host(
                f"{MINDS}:{factory}",
                environment=environment,
                transport=transport,
                deadlines=DEADLINES,
                limits=limits,
            )
            with connection:
                if factory == "mind":
                    client = connection.client(MIND)
                    Play(client, evidence).run(list(activities(canaries)))
                    evidence.look(client, *_refusals_to_pickle(connection, client))
                    evidence.look_at_processes(connection.pid)
                else:
                    _wait_for_cast(connection, canaries, evidence)
                evidence.look(connection)
    evidence.look_at_files(temporary)
    return evidence


def _wait_for_cast(connection: HostConnection, canaries: Mapping[str, Canary], evidence: Evidence) -> None:
    closing = [connection.client(f"close {shape}") for shape in canaries]
    warmed = [connection.client(f"warm {shape}") for shape in canaries]
    until(lambda: all(client.closed for client in warmed), "the end of all that were warmed")
    evidence.look(*(client.close_reason for client in warmed))
    for client in closing:
        assert not client.closed
        client.close()
    evidence.look(*(client.close_reason for client in closing), *closing)


def _refusals_to_pickle(*objects: object) -> Iterator[str]:
    for each in objects:
        with pytest.raises(TypeError) as refused:
            pickle.dumps(each)
        yield str(refused.value)


@pytest.fixture(scope="module")
def canaries() -> dict[str, Canary]:
    return make_canaries()


@pytest.fixture(scope="module")
def search(canaries: Mapping[str, Canary]) -> Search:
    return Search(canaries)


@pytest.fixture(scope="module", params=["socket", "loopback"])
def evidence(
    request: pytest.FixtureRequest,
    canaries: Mapping[str, Canary],
    tmp_path_factory: pytest.TempPathFactory,
) -> Evidence:
    """What was seen of such a Host over each way that there is to one."""
    mark = Mark()
    try:
        return play(request.param, canaries, tmp_path_factory.mktemp("canary"), mark)
    finally:
        mark.kill()


def test_all_that_should_have_failed_did(evidence: Evidence, canaries: Mapping[str, Canary]) -> None:
    failed = [event for event in evidence.events if isinstance(event, Failed)]
    assert len(failed) >= len(canaries) * len(ERRORS)
    for told in (
        "uncaught in a thread: ",
        "an exception was ignored: ",
        "unhandled in the event loop: ",
        "asyncio: ",
        "some_sdk: the request failed (",
        "UserWarning: ",
        "failed to close: ",
        " in throw",
        "DEBUG",
    ):
        assert told in evidence.printed


def test_no_byte_that_reaches_the_game_is_of_a_secret(evidence: Evidence, search: Search) -> None:
    assert len(evidence.arrived) > 10_000
    assert search.found_in(bytes(evidence.arrived)) == set()


def test_no_byte_that_the_game_sends_is_of_a_secret(evidence: Evidence, search: Search) -> None:
    assert search.found_in(bytes(evidence.sent)) == set()


def test_no_event_failure_or_reason_shows_a_secret(evidence: Evidence, search: Search) -> None:
    assert search.found_in(*evidence.texts) == set()


def test_nothing_that_a_host_prints_or_logs_shows_a_secret(evidence: Evidence, search: Search) -> None:
    assert search.found_in(evidence.printed) == set()


def test_a_host_prints_no_traceback(evidence: Evidence) -> None:
    assert "Traceback" not in evidence.printed


def test_no_log_record_of_the_game_shows_a_secret(evidence: Evidence, search: Search) -> None:
    assert search.found_in(*evidence.logged) == set()


def test_no_command_line_shows_a_secret(evidence: Evidence, search: Search) -> None:
    assert evidence.command_lines != []
    assert search.found_in(*evidence.command_lines) == set()


def test_no_file_is_left_that_holds_a_secret(evidence: Evidence, search: Search) -> None:
    assert search.found_in(*evidence.files, *evidence.files.values()) == set()


def test_what_is_told_is_of_use_all_the_same(evidence: Evidence) -> None:
    causes = {event.error.detail.cause for event in evidence.events if isinstance(event, Failed)}
    assert "RuntimeError: it broke" in causes
    assert "RuntimeError: the gatekeeper found [...] in the answer" in causes
    assert any(cause and cause.startswith("FileNotFoundError: (Errno 2) No such file") for cause in causes)


def test_the_search_finds_a_part_of_a_secret_in_every_form(
    canaries: Mapping[str, Canary], search: Search
) -> None:
    for name, canary in canaries.items():
        part = canary.secret.splitlines()[-1][2:16]
        assert any(found.startswith(name) for found in search.found_in(f"so it was {part}"))
