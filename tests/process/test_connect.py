"""`connect()` where there is no Host, where its port got lost, and where something else has taken its place."""

import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.process_run import Run, game, host_file
from support.process_run_games import RunPlan

from engine_intelligence import SetupError, connect
from engine_intelligence.protocol.bootstrap import (
    PORT_VARIABLE,
    GamePort,
    InheritedSocket,
    LoopbackSocket,
    encode_game_port,
)
from engine_intelligence.realm.spawning import Transport

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="inherited sockets are those of POSIX")

# What stands between a launcher and a game, such as a script: it closes what it does not know, and ends as the game does.
WRAPPER = [
    sys.executable,
    "-c",
    "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], close_fds=True))",
]

TELLS_WHY = """
import json
from engine_intelligence import SetupError, connect
try:
    connect()
except SetupError as error:
    print(json.dumps([error.reason, error.message]))
"""


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def told(monkeypatch: pytest.MonkeyPatch, port: GamePort | str) -> None:
    """Have this process be told of such a port."""
    monkeypatch.setenv(PORT_VARIABLE, port if isinstance(port, str) else encode_game_port(port))


def inherited(descriptor: int, socket_id: tuple[int, int] | None) -> GamePort:
    return GamePort(connection=InheritedSocket(descriptor), host_pid=1, socket_id=socket_id)


def identity(sock: socket.socket) -> tuple[int, int]:
    found = os.fstat(sock.fileno())
    return found.st_dev, found.st_ino


@pytest.mark.spec("H2")
def test_a_game_that_no_host_started_is_told_the_command_that_starts_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(PORT_VARIABLE, raising=False)
    with pytest.raises(SetupError) as caught:
        connect()
    assert caught.value.reason == "no-host"
    assert "engine-intelligence run --config host.toml -- COMMAND" in caught.value.message


@pytest.mark.spec("H2")
def test_a_port_is_taken_once(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, _ = pair
    told(monkeypatch, inherited(ours.fileno(), identity(ours)))
    connection = connect()
    ours.detach()  # it is the connection's now
    try:
        with pytest.raises(SetupError) as caught:
            connect()
    finally:
        connection.close().wait()
    assert caught.value.reason == "no-host"


@pytest.mark.spec("H2")
def test_what_a_game_starts_once_it_is_connected_does_not_inherit_the_socket(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, _ = pair
    ours.set_inheritable(True)
    told(monkeypatch, inherited(ours.fileno(), identity(ours)))
    connection = connect()
    assert not os.get_inheritable(ours.detach())
    connection.close().wait()


@pytest.mark.spec("H2")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "/dev/null",
        "{}",
        "[]",
        '{"host_pid": 1}',
        '{"connection": {"type": "inherited-socket", "descriptor": "5"}, "host_pid": 1}',
        '{"connection": {"type": "carrier-pigeon"}, "host_pid": 1}',
        '{"connection": {"type": "inherited-socket", "descriptor": 5}, "host_pid": 1',
        encode_game_port(inherited(-1, (1, 1))),
        encode_game_port(inherited(2**40, (1, 1))),
        encode_game_port(inherited(2**70, (1, 1))),
        encode_game_port(GamePort(connection=LoopbackSocket(-1, "token"), host_pid=1)),
        encode_game_port(GamePort(connection=LoopbackSocket(99_999, "token"), host_pid=1)),
        encode_game_port(GamePort(connection=LoopbackSocket(2**70, "token"), host_pid=1)),
    ],
)
def test_a_garbled_port_is_a_lost_one(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, text)
    with pytest.raises(SetupError) as caught:
        connect()
    assert caught.value.reason == "port-lost"
    assert PORT_VARIABLE not in os.environ


@pytest.mark.spec("H2")
@pytest.mark.parametrize("known", [True, False], ids=["of another identity", "of none"])
def test_a_socket_that_took_the_number_of_the_port_is_left_alone(
    known: bool, pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = pair
    ours.set_inheritable(True)
    told(monkeypatch, inherited(ours.fileno(), identity(theirs) if known else None))
    with pytest.raises(SetupError) as caught:
        connect()
    assert caught.value.reason == "port-lost"
    assert (ours.get_inheritable(), os.get_blocking(ours.fileno())) == (True, True)
    ours.sendall(b"still there")
    ours.close()
    assert theirs.recv(100) + theirs.recv(100) == b"still there"


@pytest.mark.spec("H2")
def test_a_file_that_took_the_number_of_the_port_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "save").open("w") as file:
        found = os.fstat(file.fileno())
        told(monkeypatch, inherited(file.fileno(), (found.st_dev, found.st_ino)))
        with pytest.raises(SetupError) as caught:
            connect()
        file.write("saved")
    assert caught.value.reason == "port-lost"
    assert (tmp_path / "save").read_text() == "saved"


@pytest.mark.spec("H2")
def test_a_host_that_has_ended_before_the_game_connects_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]  # bound, so that nobody else gets it, and not listening
        told(monkeypatch, GamePort(connection=LoopbackSocket(port, "token"), host_pid=os.getpid()))
        with pytest.raises(SetupError) as caught:
            connect()
    assert caught.value.reason == "port-lost"
    assert "it has ended" in caught.value.message


@pytest.mark.spec("H2")
def test_a_port_that_a_script_between_loses_is_told_with_the_option_that_helps(tmp_path: Path) -> None:
    command = [*WRAPPER, sys.executable, "-c", TELLS_WHY]
    with Run(host_file(tmp_path), command, transport="socket") as run:
        reason, message = json.loads(run.ended()[0])
    assert reason == "port-lost"
    assert "--transport loopback" in message


@pytest.mark.spec("H2")
def test_loopback_gets_through_a_script_between(tmp_path: Path) -> None:
    transport: Transport = "loopback"
    with Run(host_file(tmp_path), [*WRAPPER, *game(RunPlan(exit_code=7))], transport=transport) as run:
        line = run.line()
        assert line.text == "hello from the game "
        assert line.launcher != run.pid  # the script stands between
        assert run.finish() == 7
