"""A game that is stopped (SIGSTOP) while its providers go on: its Host stays small, and nothing is lost (rules S10, S11)."""

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from support.process_fast_minds import COUNTED
from support.process_games import Game
from support.process_marks import Mark, until
from support.process_minds import GATE_VARIABLE, STAGE_VARIABLE
from support.process_plans import Plan, Report

from engine_intelligence import IntelligenceLimits
from engine_intelligence.realm.spawning import Transport

pytestmark = pytest.mark.skipif(os.name != "posix", reason="stops processes by signals")

MIB = 1024 * 1024


class Stopped:
    """A game that was stopped after its provider had begun, and what its Host took meanwhile."""

    def __init__(self, game: Game, host: psutil.Process, gate: Path, stage: Path) -> None:
        self._game = game
        self._host = host
        self._gate = gate
        self._stage = stage
        self._before_bytes = host.memory_info().rss

    def let_the_provider_talk(self) -> None:
        """Until it has said everything, or was told to stop, all of it while the game does not run."""
        self._gate.touch()
        until(self._stage.exists, "the end of what the provider says")
        assert psutil.Process(self._game.process.pid).status() == psutil.STATUS_STOPPED

    @property
    def grown_bytes(self) -> int:
        return self._host.memory_info().rss - self._before_bytes

    def resume(self) -> Report:
        """Let the game go on, and return what it has heard in the end."""
        self._game.process.send_signal(signal.SIGCONT)
        return self._game.report()


@contextmanager
def stopped(mark: Mark, folder: Path, transport: Transport, inputs: tuple[str, ...]) -> Generator[Stopped]:
    gate, stage = folder / "gate", folder / "stage"
    plan = Plan(
        transport=transport,
        source="support.process_fast_minds:mind",
        inputs=inputs,
        ending="hears-out",
    )
    environment = {**mark.environment, GATE_VARIABLE: str(gate), STAGE_VARIABLE: str(stage)}
    with Game(plan, environment) as game:
        host = psutil.Process(game.report().host)
        game.process.send_signal(signal.SIGSTOP)
        until(
            lambda: psutil.Process(game.process.pid).status() == psutil.STATUS_STOPPED, "the stop of the game"
        )
        yield Stopped(game, host, gate, stage)


@pytest.mark.fault("R17", "C5")
@pytest.mark.spec("S11", "M4")
def test_all_that_was_said_while_a_game_was_stopped_is_delivered_when_it_goes_on(
    mark: Mark, tmp_path: Path, transport: Transport
) -> None:
    with stopped(mark, tmp_path, transport, ("count",)) as game:
        game.let_the_provider_talk()
        report = game.resume()
    assert report.texts == ("ready " + "".join(f"{n} " for n in range(COUNTED)),)
    assert report.ends == ("completed",)


@pytest.mark.fault("R17")
@pytest.mark.spec("S10")
def test_a_provider_that_floods_a_stopped_game_is_cut_off_by_the_documented_bound(
    mark: Mark, tmp_path: Path, transport: Transport
) -> None:
    # The generator is cancelled while the game is still stopped: nothing goes on for a game that may never come back.
    with stopped(mark, tmp_path, transport, ("flood",)) as game:
        game.let_the_provider_talk()
        report = game.resume()
    assert report.ends == ("failed intelligence-output-overflow",)
    text = report.texts[0]
    assert text == "ready " + "".join(f"{n} " for n in range(text.count(" ") - 1))
    assert IntelligenceLimits().max_output_chars - 8 < len(text) <= IntelligenceLimits().max_output_chars


@pytest.mark.fault("R17")
@pytest.mark.spec("S8", "S11", "M5")
def test_a_host_whose_game_is_stopped_keeps_a_bounded_amount_for_it(
    mark: Mark, tmp_path: Path, transport: Transport
) -> None:
    with stopped(
        mark, tmp_path, transport, ("flood",) * IntelligenceLimits().max_concurrent_activities
    ) as game:
        game.let_the_provider_talk()
        # Eight outputs of 64 Ki characters are half a megabyte, and their events a few times that.
        assert game.grown_bytes < 16 * MIB
        report = game.resume()
    assert set(report.ends) == {"failed intelligence-output-overflow"}


@pytest.mark.fault("R17", "R14")
@pytest.mark.spec("H5")
def test_a_game_that_is_killed_while_it_is_stopped_takes_its_host_along(
    mark: Mark, tmp_path: Path, transport: Transport
) -> None:
    with stopped(mark, tmp_path, transport, ("flood",)) as game:
        game.let_the_provider_talk()
    mark.until_gone()
