"""A realm survives its Host, however the Host ends, and nothing of it is left (rules H6, C5, C6)."""

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from support.process_marks import PATIENCE_S, Mark, until
from support.process_minds import MIND, STAGE_VARIABLE
from support.process_play import (
    MINDS,
    QUICK,
    NothingWaits,
    answer,
    closed_because,
    code_of_close,
    frames,
    refusal,
    submitted,
    text_of,
    until_host_is_gone,
    until_text,
)
from support.process_start import Starter

from engine_intelligence import (
    Deadlines,
    Err,
    HostConnection,
    IntelligenceError,
    IntelligenceEvent,
    IntelligencePortClient,
    Ok,
    Result,
    TextDelta,
    spawn_host,
)
from engine_intelligence.realm.spawning import Transport

pytestmark = pytest.mark.skipif(os.name != "posix", reason="ends processes by signals")

# A Host that answers nothing for this long is given up; heartbeats come four times as often.
IMPATIENT = Deadlines(unresponsive_s=0.5, close_grace_s=0.3)


def killed(connection: HostConnection, client: IntelligencePortClient) -> None:
    os.kill(connection.pid, signal.SIGKILL)


def terminated(connection: HostConnection, client: IntelligencePortClient) -> None:
    os.kill(connection.pid, signal.SIGTERM)


def interrupted(connection: HostConnection, client: IntelligencePortClient) -> None:
    os.kill(connection.pid, signal.SIGINT)


def stopped(connection: HostConnection, client: IntelligencePortClient) -> None:
    os.kill(connection.pid, signal.SIGSTOP)


def left(connection: HostConnection, client: IntelligencePortClient) -> None:
    submitted(client, "exit")


def crashed(connection: HostConnection, client: IntelligencePortClient) -> None:
    submitted(client, "crash")


def blocked(connection: HostConnection, client: IntelligencePortClient) -> None:
    submitted(client, "block")


def held(connection: HostConnection, client: IntelligencePortClient) -> None:
    submitted(client, "hold")


End = Callable[[HostConnection, IntelligencePortClient], None]

# Each way in which a Host ends or is lost, and what the reason has to be called.
ENDS: list[tuple[End, str]] = [
    (killed, "host-ended"),
    (terminated, "host-stopped"),
    (interrupted, "host-stopped"),
    (left, "host-ended"),
    (crashed, "host-ended"),
    (stopped, "unresponsive"),
    (blocked, "unresponsive"),
    (held, "unresponsive"),
]

every_death = pytest.mark.parametrize(
    "end", [killed, terminated, left, crashed], ids=lambda end: end.__name__
)


def talking(start: Starter) -> tuple[HostConnection, IntelligencePortClient]:
    """A Host in the middle of a text."""
    connection = start(deadlines=IMPATIENT)
    client = connection.client(MIND)
    submitted(client, "talk")
    until_text(client)
    return connection, client


def until_closed(client: IntelligencePortClient) -> list[IntelligenceEvent]:
    """Poll, and nothing else, until the client is closed; returns what came."""
    events: list[IntelligenceEvent] = []

    def closed() -> bool:
        came = client.poll()
        events.extend(came)
        return client.close_reason is not None

    until(closed, "the end of the client")
    return events


@pytest.mark.fault("R6", "R11", "R18", "R46", "C26")
@pytest.mark.spec("H6", "C5", "C7")
@pytest.mark.parametrize(("end", "reason"), ENDS, ids=lambda value: getattr(value, "__name__", None))
def test_the_client_is_closed_with_a_reason_when_its_host_is(
    start_auto: Starter, end: End, reason: str
) -> None:
    connection, client = talking(start_auto)
    end(connection, client)
    assert code_of_close(client) == reason


@pytest.mark.fault("R4", "R11")
@pytest.mark.spec("H6", "C5", "C7")
@pytest.mark.parametrize(("end", "reason"), [(killed, "host-ended"), (stopped, "unresponsive")])
def test_the_client_of_a_loopback_connection_is_closed_with_a_reason(
    mark: Mark, end: End, reason: str
) -> None:
    with spawn_host(
        f"{MINDS}:mind", transport="loopback", environment=mark.environment, deadlines=IMPATIENT
    ) as connection:
        client = connection.client(MIND)
        answer(client, "hello")
        end(connection, client)
        assert code_of_close(client) == reason


@pytest.mark.fault("R60")
@pytest.mark.spec("H6", "C7")
@pytest.mark.parametrize(
    ("end", "words"), [(left, "exit code 7"), (crashed, "signal 11"), (killed, "killed")]
)
def test_the_reason_says_how_the_host_ended(start_auto: Starter, end: End, words: str) -> None:
    connection, client = talking(start_auto)
    end(connection, client)
    message = closed_because(client)
    # The system may tell the exit code a moment later than the end of the connection.
    assert words in message or "it was killed or it crashed" in message


@pytest.mark.fault("R6")
@pytest.mark.spec("H6", "S6", "D3")
@every_death
def test_what_came_before_the_end_of_the_host_came_in_order(start_auto: Starter, end: End) -> None:
    connection = start_auto(deadlines=IMPATIENT)
    client = connection.client(MIND)
    talk = submitted(client, "talk")
    events = until_text(client)
    end(connection, client)
    events += until_closed(client)
    deltas = [e for e in events if isinstance(e, TextDelta) and e.activity_id == talk.id]
    assert [e.sequence for e in deltas] == list(range(1, len(deltas) + 1))
    text = "".join(e.text for e in deltas)
    assert text == "".join(f"{n} " for n in range(text.count(" ")))


@pytest.mark.spec("C5")
def test_a_submit_after_the_end_of_the_host_gives_closed(start: Starter) -> None:
    connection, client = talking(start)
    killed(connection, client)
    until(lambda: client.closed, "the end of the client")
    assert refusal(client.submit("anyone?")).code == "intelligence-closed"


@pytest.mark.fault("R5")
@pytest.mark.spec("C5")
def test_a_submit_that_meets_the_end_of_the_host_gives_closed(start: Starter) -> None:
    connection, client = talking(start)
    os.kill(connection.pid, signal.SIGKILL)
    until_host_is_gone(connection)
    # No other call looks: the submit that finds out is the one that says so, and text may lie before the end.
    until(lambda: _is_closed(client.submit("anyone?")), "the refusal")


@pytest.mark.fault("R5")
@pytest.mark.spec("C5")
def test_a_cancel_that_meets_the_end_of_the_host_gives_closed(start: Starter) -> None:
    connection = start()
    client = connection.client(MIND)
    talk = submitted(client, "talk")
    until_text(client)
    os.kill(connection.pid, signal.SIGKILL)
    until_host_is_gone(connection)
    until(lambda: _is_closed(client.cancel(talk.id)), "the refusal")


def _is_closed(result: Result[object, IntelligenceError]) -> bool:
    return isinstance(result, Err) and result.error.code == "intelligence-closed"


@pytest.mark.spec("C4", "C5")
def test_a_closed_client_polls_nothing_and_holds_nothing(start_auto: Starter) -> None:
    connection, client = talking(start_auto)
    killed(connection, client)
    closed_because(client)
    assert client.poll() == []
    assert client.held_activities == 0


@pytest.mark.spec("C6")
@every_death
def test_a_close_after_the_end_of_the_host_resolves_and_is_always_the_same(
    start_auto: Starter, end: End
) -> None:
    connection, client = talking(start_auto)
    end(connection, client)
    closed_because(client)
    task = client.close()
    assert task.wait(PATIENCE_S)
    assert client.close() is task


@pytest.mark.spec("C6")
@every_death
def test_a_close_that_meets_the_end_of_the_host_resolves(start_auto: Starter, end: End) -> None:
    connection, client = talking(start_auto)
    end(connection, client)
    assert client.close().wait(PATIENCE_S)


@pytest.mark.fault("R9", "C26")
@pytest.mark.spec("C6")
def test_a_host_that_is_killed_in_the_middle_of_its_close_is_closed(start: Starter, mark: Mark) -> None:
    connection, _ = talking(start)
    task = connection.close()
    os.kill(connection.pid, signal.SIGKILL)
    assert task.wait(PATIENCE_S)
    mark.until_gone()


@pytest.mark.fault("R4", "R11")
@pytest.mark.spec("H6")
@pytest.mark.parametrize("end", [killed, terminated, stopped, held], ids=lambda end: end.__name__)
def test_nothing_is_left_of_a_host_once_the_connection_is_closed(
    start_auto: Starter, mark: Mark, tmp_path: Path, end: End
) -> None:
    # Threads, descriptors and zombies are looked for after every test.
    start_auto.environment["TMPDIR"] = str(tmp_path)
    connection, client = talking(start_auto)
    end(connection, client)
    closed_because(client)
    assert connection.close().wait(PATIENCE_S)
    mark.until_gone()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("H6")
@every_death
def test_a_dead_host_is_reaped_by_a_look_at_the_connection(start_auto: Starter, end: End) -> None:
    connection, client = talking(start_auto)
    end(connection, client)
    closed_because(client)
    until(lambda: connection.closed and not psutil.pid_exists(connection.pid), "the end of the zombie")


@pytest.mark.spec("H6")
@every_death
def test_a_dead_host_is_reaped_by_a_game_that_only_polls(start_auto: Starter, end: End) -> None:
    connection, client = talking(start_auto)
    end(connection, client)
    until_closed(client)

    def reaped() -> bool:
        client.poll()
        return not psutil.pid_exists(connection.pid)

    until(reaped, "the end of the zombie", 5.0)


@pytest.mark.fault("R6")
@pytest.mark.spec("H6")
def test_kill_9_of_a_host_takes_its_group_along(start: Starter, mark: Mark) -> None:
    connection = start()
    client = connection.client(MIND)
    submitted(client, "group")
    assert psutil.pid_exists(int(text_of(until_text(client)).split()[0]))
    os.kill(connection.pid, signal.SIGKILL)
    closed_because(client)
    mark.until_gone()


@pytest.mark.fault("R6", "R26")
@pytest.mark.spec("H6")
def test_kill_9_of_a_host_in_the_middle_of_a_message_takes_its_group_along(
    start_auto: Starter, mark: Mark
) -> None:
    connection = start_auto()
    client = connection.client(MIND)
    submitted(client, "group")
    until_text(client)
    for _ in range(client.limits.max_concurrent_activities - 1):
        submitted(client, "bulk")
    frames(30)  # in which the game does not read, so that the last message is only half sent
    os.kill(connection.pid, signal.SIGKILL)
    closed_because(client)
    assert connection.close().wait(PATIENCE_S)
    mark.until_gone()


@pytest.mark.fault("R18", "C28")
@pytest.mark.spec("H6")
def test_a_host_that_is_told_to_stop_takes_its_agents_along(start_auto: Starter, mark: Mark) -> None:
    connection = start_auto()
    client = connection.client(MIND)
    submitted(client, "agents")
    assert all(psutil.pid_exists(int(pid)) for pid in text_of(until_text(client)).split()[:3])
    terminated(connection, client)
    mark.until_gone()


@pytest.mark.fault("R18")
@pytest.mark.spec("H6")
def test_a_second_signal_ends_a_host_at_once(start_auto: Starter) -> None:
    connection = start_auto(f"{MINDS}:hangs_in_close", deadlines=Deadlines(close_grace_s=3600.0))
    client = connection.client(MIND)
    submitted(client, "agents")
    until_text(client)
    os.kill(connection.pid, signal.SIGTERM)
    frames(6)
    os.kill(connection.pid, signal.SIGTERM)
    until_host_is_gone(connection)


@pytest.mark.fault("R4", "R8")
@pytest.mark.spec("H6")
def test_all_clients_of_a_host_that_ends_are_closed(start_auto: Starter) -> None:
    connection = start_auto(f"{MINDS}:cast_of_three")
    clients = [connection.client(name) for name in ("ann", "bob", "cy")]
    for client in clients:
        answer(client, "hello")
    os.kill(connection.pid, signal.SIGKILL)
    assert {code_of_close(client) for client in clients} == {"host-ended"}


@pytest.mark.spec("H6")
def test_a_client_made_after_the_end_of_the_host_is_closed(start_auto: Starter) -> None:
    connection, client = talking(start_auto)
    killed(connection, client)
    closed_because(client)
    assert closed_because(connection.client("another"))


@pytest.mark.spec("H6", "C7")
def test_the_connection_of_a_host_that_ended_says_why(start_auto: Starter) -> None:
    connection, client = talking(start_auto)
    killed(connection, client)
    until(lambda: connection.closed, "the end of the connection")
    assert "Host ended" in str(connection.close_reason)


@pytest.mark.fault("R7")
@pytest.mark.spec("H6")
def test_a_terminal_that_was_sent_before_the_end_is_delivered(start_auto: Starter) -> None:
    connection = start_auto()
    client = connection.client(MIND)
    answer(client, "warm")
    submitted(client, "one two")
    # It answers, and dies before anyone looks.
    frames(30)
    os.kill(connection.pid, signal.SIGKILL)
    until_host_is_gone(connection)
    assert "completed" in [event.type for event in until_closed(client)]


@pytest.mark.spec("H6", "P5")
def test_a_new_host_carries_on_after_the_old_one_was_killed(start_auto: Starter) -> None:
    connection, client = talking(start_auto)
    killed(connection, client)
    closed_because(client)
    assert answer(start_auto().client(MIND), "carry on") == "carry on "


# A Host that is frozen


@pytest.mark.fault("R13")
@pytest.mark.spec("C5")
def test_a_host_that_pauses_for_less_than_the_patience_goes_on(start_auto: Starter) -> None:
    connection, client = talking(start_auto)
    os.kill(connection.pid, signal.SIGSTOP)
    frames(6)
    os.kill(connection.pid, signal.SIGCONT)
    client.poll()
    assert until_text(client)


@pytest.mark.fault("R63")
@pytest.mark.spec("C5")
def test_a_host_that_was_suspended_together_with_its_game_goes_on(start_auto: Starter) -> None:
    connection, client = talking(start_auto)
    os.kill(connection.pid, signal.SIGSTOP)
    frames(75)  # in which the game does not look either
    os.kill(connection.pid, signal.SIGCONT)
    assert answer(client, "good morning") == "good morning "


@pytest.mark.spec("C5")
def test_a_host_is_not_given_up_for_an_impatience_shorter_than_its_ordinary_pulse(
    start_auto: Starter,
) -> None:
    client = start_auto(deadlines=Deadlines(unresponsive_s=0.4)).client(MIND)
    answer(client, "hello")
    for _ in range(75):
        client.poll()
        frames(1)
    assert not client.closed


@pytest.mark.fault("R10")
@pytest.mark.spec("S1", "H6")
def test_no_call_waits_for_a_frozen_host_whose_pipe_is_full(start: Starter) -> None:
    connection = start(f"{MINDS}:mind", deadlines=Deadlines(close_grace_s=0.3))
    client = connection.client(MIND)
    talk = submitted(client, "talk")
    until_text(client)
    os.kill(connection.pid, signal.SIGSTOP)
    calls = 0
    with NothingWaits():
        while client.close_reason is None and calls < 5000:
            started = client.submit("x" * client.limits.max_input_chars)
            client.poll()
            client.cancel(started.value.id if isinstance(started, Ok) else talk.id)
            calls += 3
    assert calls > 0
    os.kill(connection.pid, signal.SIGKILL)


@pytest.mark.fault("R10")
@pytest.mark.spec("S8", "H6")
def test_what_a_frozen_host_is_sent_is_bounded_by_what_it_may_hold(start_auto: Starter) -> None:
    connection = start_auto(deadlines=Deadlines(close_grace_s=0.3))
    client = connection.client(MIND)
    answer(client, "hello")
    os.kill(connection.pid, signal.SIGSTOP)
    before = psutil.Process().memory_info().rss
    with NothingWaits():
        accepted = sum(client.submit("x" * client.limits.max_input_chars).ok for _ in range(3000))
        for _ in range(3000):
            client.poll()
    assert accepted == client.limits.max_concurrent_activities
    assert psutil.Process().memory_info().rss - before < 32 * 1024 * 1024
    os.kill(connection.pid, signal.SIGKILL)


@pytest.mark.fault("R12")
@pytest.mark.spec("C6", "H6")
def test_a_frozen_host_is_closed_within_the_grace(start: Starter, mark: Mark) -> None:
    connection = start(deadlines=Deadlines(close_grace_s=0.3, unresponsive_s=3600.0))
    submitted(client := connection.client(MIND), "group")
    until_text(client)
    os.kill(connection.pid, signal.SIGSTOP)
    assert connection.close().wait(PATIENCE_S)
    mark.until_gone()


@pytest.mark.fault("R77")
@pytest.mark.spec("H6")
def test_a_realm_that_is_frozen_costs_its_host_a_bounded_amount(start_auto: Starter) -> None:
    # This test is the realm, and looks no more: credit runs out, and the Host keeps what little is left.
    connection = start_auto()
    client = connection.client(MIND)
    submitted(client, "flood")
    until_text(client)
    frames(15)
    host = psutil.Process(connection.pid)
    before = host.memory_info().rss
    frames(30)
    assert host.memory_info().rss - before < 16 * 1024 * 1024


# The end of a game's own doing


@pytest.mark.fault("R47", "C2", "C3", "C28")
@pytest.mark.spec("H6", "C6")
@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("mind", "talk"),
        ("mind", "flood"),
        ("mind", "thread"),
        ("mind", "agents"),
        ("mind", "block"),
        ("mind", "spin"),
        ("mind", "hold"),
        ("hangs_in_close", "talk"),
        ("blocks_in_close", "talk"),
        ("blocks_in_close", "agents"),
        ("deaf", "anything"),
    ],
)
def test_a_connection_that_is_closed_leaves_no_process(
    start_auto: Starter, mark: Mark, tmp_path: Path, source: str, asked: str
) -> None:
    stage = tmp_path / "stage"
    start_auto.environment[STAGE_VARIABLE] = str(stage)
    connection = start_auto(f"{MINDS}:{source}")
    submitted(client := connection.client(MIND), asked)
    until_text(client)
    until(lambda: stage.exists() or asked not in ("block", "spin", "hold", "anything"), "the stage")
    assert connection.close().wait(PATIENCE_S)
    mark.until_gone()


@pytest.mark.spec("H5", "H6")
@pytest.mark.parametrize("then", ["talk", "block"])
def test_a_connection_that_is_closed_leaves_no_process_that_has_an_environment_and_a_session_of_its_own(
    start_auto: Starter, tmp_path: Path, then: str
) -> None:
    # As the servers that an agent starts for its tools.
    stage = tmp_path / "stage"
    start_auto.environment[STAGE_VARIABLE] = str(stage)
    connection = start_auto()
    submitted(client := connection.client(MIND), "stranger")
    stranger = psutil.Process(int(text_of(until_text(client)).split()[0]))
    submitted(client, then)
    until(lambda: stage.exists() or then == "talk", "the stage")
    try:
        assert connection.close().wait(PATIENCE_S)
        until(lambda: not stranger.is_running(), "the end of the subprocess", 5.0)
    finally:
        if stranger.is_running():
            stranger.kill()


@pytest.mark.spec("C6")
def test_the_close_of_a_connection_is_always_the_same_task(start_auto: Starter) -> None:
    connection = start_auto()
    task = connection.close()
    assert task.wait(PATIENCE_S)
    assert connection.close() is task


@pytest.mark.spec("C6")
def test_a_frame_loop_sees_the_close_come_about_without_waiting(start: Starter, mark: Mark) -> None:
    connection, _ = talking(start)
    task = connection.close()
    with NothingWaits():
        until(lambda: task.done, "the end of the close")
    mark.until_gone()


@pytest.mark.spec("C6")
def test_a_close_can_be_awaited(start_auto: Starter, mark: Mark) -> None:
    import asyncio

    connection, _ = talking(start_auto)

    async def main() -> None:
        await connection.close()

    asyncio.run(main())
    mark.until_gone()


@pytest.mark.spec("C6")
def test_the_end_of_a_connection_ends_its_clients(start_auto: Starter) -> None:
    connection, client = talking(start_auto)
    connection.close().wait()
    assert client.closed
    assert client.close().done


@pytest.mark.spec("C6", "H6")
def test_a_host_that_can_end_in_order_is_not_killed(start: Starter, tmp_path: Path) -> None:
    # With an hour of grace nothing but an end in order could come within the patience of this test.
    connection = start(deadlines=Deadlines(close_grace_s=3600.0))
    submitted(client := connection.client(MIND), "agents")
    until_text(client)
    assert connection.close().wait(PATIENCE_S)


@pytest.mark.spec("C6", "H6")
def test_a_host_whose_provider_took_the_standard_streams_away_ends_in_order(start_auto: Starter) -> None:
    connection = start_auto(deadlines=Deadlines(close_grace_s=3600.0))
    assert answer(connection.client(MIND), "mute") == "muted"
    assert connection.close().wait(PATIENCE_S)


@pytest.mark.spec("C6")
def test_a_wait_for_a_close_that_takes_longer_returns_and_says_so(start_auto: Starter) -> None:
    connection = start_auto(f"{MINDS}:hangs_in_close", deadlines=Deadlines(close_grace_s=0.4))
    submitted(client := connection.client(MIND), "talk")
    until_text(client)
    task = connection.close()
    assert not task.wait(0.05)
    assert task.wait(PATIENCE_S)


@pytest.mark.fault("R79")
@pytest.mark.spec("H6")
def test_twenty_hosts_one_after_the_other_leave_no_descriptor_and_no_temporary_file(
    mark: Mark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ways: tuple[Transport, ...] = ("socket", "loopback")
    before = psutil.Process().num_fds()
    for number, transport in enumerate(ways * 10):
        with spawn_host(
            f"{MINDS}:mind",
            transport=transport,
            environment={**mark.environment, "TMPDIR": str(tmp_path)},
            deadlines=QUICK,
        ) as connection:
            if number % 3:
                answer(connection.client(MIND), "hello")
    assert psutil.Process().num_fds() == before
    assert list(tmp_path.iterdir()) == []
