"""A Host that starts a game: the game reaches it, and its credentials stay with the Host."""

import hashlib
import json
import socket
import sys
from pathlib import Path

import psutil
import pytest
from support.process_marks import until
from support.process_minds import STAGE_VARIABLE
from support.process_run import Run, game, give_privileges_up, has_ended, host_file, until_gone
from support.process_run_games import RunPlan

from engine_intelligence.protocol.bootstrap import PORT_VARIABLE
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, encode_frame
from engine_intelligence.protocol.messages import Introduction
from engine_intelligence.realm.spawning import Transport

SECRET = {
    "OPENAI_API_KEY": "sk-proj-4fJx9QmT2bVw7ZkLpR8sHn3D",
    "CASTLE_BACKEND": "8f14e45fceea167a5a36dedd4bea2543",
}
DIGEST = hashlib.sha256(SECRET["OPENAI_API_KEY"].encode()).hexdigest()

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="signals and inherited sockets are those of POSIX"
)

# A game that tries to read others, of which it knows the process ids from its connection and from the system.
READER = """
import ctypes, json, os, sys
from pathlib import Path
from engine_intelligence import connect

PTRACE_SEIZE = 0x4206
libc = ctypes.CDLL(None, use_errno=True)

def parent(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None

connection = connect()
client = connection.client("mind")
client.submit("talk")
while not client.poll():
    pass
guardians = [int(name) for name in os.listdir("/proc") if name.isdigit() and parent(name) == connection.pid]
found = {}
for who, pid in (("launcher", os.getppid()), ("host", connection.pid), ("guardian", guardians[0])):
    for what in ("environ", "mem"):
        try:
            with open(f"/proc/{pid}/{what}", "rb") as file:
                found[f"{who} {what}"] = "read" if what == "mem" or file.read() else "empty"
        except PermissionError:
            found[f"{who} {what}"] = "refused"
    traced = libc.ptrace(PTRACE_SEIZE, pid, None, None)
    found[f"{who} ptrace"] = "read" if traced == 0 else os.strerror(ctypes.get_errno())
print(json.dumps(found))
"""

# Takes the seal out of whatever interpreter finds it.
UNSEALED = "import engine_intelligence.host.sealing as sealing\nsealing.seal_process = lambda: None\n"


# The game and its Host


@pytest.mark.spec("H2")
def test_a_game_connects_streams_and_completes_and_its_exit_code_is_the_launcher_s(
    transport: Transport, tmp_path: Path
) -> None:
    plan = RunPlan(input="three words only", exit_code=7)
    with Run(host_file(tmp_path), game(plan), transport=transport) as run:
        line = run.line()
        everything = run.processes()
        assert (line.text, line.launcher) == ("three words only ", run.pid)
        assert run.finish() == 7
        until_gone(everything)


@pytest.mark.spec("H2")
def test_a_game_that_ends_well_has_the_launcher_end_well(tmp_path: Path) -> None:
    with Run(host_file(tmp_path), game(RunPlan())) as run:
        run.line()
        assert run.finish() == 0


@pytest.mark.spec("H2")
def test_what_follows_the_command_is_the_game_s_also_where_it_looks_like_an_option_of_ours(
    tmp_path: Path,
) -> None:
    theirs = ["--config", "x.toml", "--transport", "loopback", "--keep", "A", "--help", "--", "-x"]
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    with Run(host_file(tmp_path), [sys.executable, "-c", code, *theirs], transport="socket") as run:
        run.end_input()
        out, _ = run.ended()
        assert json.loads(out) == theirs


# What the game does not have


@pytest.mark.spec("H2")
def test_the_host_s_provider_has_a_credential_and_the_game_has_none(tmp_path: Path) -> None:
    code = f"""
import json, os
from engine_intelligence import connect
connection = connect()
client = connection.client("mind")
client.submit("digest OPENAI_API_KEY")
output = None
while output is None:
    assert not client.closed
    for event in client.poll():
        output = getattr(event, "output", None)
print(json.dumps([output, dict(os.environ), open("/proc/self/environ").read() if {sys.platform == "linux"} else ""]))
"""
    with Run(
        host_file(tmp_path), [sys.executable, "-c", code], variables={**SECRET, "CASTLE_LEVEL": "3"}
    ) as run:
        out, said = run.ended()
    output, variables, memory = json.loads(out)
    assert output == DIGEST
    assert [value for value in SECRET.values() if value in json.dumps(variables) + memory] == []
    assert variables["CASTLE_LEVEL"] == "3"
    assert "Kept from the game: CASTLE_BACKEND, OPENAI_API_KEY" in said
    assert [value for value in SECRET.values() if value in said] == []


@pytest.mark.spec("H2")
def test_a_variable_that_is_to_be_kept_reaches_the_game(tmp_path: Path) -> None:
    code = "import os; print(os.environ['CASTLE_BACKEND'], 'OPENAI_API_KEY' in os.environ)"
    options = ["--keep", "CASTLE_BACKEND"]
    with Run(host_file(tmp_path), [sys.executable, "-c", code], options=options, variables=SECRET) as run:
        assert run.ended()[0].split() == [SECRET["CASTLE_BACKEND"], "False"]


@linux
@pytest.mark.spec("H2")
def test_a_process_that_the_game_starts_inherits_neither_the_port_nor_the_way_to_it(
    transport: Transport, tmp_path: Path
) -> None:
    with Run(host_file(tmp_path), game(RunPlan(looks_around=True)), transport=transport) as run:
        line = run.line()
        run.finish()
    kept = [
        name for name in line.names if name != "ENGINE_INTELLIGENCE_CACHE_DIR"
    ]  # the tests' own, and a path
    assert kept == []
    assert line.child["sockets"] == []
    assert line.child["names"] == line.names


@linux
@pytest.mark.spec("H2")
def test_the_way_to_another_host_is_not_handed_on_to_what_a_provider_starts(tmp_path: Path) -> None:
    # As where a game that a Host started is a launcher itself.
    variables = {PORT_VARIABLE: "the way to another"}
    with Run(host_file(tmp_path), game(RunPlan(input="look")), variables=variables) as run:
        seen = json.loads(run.line().text)
        run.finish()
    assert PORT_VARIABLE not in json.dumps([seen["environment"], seen["child_environment"]])


# The seal


@linux
@pytest.mark.spec("H2")
@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "without the seal"])
def test_a_game_can_read_what_is_not_sealed_and_nothing_else(sealed: bool, tmp_path: Path) -> None:
    if not sealed:
        # Or this test could not fail.
        (tmp_path / "sitecustomize.py").write_text(UNSEALED)
    with Run(
        host_file(tmp_path),
        [sys.executable, "-c", READER],
        variables=SECRET,
        first_on_path=None if sealed else tmp_path,
        prepare=give_privileges_up(),
    ) as run:
        out, said = run.ended()
    assert out, said
    found = json.loads(out)
    if sealed:
        refused = {key: "Operation not permitted" if "ptrace" in key else "refused" for key in found}
        assert found == refused
    else:
        assert found == dict.fromkeys(found, "read")


# Loopback


@pytest.mark.spec("H2")
@linux
def test_a_stranger_at_the_host_s_door_is_dropped_and_harms_nothing(tmp_path: Path) -> None:
    wait_then_play = (
        "import sys, os, runpy, json; sys.argv = ['games', os.environ.pop('PLAN')]; "
        "print(json.dumps({'text': os.environ['ENGINE_INTELLIGENCE_PORT']}), flush=True); sys.stdin.readline(); "
        "runpy.run_module('support.process_run_games', run_name='__main__')"
    )
    with Run(
        host_file(tmp_path),
        [sys.executable, "-c", wait_then_play],
        transport="loopback",
        options=["--keep", "PLAN"],
        variables={"PLAN": json.dumps({"input": "after the stranger"})},
    ) as run:
        door = json.loads(run.line().text)["connection"]
        everything = run.processes()
        guess = encode_frame(CONTROL_CHANNEL, encode_msgpack(Introduction("0" * len(door["token"]))))
        for said in (guess, b"\0" * 64, b"GET / HTTP/1.1\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", door["port"]), timeout=20.0) as stranger:
                stranger.sendall(said)
                assert rest(stranger) == b""
        assert door["token"] not in " ".join(" ".join(each.cmdline()) for each in everything)
        run.tell("go on\n")
        assert run.line().text == "after the stranger "
        run.finish()


def rest(stranger: socket.socket) -> bytes:
    """What it is told before it is dropped."""
    try:
        return stranger.recv(1)
    except ConnectionResetError:
        return b""


# Games that do not keep to it


@pytest.mark.spec("H2", "H5")
def test_a_host_ends_with_a_game_that_never_connects(transport: Transport, tmp_path: Path) -> None:
    with Run(host_file(tmp_path, grace_s=3600.0), game(RunPlan(connects=False)), transport=transport) as run:
        run.line()
        everything = run.processes()
        assert run.finish() == 0  # in order: nothing is killed for an hour
        until_gone(everything)


@pytest.mark.spec("H2", "H5")
def test_a_game_that_closes_its_connection_and_goes_on_is_waited_for(
    transport: Transport, tmp_path: Path
) -> None:
    plan = RunPlan(closes=True, exit_code=7)
    with Run(host_file(tmp_path, grace_s=3600.0), game(plan), transport=transport) as run:
        line = run.line()
        everything = run.processes()
        until_gone(each for each in everything if each.pid not in (line.game, run.pid))
        assert run.process.poll() is None
        assert run.finish() == 7


@pytest.mark.spec("H2", "B4", "H5")
@pytest.mark.parametrize("factory", ["hangs_in_close", "blocks_in_close", "deaf"])
def test_a_launcher_ends_though_a_provider_hangs_and_after_its_host(factory: str, tmp_path: Path) -> None:
    plan = RunPlan(input="talk", completes=False, exit_code=7)
    with Run(host_file(tmp_path, factory), game(plan)) as run:
        host = psutil.Process(run.line().host)
        everything = run.processes()
        assert run.finish() == 7
        assert has_ended(host)
        until_gone(everything)


@linux
@pytest.mark.spec("H2", "H5")
def test_what_a_blocked_provider_has_started_goes_with_its_host_wherever_it_moved(
    transport: Transport, tmp_path: Path
) -> None:
    # A subprocess with an environment and a session of its own, which only its descent from the Host shows.
    plan = RunPlan(input="blocking_stranger", completes=False)
    stage = tmp_path / "stage"
    variables = {STAGE_VARIABLE: str(stage)}
    with Run(host_file(tmp_path), game(plan), transport=transport, variables=variables) as run:
        stranger = psutil.Process(int(run.line().text.split()[0]))
        everything = run.processes(stranger.pid)
        until(stage.exists, "the stage")
        run.finish()
        until_gone(everything)
