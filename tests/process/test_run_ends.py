"""However a launcher, its Host or its game ends, and whatever it is told: nothing is left, and nothing is told twice."""

import fcntl
import os
import signal
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from support.process_marks import until
from support.process_minds import STAGE_VARIABLE
from support.process_run import Run, game, host_file, until_gone
from support.process_run_games import Line, RunPlan

from engine_intelligence.realm.spawning import Transport

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals are those of POSIX")

TALKS = RunPlan(input="talk", completes=False, exit_code=7)

# What comes through after it was handed on after all that came before.
FENCE = Line(signal="SIGUSR2")


def signals_up_to_the_fence(run: Run) -> list[str | None]:
    """What the game is told, up to a signal that is sent to the launcher now."""
    run.send(signal.SIGUSR2)
    told: list[str | None] = []
    while (line := run.line()) != FENCE:
        told.append(line.signal)
    return told


def closed(run: Run) -> str:
    """Wait until the game says that its client is closed, and return why."""
    line = run.line()
    assert line.closed, line
    return line.closed


# Signals


@pytest.mark.spec("H2")
def test_a_signal_that_the_launcher_is_sent_reaches_the_game_once(tmp_path: Path) -> None:
    with Run(host_file(tmp_path), game(TALKS)) as run:
        host = run.line().host
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            run.send(number)
            assert run.line() == Line(signal=number.name)
            assert signals_up_to_the_fence(run) == []
        assert host is not None
        assert psutil.pid_exists(host)
        assert run.finish() == 7


def terminal_of(descriptor: int) -> Callable[[], None]:
    """Makes a new process's session that of the terminal, with the process in the foreground."""

    def prepare() -> None:
        fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)

    return prepare


@pytest.mark.spec("H2")
def test_a_ctrl_c_in_the_terminal_reaches_the_game_once_and_not_the_host(tmp_path: Path) -> None:
    master, terminal = os.openpty()
    try:
        with Run(host_file(tmp_path), game(TALKS), terminal=terminal, prepare=terminal_of(terminal)) as run:
            host = run.line().host
            # The launcher gets to it later than the game, or two could come as one.
            run.send(signal.SIGSTOP)
            launcher = psutil.Process(run.pid)
            until(lambda: launcher.status() == psutil.STATUS_STOPPED, "the stop of the launcher")
            os.write(master, b"\x03")
            assert run.line() == Line(signal="SIGINT")
            run.send(signal.SIGCONT)
            assert signals_up_to_the_fence(run) == []
            assert host is not None
            assert psutil.Process(host).status() != psutil.STATUS_ZOMBIE
            assert run.finish() == 7
    finally:
        os.close(terminal)
        os.close(master)


@pytest.mark.spec("H2")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is not told who sent a signal")
def test_the_end_of_a_terminal_whose_session_the_launcher_leads_reaches_the_game_once(tmp_path: Path) -> None:
    master, terminal = os.openpty()
    with Run(host_file(tmp_path), game(TALKS), terminal=terminal, prepare=terminal_of(terminal)) as run:
        run.line()
        os.close(terminal)
        os.close(master)
        assert run.line() == Line(signal="SIGHUP")
        assert signals_up_to_the_fence(run) == []
        assert run.finish() == 7


@pytest.mark.spec("H2")
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV], ids=lambda each: each.name
)
def test_a_launcher_ends_by_the_signal_that_ended_the_game(number: signal.Signals, tmp_path: Path) -> None:
    code = f"import os; os.kill(os.getpid(), {int(number)})"
    with Run(host_file(tmp_path), [sys.executable, "-S", "-E", "-c", code]) as run:
        assert run.code() == -number


# One of the three is killed


@pytest.mark.spec("H2", "H5", "H6", "C7")
def test_a_game_survives_its_launcher_and_the_host_does_not(transport: Transport, tmp_path: Path) -> None:
    with Run(host_file(tmp_path), game(TALKS), transport=transport) as run:
        line = run.line()
        everything = run.processes()
        run.process.kill()
        assert "The Host" in closed(run)
        until_gone(each for each in everything if each.pid != line.game)
        assert line.game is not None
        assert psutil.Process(line.game).status() != psutil.STATUS_ZOMBIE
        run.end_input()
        until_gone(everything)


@pytest.mark.spec("H2", "H6", "C7")
def test_a_game_survives_its_host_and_its_exit_code_is_passed_on(
    transport: Transport, tmp_path: Path
) -> None:
    with Run(host_file(tmp_path), game(TALKS), transport=transport) as run:
        line = run.line()
        everything = run.processes()
        assert line.host is not None
        os.kill(line.host, signal.SIGKILL)
        assert "The Host ended without a word" in closed(run)
        until_gone(each for each in everything if each.pid not in (line.game, run.pid))
        assert run.process.poll() is None
        assert run.finish() == 7


@pytest.mark.spec("H2", "H5")
@pytest.mark.parametrize("input", ["talk", "agents", "blocking_agents"])
def test_the_host_and_all_that_it_started_end_with_a_game_that_is_killed(
    input: str, transport: Transport, tmp_path: Path
) -> None:
    stage = tmp_path / "stage"
    plan = RunPlan(input=input, completes=False)
    variables = {STAGE_VARIABLE: str(stage)}
    with Run(host_file(tmp_path), game(plan), transport=transport, variables=variables) as run:
        line = run.line()
        agents = [] if input == "talk" else [int(pid) for pid in line.text.split()[:3]]
        assert len(agents) == (0 if input == "talk" else 3)
        everything = run.processes(*agents)
        if input == "blocking_agents":
            until(stage.exists, "the stage")
        assert line.game is not None
        os.kill(line.game, signal.SIGKILL)
        assert run.code() == -signal.SIGKILL
        until_gone(everything)
