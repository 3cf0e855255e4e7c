"""A process that the game forked holds what the game has open: it cannot use it, and does not end it (rules H6, C5)."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.forks import Forked, in_fork, in_worker, native_fork, sleeping_fork
from support.process_marks import PATIENCE_S, Mark
from support.process_minds import GATE_VARIABLE, MIND
from support.process_play import MINDS, QUICK, answer, submitted, text_of, until_host_is_gone, until_text
from support.process_start import Starter

import engine_intelligence
from engine_intelligence import (
    Deadlines,
    Err,
    HostConnection,
    IntelligenceError,
    IntelligencePortClient,
    Result,
    spawn_host,
)
from engine_intelligence.ports.realm_stream import RealmChannel

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

both_forks = pytest.mark.parametrize("forked", [in_fork, in_worker])


def reason_of(result: Result[object, IntelligenceError]) -> str | None:
    """The code and the reason of a refusal."""
    return f"{result.error.code} {result.error.detail.reason}" if isinstance(result, Err) else "accepted"


# Each way to use a connection that a fork may try, and what it must come to. Each is tried in a fork of its own.
USES: dict[str, tuple[Callable[[HostConnection, IntelligencePortClient, str], object], object]] = {
    "submit": (lambda _, client, __: reason_of(client.submit("anyone?")), "intelligence-closed forked"),
    "cancel": (lambda _, client, talk: reason_of(client.cancel(talk)), "intelligence-closed forked"),
    "poll": (lambda _, client, __: [event.type for event in client.poll()], []),
    "submit after a poll": (
        lambda _, client, __: (client.poll(), reason_of(client.submit("anyone?")))[1],
        "intelligence-closed forked",
    ),
    "closed": (lambda connection, client, __: [connection.closed, client.closed], [True, True]),
    "close_reason": (
        lambda connection, client, __: connection.close_reason == client.close_reason,
        True,
    ),
    "a new client": (
        lambda connection, _, __: reason_of(connection.client("another").submit("anyone?")),
        "intelligence-closed forked",
    ),
    "close of the client": (lambda _, client, __: client.close().wait(5), True),
    "close of the connection": (lambda connection, _, __: connection.close().wait(5), True),
    "both closes": (
        lambda connection, client, __: [client.close().wait(5), connection.close().wait(5), client.poll()],
        [True, True, []],
    ),
}


@pytest.mark.fault("R57")
@pytest.mark.spec("C5", "H6", "S1")
@pytest.mark.parametrize("use", USES)
@both_forks
def test_a_connection_cannot_be_used_in_a_fork_and_goes_on_in_the_game(
    start_auto: Starter, forked: Forked, use: str
) -> None:
    connection = start_auto()
    client = connection.client(MIND)
    talk = submitted(client, "talk")
    before = text_of(until_text(client))
    call, expected = USES[use]
    assert forked(lambda: call(connection, client, talk.id)) == expected
    after = text_of(until_text(client))
    assert (before + after) == "".join(f"{n} " for n in range((before + after).count(" ")))


@pytest.mark.fault("R57")
@pytest.mark.spec("C5", "H6")
@both_forks
def test_an_idle_connection_answers_the_game_after_a_fork_has_tried_it(
    start: Starter, forked: Forked
) -> None:
    client = start().client(MIND)
    answer(client, "before")
    assert forked(lambda: reason_of(client.submit("x" * 1000))) == "intelligence-closed forked"
    assert answer(client, "after") == "after "


@pytest.mark.fault("R57")
@pytest.mark.spec("H1", "H6")
def test_a_fork_does_not_take_the_place_of_a_game_whose_host_is_still_starting(
    start: Starter, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    start.environment[GATE_VARIABLE] = str(gate)
    client = start(f"{MINDS}:patient").client(MIND)

    def use() -> object:
        gate.touch()
        return [client.poll() for _ in range(1000)][-1] == [] and reason_of(client.submit("anyone?"))

    assert in_fork(use) == "intelligence-closed forked"
    assert answer(client, "mine") == "mine "


@pytest.mark.fault("R57")
@pytest.mark.spec("H6")
def test_a_fork_may_start_a_host_of_its_own(start_auto: Starter, mark: Mark) -> None:
    client = start_auto().client(MIND)
    answer(client, "before")

    def use() -> object:
        with spawn_host(f"{MINDS}:mind", environment=mark.environment, deadlines=QUICK) as own:
            return answer(own.client(MIND), "in the fork")

    assert in_fork(use) == "in the fork "
    assert answer(client, "after") == "after "


GAME = """
import os, sys
sys.path.insert(0, sys.argv[1])
from engine_intelligence import spawn_host
from support.process_play import answer

with spawn_host("support.process_minds:mind") as host:
    client = host.client("mind")
    answer(client, "before")
    fork = os.fork()
    if fork:
        print(os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]), answer(client, "after"))
    elif sys.argv[2] == "sys.exit":
        sys.exit(3)
    elif sys.argv[2] == "raises":
        raise RuntimeError("the fork breaks")
"""


@pytest.mark.fault("R57", "R55")
@pytest.mark.spec("H6")
@pytest.mark.parametrize(("how", "code"), [("falls off its end", 0), ("sys.exit", 3), ("raises", 1)])
def test_a_fork_that_ends_as_a_program_does_leaves_the_game_its_host(how: str, code: int) -> None:
    tests = Path(__file__).parents[1]
    game = subprocess.run(
        [sys.executable, "-c", GAME, str(tests), how],
        env={**os.environ, "PYTHONPATH": str(Path(engine_intelligence.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert game.stdout.split() == [str(code), "after"]


@pytest.mark.fault("R57")
@pytest.mark.spec("H6")
@pytest.mark.parametrize("fork", [os.fork, native_fork])
def test_a_connection_is_closed_while_a_fork_of_the_game_still_lives(
    start: Starter, fork: Callable[[], int]
) -> None:
    # An hour of grace: only an end in order comes within the patience of this test.
    connection = start(deadlines=Deadlines(close_grace_s=3600.0))
    answer(connection.client(MIND), "before")
    with sleeping_fork(fork):
        assert connection.close().wait(PATIENCE_S)


@pytest.mark.fault("R57", "R15")
@pytest.mark.spec("H5")
def test_a_fork_does_not_hold_the_connection_of_its_game(start_auto: Starter) -> None:
    connection = start_auto(deadlines=Deadlines(close_grace_s=3600.0))
    client = connection.client(MIND)
    answer(client, "before")
    with sleeping_fork(os.fork):
        # The game lets go without a word, as one does that breaks; only the end of the connection tells the Host.
        _drop(client)
        until_host_is_gone(connection)


def _drop(client: IntelligencePortClient) -> None:
    port = client._exchange._port  # pyright: ignore[reportPrivateUsage]
    assert isinstance(port, RealmChannel)
    sock = port._stream._sock  # pyright: ignore[reportPrivateUsage]
    assert sock is not None
    sock.close()
