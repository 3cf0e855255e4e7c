"""Provider code that cancels every task of its Host's event loop, at one turn or another (rules H6, C5)."""

import os

import pytest
from support.process_marks import PATIENCE_S, Mark
from support.process_minds import MIND
from support.process_play import code_of_close, submitted
from support.process_start import Starter

pytestmark = pytest.mark.skipif(os.name != "posix", reason="looks for processes by their environment")


@pytest.mark.fault("R53")
@pytest.mark.spec("H6", "C5")
@pytest.mark.parametrize("turns", [0, 1, 2, 5])
@pytest.mark.parametrize("times", [1, 2])
def test_a_host_whose_tasks_are_cancelled_ends_and_its_game_is_told(
    start_auto: Starter, mark: Mark, capfd: pytest.CaptureFixture[str], turns: int, times: int
) -> None:
    connection = start_auto("support.process_meddling_minds:mind")
    client = connection.client(MIND)
    submitted(client, f"{turns} {times}")
    assert code_of_close(client) == "host-ended"
    assert client.held_activities == 0
    assert connection.close().wait(PATIENCE_S)
    mark.until_gone()
    assert "Traceback" not in capfd.readouterr().err
