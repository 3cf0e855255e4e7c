"""What goes on around a Host does not disturb it, and what it holds does not leak into its surroundings."""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support.process_marks import Mark, until
from support.process_minds import MIND
from support.process_play import MINDS, QUICK, answer, submitted
from support.process_start import Starter

from engine_intelligence import Deadlines, IntelligenceEvent, spawn_host
from engine_intelligence.protocol.bootstrap import BOOTSTRAP_VARIABLE
from engine_intelligence.realm.spawning import Transport

SAVE_GAME = "a-file-that-the-game-has-open"

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(scope="module", params=["socket", "loopback"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What provider code sees of its surroundings."""
    with (tmp_path_factory.mktemp("game") / SAVE_GAME).open("w") as file:
        os.set_inheritable(file.fileno(), True)
        with spawn_host(f"{MINDS}:mind", transport=request.param, deadlines=QUICK) as connection:
            found: dict[str, object] = json.loads(answer(connection.client(MIND), "look"))
    return found


# What is printed


@pytest.fixture
def unread() -> Iterator[int]:
    """The standard error of this process is a full pipe that nobody reads; gives its other end."""
    before = os.dup(2)
    reader, writer = os.pipe()
    os.dup2(writer, 2)
    os.close(writer)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    try:
        yield reader
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(reader)


@pytest.mark.fault("R36", "R37", "C29")
@linux
@pytest.mark.spec("H6")
def test_5_mb_on_every_output_of_a_host_block_nothing_while_nobody_reads(
    transport: Transport, mark: Mark, unread: int
) -> None:
    with spawn_host(
        f"{MINDS}:mind", transport=transport, environment=mark.environment, deadlines=QUICK
    ) as connection:
        assert answer(connection.client(MIND), "noise") == "said it all"


@pytest.mark.fault("R36", "C29")
@linux
@pytest.mark.spec("H6", "C6")
def test_a_host_whose_output_nobody_reads_can_be_closed(
    transport: Transport, mark: Mark, unread: int
) -> None:
    with spawn_host(
        f"{MINDS}:mind", transport=transport, environment=mark.environment, deadlines=QUICK
    ) as connection:
        answer(connection.client(MIND), "noise")
    mark.until_gone()


@pytest.mark.fault("R37")
@pytest.mark.spec("H6")
def test_what_is_printed_does_not_disturb_the_connection(
    start: Starter, capfd: pytest.CaptureFixture[str]
) -> None:
    client = start().client(MIND)
    assert [answer(client, word) for word in ("noise", "after", "noise", "that")] == [
        "said it all",
        "after ",
        "said it all",
        "that ",
    ]
    capfd.readouterr()


@pytest.mark.spec("H6")
@pytest.mark.skipif(os.name != "posix", reason="calls the C library of POSIX")
def test_native_code_that_logs_while_it_holds_the_interpreter_is_not_stopped_by_that(
    start_auto: Starter, capfd: pytest.CaptureFixture[str]
) -> None:
    client = start_auto(deadlines=Deadlines(unresponsive_s=2.0, close_grace_s=0.3)).client(MIND)
    submitted(client, "native")
    seen: list[IntelligenceEvent] = []

    def over() -> bool:
        seen.extend(client.poll())
        return client.close_reason is not None or any(event.type == "completed" for event in seen)

    until(over, "the end")
    capfd.readouterr()
    assert client.close_reason is None


@pytest.mark.fault("R37")
def test_what_a_provider_prints_comes_out_on_the_standard_error_of_the_game(
    start: Starter, capfd: pytest.CaptureFixture[str]
) -> None:
    connection = start()
    assert answer(connection.client(MIND), "say") == "said"
    connection.close().wait()
    out, err = capfd.readouterr()
    assert out == ""
    assert "word-on-stdout" in err
    assert "word-on-stderr" in err


def test_what_a_provider_prints_right_before_the_end_is_not_lost(
    start: Starter, capfd: pytest.CaptureFixture[str]
) -> None:
    connection = start()
    answer(connection.client(MIND), "noise")
    connection.close().wait()
    # The last of what was printed, however much came before it.
    assert capfd.readouterr().err.endswith("c" * 65536)


def test_a_game_without_standard_streams_has_a_host_all_the_same(transport: Transport, mark: Mark) -> None:
    # As a game that is started by a desktop and not by a terminal.
    code = f"""
import os, time
for descriptor in (0, 1, 2):
    os.close(descriptor)
from engine_intelligence import Deadlines, IntelligenceEvent, spawn_host
result = 1
with spawn_host("{MINDS}:mind", transport={transport!r}) as connection:
    client = connection.client("mind")
    client.submit("noise")
    end = time.monotonic() + 20
    while result and time.monotonic() < end:
        if any(event.type == "completed" for event in client.poll()):
            result = 0
        time.sleep(0.001)
os._exit(result)
"""
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests), str(tests.parent / "src")])
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**mark.environment, "PYTHONPATH": path}, check=False
    )
    assert ran.returncode == 0


# What can be seen


@pytest.mark.spec("E2")
@linux
@pytest.mark.parametrize("where", ["environment", "child_environment", "arguments"])
def test_how_to_reach_the_game_is_not_left_where_provider_code_would_hand_it_on(
    seen: dict[str, object], where: str
) -> None:
    assert BOOTSTRAP_VARIABLE not in json.dumps(seen[where])


@pytest.mark.spec("E2")
@linux
def test_no_command_line_holds_the_token(start: Starter, mark: Mark) -> None:
    connection = start()
    answer(connection.client(MIND), "hello")
    host = psutil.Process(connection.pid)
    token = json.loads(host.environ()[BOOTSTRAP_VARIABLE])["connection"].get("token", "no token")
    assert token not in " ".join(host.cmdline())


@linux
def test_a_provider_finds_an_empty_standard_input(seen: dict[str, object]) -> None:
    assert seen["stdin"] == ""


@linux
def test_no_descriptor_of_a_host_is_inherited_by_what_providers_start(seen: dict[str, object]) -> None:
    assert seen["child_descriptors"] == []


@linux
def test_a_host_has_no_descriptor_of_the_game(seen: dict[str, object]) -> None:
    assert SAVE_GAME not in json.dumps(seen["descriptors"])


@linux
def test_two_hosts_know_nothing_of_each_other(start: Starter) -> None:
    one, two = start(), start()
    for connection in (one, two):
        answer(connection.client(MIND), "hello")
    sockets = [
        {
            target
            for fd in Path(f"/proc/{connection.pid}/fd").iterdir()
            if (target := os.readlink(fd)).startswith("socket:")
        }
        for connection in (one, two)
    ]
    assert sockets[0] & sockets[1] == set()


@linux
def test_orphans_of_a_provider_s_subprocesses_do_not_pile_up(start_auto: Starter) -> None:
    assert answer(start_auto().client(MIND), "orphans") == "0 left"


# The processor


@pytest.mark.spec("H8")
@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="no priorities of this kind on this system")
def test_a_host_gives_way_to_its_game(start: Starter) -> None:
    connection = start()
    answer(connection.client(MIND), "hello")
    assert os.getpriority(os.PRIO_PROCESS, connection.pid) > os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.spec("H8")
@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="no priorities of this kind on this system")
def test_a_game_keeps_its_own_priority(start: Starter) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    answer(start().client(MIND), "hello")
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


@pytest.mark.spec("H8")
@linux
def test_all_threads_of_a_host_give_way(start_auto: Starter) -> None:
    connection = start_auto()
    client = connection.client(MIND)
    submitted(client, "thread")
    until(lambda: bool(client.poll()), "text")
    threads = [int(task.name) for task in Path(f"/proc/{connection.pid}/task").iterdir()]
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert min(os.getpriority(os.PRIO_PROCESS, thread) for thread in threads) > own


@pytest.mark.spec("H7")
@linux
def test_a_host_that_has_nothing_to_do_takes_no_processor_time(start_auto: Starter) -> None:
    connection = start_auto()
    client = connection.client(MIND)
    answer(client, "hello")
    host = psutil.Process(connection.pid)
    before = host.num_ctx_switches().voluntary
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        client.poll()
        time.sleep(1 / 60)
    # A pulse a second, and what winds its watch: not something for each of the sixty frames.
    assert host.num_ctx_switches().voluntary - before < 40
