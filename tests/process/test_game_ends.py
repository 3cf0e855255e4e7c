"""A Host ends with its realm, and takes along what it has started, however the realm ends (rule H5)."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace
from support.process_games import Game
from support.process_marks import Mark, until
from support.process_minds import STAGE_VARIABLE
from support.process_plans import RAISED, Ending, Plan

from engine_intelligence.realm.spawning import Transport

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills processes by signals")

DEAF = "support.process_minds:deaf"
HANGS = "support.process_minds:hangs_in_close"
BLOCKS = "support.process_minds:blocks_in_close"

# How a game ends, and the exit code that it must have.
ENDINGS: list[tuple[Ending, int]] = [
    ("returns", 0),
    ("sys.exit", 3),
    ("raises", 1),
    ("os._exit", 4),
    ("sigterm", -signal.SIGTERM),
    ("closes", 0),
]


def processes_of(game: Game) -> list[psutil.Process]:
    """The Host, and the processes whose numbers are the first words of what the provider said."""
    report = game.report()
    numbers = [int(word) for word in report.texts[0].split()[:3] if len(word) > 2]
    return [psutil.Process(report.host), *map(psutil.Process, numbers)]


# What goes on in a Host when its game is killed, and whether a provider has to get to its point first.
DOINGS = {
    "text streams": (Plan(inputs=("talk",)), False),
    "three texts stream": (Plan(inputs=("talk", "talk", "talk")), False),
    "text floods": (Plan(inputs=("flood",)), False),
    "the provider blocks the event loop": (Plan(inputs=("block",)), True),
    "the provider takes all of the interpreter": (Plan(inputs=("spin",)), True),
    "native code holds the interpreter": (Plan(inputs=("hold",), unresponsive_s=0.5), True),
    "a thread blocks that the interpreter waits for": (Plan(inputs=("thread",)), False),
    "agents work": (Plan(inputs=("agents",)), False),
    "agents work and the provider blocks": (Plan(inputs=("agents", "block")), True),
    "agents work and native code holds the interpreter": (
        Plan(inputs=("agents", "hold"), unresponsive_s=0.5),
        True,
    ),
    "native code that holds the interpreter has logged a lot": (
        Plan(inputs=("native",), unresponsive_s=0.5),
        True,
    ),
    "a provider is there that hangs in close": (Plan(source=HANGS), False),
    "a provider is there that blocks in close": (Plan(source=BLOCKS), False),
    "a provider is there that nothing stops": (Plan(source=DEAF), True),
    "it is not ready": (Plan(inputs=(), waits_for_text=False), False),
}


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    """The file by which a provider shows that it has got to its point."""
    return tmp_path / "stage"


# Over the other way too, where the end of a connection looks different.
EVERY_WAY = ("text streams", "the provider blocks the event loop")

CASES: list[tuple[str, Transport]] = [
    *((doing, "auto") for doing in DOINGS),
    *((doing, "loopback") for doing in EVERY_WAY),
]


@pytest.mark.fault("R14", "R16", "C27", "C28")
@pytest.mark.spec("H5", "B6")
@pytest.mark.parametrize(("doing", "transport"), CASES)
def test_kill_9_of_the_game_leaves_no_process_while_in_its_host(
    transport: Transport, mark: Mark, stage: Path, doing: str
) -> None:
    plan, staged = DOINGS[doing]
    with Game(replace(plan, transport=transport), {**mark.environment, STAGE_VARIABLE: str(stage)}) as game:
        game.report()
        until(lambda: stage.exists() or not staged, "the point that the provider gets to")
        game.kill()
        mark.until_gone()


@pytest.mark.fault("R15")
@pytest.mark.spec("H5")
@pytest.mark.parametrize("inputs", [("talk",), ("agents", "block")], ids=["while text streams", "blocked"])
def test_kill_9_of_the_game_leaves_no_host_while_a_fork_of_the_game_holds_the_connection(
    mark: Mark, inputs: tuple[str, ...]
) -> None:
    with Game(Plan(inputs=inputs, forks_sibling=True), mark.environment) as game:
        game.report()
        game.kill()
        until(lambda: all(map(_is_game, mark.alive())), "the end of the Host and of what it has started")
        assert mark.alive()  # the fork, which still holds the connection


@pytest.mark.spec("H5")
def test_agents_that_are_left_over_are_those_that_the_test_means(mark: Mark) -> None:
    # Guards the tests above: the provider's processes do carry the mark, in sessions of their own and orphaned.
    with Game(Plan(inputs=("agents",)), mark.environment) as game:
        host, agent, child, orphan = processes_of(game)
        assert {p.pid for p in mark.alive()} >= {game.process.pid, host.pid, agent.pid, child.pid, orphan.pid}
        assert os.getsid(child.pid) != os.getsid(host.pid)
        assert orphan.ppid() != agent.pid


@pytest.mark.fault("R55", "C31")
@pytest.mark.spec("H5")
@pytest.mark.parametrize(
    ("ending", "blocked"),
    [(ending, False) for ending, _ in ENDINGS]
    + [(ending, True) for ending in ("returns", "os._exit", "closes")],
)
def test_a_game_that_ends_takes_its_host_along(
    mark: Mark, stage: Path, blocked: bool, ending: Ending
) -> None:
    plan = Plan(inputs=("agents", "block") if blocked else ("agents",), ending=ending)
    plan = replace(plan, stage=str(stage) if blocked else None)
    with Game(plan, {**mark.environment, STAGE_VARIABLE: str(stage)}) as game:
        game.exit_code()
        mark.until_gone()


@pytest.mark.fault("R55", "C31")
@pytest.mark.spec("H5")
@pytest.mark.parametrize(("ending", "code"), ENDINGS)
def test_the_exit_code_of_a_game_is_its_own(mark: Mark, ending: Ending, code: int) -> None:
    with Game(Plan(source=HANGS, ending=ending), mark.environment) as game:
        assert game.exit_code() == code


@pytest.mark.fault("R55")
@pytest.mark.spec("H5")
@pytest.mark.parametrize("ending", [ending for ending, _ in ENDINGS if ending != "raises"])
def test_the_end_of_a_game_prints_nothing(mark: Mark, ending: Ending) -> None:
    with Game(Plan(ending=ending), mark.environment) as game:
        assert game.said() == ""


@pytest.mark.spec("H5")
def test_a_game_that_breaks_prints_its_own_traceback_and_nothing_else(
    transport: Transport, mark: Mark
) -> None:
    with Game(Plan(transport=transport, ending="raises"), mark.environment) as game:
        said = game.said()
    assert said.startswith("Traceback")
    assert said.endswith(f"RuntimeError: {RAISED}\n")
    assert said.count("Traceback") == 1


@pytest.mark.spec("H5")
@pytest.mark.parametrize("ending", ["returns", "os._exit"])
def test_a_game_that_ends_before_its_host_is_ready_prints_nothing(
    transport: Transport, mark: Mark, ending: Ending
) -> None:
    plan = Plan(transport=transport, inputs=(), waits_for_text=False, ending=ending)
    with Game(plan, mark.environment) as game:
        assert game.said() == ""


@pytest.mark.spec("H5")
def test_kill_9_of_the_game_prints_nothing(transport: Transport, mark: Mark) -> None:
    with Game(Plan(transport=transport), mark.environment) as game:
        game.report()
        game.kill()
        assert game.said() == ""


@pytest.mark.spec("H5")
def test_a_host_that_nobody_stops_otherwise_ends_in_order(transport: Transport, mark: Mark) -> None:
    # With an hour of grace there is nothing but the ordinary end that could end it here.
    with Game(Plan(transport=transport, grace_s=3600.0), mark.environment) as game:
        game.report()
        game.kill()
        mark.until_gone()


@pytest.mark.fault("R19", "C30")
@pytest.mark.spec("H5")
def test_ctrl_c_in_the_terminal_reaches_the_game_and_not_its_host(transport: Transport, mark: Mark) -> None:
    plan = Plan(transport=transport, ending="survives-ctrl-c")
    with Game(plan, mark.environment, own_group=True) as game:
        game.report()
        os.killpg(game.process.pid, signal.SIGINT)
        # The game reports again once it has seen the signal, and text from after it.
        assert game.report().texts[0]


@pytest.mark.fault("R19", "C30")
@pytest.mark.spec("H5")
def test_a_game_that_ends_by_ctrl_c_takes_its_host_along(transport: Transport, mark: Mark) -> None:
    with Game(Plan(transport=transport), mark.environment, own_group=True) as game:
        game.report()
        os.killpg(game.process.pid, signal.SIGINT)
        assert game.exit_code() == -signal.SIGINT
        mark.until_gone()


@pytest.mark.fault("R19")
@pytest.mark.spec("H5")
def test_nothing_but_the_game_is_in_the_terminal_s_group(mark: Mark) -> None:
    with Game(Plan(inputs=("agents",)), mark.environment, own_group=True) as game:
        host = game.report().host
        assert os.getpgid(host) != os.getpgid(game.process.pid)
        assert os.getsid(host) == host


def _is_game(process: psutil.Process) -> bool:
    try:
        return "support.process_plans" in process.cmdline()
    except psutil.Error:
        return False


GARBAGE = """
import gc, sys
from engine_intelligence import spawn_host

class Ring:
    pass

host = spawn_host("support.process_minds:mind")
client = host.client("mind")
client.submit("talk")
ring = Ring()
ring.held, ring.ring, sys.ring = (host, client), ring, ring
gc.disable()
"""


@pytest.mark.fault("R56", "R55")
@pytest.mark.spec("H5", "H7")
@pytest.mark.parametrize("options", [(), ("-X", "dev")], ids=["plain", "-X dev"])
def test_a_connection_that_is_collected_while_the_interpreter_ends_disturbs_nothing(
    mark: Mark, options: tuple[str, ...]
) -> None:
    tests = Path(__file__).parents[1]
    game = subprocess.run(
        [sys.executable, *options, "-W", "ignore::ResourceWarning", "-c", GARBAGE],
        env={**mark.environment, "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent / "src")])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (game.returncode, game.stderr) == (0, "")
    mark.until_gone()
