"""A Host is started at once and heard of later (rules H1, H3, H7)."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.process_marks import Mark, until
from support.process_minds import GATE_VARIABLE, descriptors
from support.process_play import MINDS, answer, closed_because, submitted, text_of, until_text
from support.process_start import Starter

from engine_intelligence import Deadlines, Err, IntelligenceLimits, spawn_host
from engine_intelligence.realm.spawning import Transport

TWO_OF_THREE = f"""
[limits]
max_input_chars = 100

[providers.ann]
factory = "{MINDS}:ann"

[providers.bob]
factory = "{MINDS}:cast_of_three"
limits = {{ max_input_chars = 50, max_poll_events = 9 }}

[providers.extra]
kind = "scripted"
"""


def sockets_of_this_process() -> int:
    return sum(target.startswith("socket:") for target in descriptors())


@pytest.fixture
def gate(start: Starter, tmp_path: Path) -> Path:
    """The file that a patient factory waits for."""
    path = tmp_path / "gate"
    start.environment[GATE_VARIABLE] = str(path)
    return path


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "host.toml"
    path.write_text(TWO_OF_THREE)
    return str(path)


@pytest.mark.fault("C1")
@pytest.mark.spec("H1")
def test_starting_a_host_returns_before_the_host_is_ready(start: Starter, gate: Path) -> None:
    connection = start(f"{MINDS}:patient")
    assert not gate.exists()
    assert not connection.closed


@pytest.mark.spec("H1")
def test_what_is_submitted_before_the_host_is_ready_is_carried_out_when_it_is(
    start: Starter, gate: Path
) -> None:
    client = start(f"{MINDS}:patient").client("mind")
    submitted(client, "one two")
    assert client.poll() == []
    gate.touch()
    assert text_of(until_text(client)).startswith("one ")


@pytest.mark.spec("H1")
def test_what_is_cancelled_before_the_host_is_ready_never_speaks(start: Starter, gate: Path) -> None:
    client = start(f"{MINDS}:patient").client("mind")
    started = submitted(client, "talk")
    assert client.cancel(started.id).ok
    gate.touch()
    types: list[str] = []

    def ended() -> bool:
        types.extend(event.type for event in client.poll())
        return bool(types)

    until(ended, "a terminal")
    assert types == ["cancelled"]


@pytest.mark.fault("R3", "C3")
@pytest.mark.spec("H1", "C6")
def test_a_host_that_is_not_ready_can_be_closed(start: Starter, gate: Path, mark: Mark) -> None:
    connection = start(f"{MINDS}:patient")
    submitted(connection.client("mind"), "one two")
    connection.close().wait()
    mark.until_gone()


@pytest.mark.spec("H1")
def test_a_host_can_be_closed_in_the_moment_that_it_is_started(start: Starter, mark: Mark) -> None:
    start().close().wait()
    mark.until_gone()


@pytest.mark.parametrize("with_client", [False, True])
def test_a_host_that_is_closed_in_the_moment_that_it_is_started_prints_nothing(
    transport: Transport, mark: Mark, capfd: pytest.CaptureFixture[str], with_client: bool
) -> None:
    with spawn_host(f"{MINDS}:mind", transport=transport, environment=mark.environment) as connection:
        if with_client:
            connection.client("mind")
    assert capfd.readouterr().err == ""


@pytest.mark.spec("H1")
def test_a_client_of_a_host_is_a_service_like_any_other(start: Starter) -> None:
    client = start().client("mind")
    assert client.provider_id == "mind"
    assert answer(client, "one two three") == "one two three "


@pytest.mark.fault("R1")
@pytest.mark.spec("H1")
def test_an_interpreter_that_is_not_there_is_an_os_error_and_leaves_nothing(
    transport: Transport, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError):
        spawn_host(f"{MINDS}:mind", transport=transport, python=str(tmp_path / "python"))


@pytest.mark.fault("R1")
@pytest.mark.spec("H1")
def test_an_interpreter_that_may_not_be_run_is_an_os_error_and_leaves_nothing(
    transport: Transport, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text("")
    with pytest.raises(PermissionError):
        spawn_host(f"{MINDS}:mind", transport=transport, python=str(python))


@pytest.mark.fault("R1")
@pytest.mark.spec("H1")
def test_a_script_whose_own_interpreter_is_not_there_is_an_os_error_and_leaves_nothing(
    transport: Transport, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/none\n")
    python.chmod(0o755)
    with pytest.raises(FileNotFoundError):
        spawn_host(f"{MINDS}:mind", transport=transport, python=str(python))


@pytest.mark.fault("R2", "C26")
@pytest.mark.spec("H4", "C5")
def test_a_host_that_ends_before_it_says_anything_closes_its_clients(start: Starter, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    client = start(python=str(python)).client("mind")
    client.submit("talk")
    assert "Host ended" in closed_because(client)


@pytest.mark.spec("H1")
def test_an_interpreter_behind_a_wrapper_that_stays_serves_as_long_as_the_game_wants(
    start_auto: Starter, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n{sys.executable} "$@"\nexit $?\n')
    python.chmod(0o755)
    client = start_auto(python=str(python), deadlines=Deadlines(close_grace_s=0.1)).client("mind")
    assert answer(client, "one") == "one "
    # Its watch over the game must not take the wrapper for the game.
    for _ in range(5):
        assert answer(client, "slow and steady") == "slow and steady "
        subprocess.run(["sleep", "0.1"], check=True)
    assert not client.closed


@pytest.mark.parametrize("source", [f"{MINDS}:mind", "host.toml"])
@pytest.mark.parametrize("arguments", [{"provider_id": "a"}, {"options": {"x": 1}}])
def test_arguments_that_contradict_one_another_are_refused_with_what_to_do(
    source: str, arguments: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match="pass neither provider_id nor options"):
        spawn_host(source, **arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_options_that_are_too_long_are_refused_with_what_to_do_and_leave_nothing(
    transport: Transport,
) -> None:
    with pytest.raises(ValueError, match="put them into a TOML file and pass its path"):
        spawn_host("scripted", options={"script": "x" * 100_000}, transport=transport)


def test_options_that_are_no_plain_data_are_refused_and_leave_nothing(transport: Transport) -> None:
    with pytest.raises((ValueError, TypeError)):
        spawn_host("scripted", options={"script": object()}, transport=transport)


@pytest.mark.spec("H3")
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of descriptors on this system")
def test_several_providers_share_one_connection(start: Starter) -> None:
    before = sockets_of_this_process()
    connection = start(f"{MINDS}:cast_of_three")
    for name in ("ann", "bob", "cy"):
        assert answer(connection.client(name), f"I am {name}") == f"I am {name} "
    assert sockets_of_this_process() == before + 1


@pytest.mark.spec("H3")
def test_providers_of_one_host_speak_at_the_same_time_each_to_its_own_client(start: Starter) -> None:
    connection = start(f"{MINDS}:cast_of_three")
    clients = [connection.client(name) for name in ("ann", "bob", "cy")]
    started = {client.provider_id: submitted(client, f"talk {client.provider_id}").id for client in clients}
    for client in clients:
        assert {e.activity_id for e in until_text(client)} == {started[client.provider_id]}


@pytest.mark.spec("H3")
def test_the_same_id_gives_the_same_client(start_auto: Starter) -> None:
    connection = start_auto()
    assert connection.client("mind") is connection.client("mind")


@pytest.mark.spec("H3")
def test_the_same_id_gives_the_same_client_after_that_was_closed(start_auto: Starter) -> None:
    connection = start_auto()
    client = connection.client("mind")
    client.close().wait()
    assert connection.client("mind") is client


@pytest.mark.spec("H3")
def test_one_client_that_is_closed_leaves_the_others_alone(start_auto: Starter) -> None:
    connection = start_auto(f"{MINDS}:cast_of_three")
    connection.client("ann").close().wait()
    assert answer(connection.client("bob"), "still here") == "still here "


@pytest.mark.spec("H3")
def test_a_file_names_several_providers(start_auto: Starter, config: str) -> None:
    connection = start_auto(config)
    assert [answer(connection.client(name), "hello") for name in ("ann", "bob")] == ["hello ", "hello "]


@pytest.mark.spec("H3")
def test_a_file_is_found_from_the_directory_of_the_game(
    start_auto: Starter, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(config).parent)
    assert answer(start_auto(Path(config).name).client("ann"), "hello") == "hello "


@pytest.mark.spec("H3")
@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("ann", IntelligenceLimits(max_input_chars=100)),
        ("bob", IntelligenceLimits(max_input_chars=50, max_poll_events=9)),
    ],
)
def test_a_client_adopts_the_limits_that_the_file_gives(
    start_auto: Starter, config: str, name: str, limits: IntelligenceLimits
) -> None:
    client = start_auto(config).client(name)
    answer(client, "hello")
    assert client.limits == limits


@pytest.mark.spec("H3", "S2")
def test_a_client_admits_by_the_limits_that_it_adopted(start_auto: Starter, config: str) -> None:
    client = start_auto(config).client("bob")
    answer(client, "hello")
    assert isinstance(client.submit("x" * 51), Err)


@pytest.mark.spec("H3")
def test_limits_given_to_the_start_hold_on_both_sides(start_auto: Starter) -> None:
    limits = IntelligenceLimits(max_concurrent_activities=1)
    client = start_auto(limits=limits).client("mind")
    answer(client, "hello")
    assert client.limits == limits


GAME = """
import json, os, sys, threading, time
from engine_intelligence import spawn_host
connection = spawn_host("support.process_minds:mind", transport=sys.argv[1])
client = connection.client("mind")
assert client.submit("one two").ok
events = []
while not any(e.type == "completed" for e in events):
    events += client.poll()
    time.sleep(0.001)
talk = client.submit("talk").value
client.poll()
client.cancel(talk.id)
task = connection.close()
while not task.done:
    time.sleep(0.001)
task.wait()
sdks = ("openai", "anthropic", "xllamacpp", "httpx", "httpx2", "pydantic", "websockets", "nats", "platformdirs")
print(json.dumps({
    "threads": threading.active_count(),
    "native threads": len(os.listdir("/proc/self/task")),
    "event loop": "asyncio" in sys.modules,
    "SDKs": [name for name in sdks if name in sys.modules],
}))
"""


@pytest.fixture(scope="module", params=["socket", "loopback"])
def loaded(request: pytest.FixtureRequest) -> dict[str, object]:
    """What is in the process of a game that has used all that there is to use."""
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests), str(tests.parent / "src")])
    ran = subprocess.run(
        [sys.executable, "-c", GAME, request.param],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, object] = json.loads(ran.stdout)
    return found


@pytest.mark.spec("H7")
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no list of native threads on this system")
@pytest.mark.parametrize(
    ("what", "expected"), [("threads", 1), ("native threads", 1), ("event loop", False), ("SDKs", [])]
)
def test_the_process_of_a_game_gets_no_thread_no_event_loop_and_no_sdk(
    loaded: dict[str, object], what: str, expected: object
) -> None:
    assert loaded[what] == expected


@pytest.mark.fault("R76")
@pytest.mark.spec("H1")
def test_a_stranger_on_the_loopback_port_does_not_take_the_place_of_the_host(mark: Mark) -> None:
    mine = psutil.Process()
    before = {c.laddr.port for c in mine.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
    with spawn_host(f"{MINDS}:mind", transport="loopback", environment=mark.environment) as connection:
        (port,) = {
            c.laddr.port for c in mine.net_connections("tcp") if c.status == psutil.CONN_LISTEN
        } - before
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.sendall(b"\0\0\0\1\0\0x")
            assert answer(connection.client("mind"), "who is it") == "who is it "
            stranger.settimeout(20)
            assert _is_dropped(stranger)


def _is_dropped(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.spec("H1")
def test_the_loopback_port_is_closed_once_the_host_is_connected(mark: Mark) -> None:
    mine = psutil.Process()
    before = {c.laddr.port for c in mine.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
    with spawn_host(f"{MINDS}:mind", transport="loopback", environment=mark.environment) as connection:
        answer(connection.client("mind"), "here")
        now = {c.laddr.port for c in mine.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
    assert now == before


@pytest.mark.spec("D5")
def test_a_connection_cannot_be_copied_and_says_what_to_save_instead(start_auto: Starter) -> None:
    import copy

    with pytest.raises(TypeError, match="SessionRef"):
        copy.copy(start_auto())
