"""`engine-intelligence spending` as a person types it."""

from pathlib import Path

import pytest
from support.spending_parts import account

from engine_intelligence.errors import SetupError
from engine_intelligence.host.directories import DATA_VARIABLE
from engine_intelligence.spending.ledger import Ledger

pytest.importorskip("typer", reason="needs the extra cli")

from typer.testing import CliRunner, Result

from engine_intelligence.cli import spending
from engine_intelligence.cli.app import app


@pytest.fixture
def path(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ledger that the command uses."""
    monkeypatch.setenv(DATA_VARIABLE, str(path.parent))
    return path


def invoke(command: str) -> Result:
    return CliRunner().invoke(app, ["spending", command], env={"COLUMNS": "160"})


def row(shown: str, *cells: str) -> bool:
    """Whether a row of the table holds these cells, in this order."""
    for line in shown.splitlines():
        found = [cell.strip() for cell in line.split("│")[1:-1]]
        if found == list(cells):
            return True
    return False


def test_before_anything_was_spent_that_is_what_is_shown(path: Path) -> None:
    done = invoke("show")
    assert done.exit_code == 0
    assert done.stdout == "Spending is not stopped.\nNothing was spent in the last 24 hours.\n"


def test_each_account_is_shown_with_what_it_spent_and_may_spend(path: Path) -> None:
    ledger = Ledger(path)
    own, shared = account("oracle", a_minute=1, host="/game"), account(None, a_day=5_000, host="/game")
    ledger.admit([own, shared])
    ledger.spend([own, shared], 1_234)
    ledger.close()
    shown = invoke("show").stdout
    assert row(shown, "/game", "all together", "not bounded", "1,234 of 5,000", "now")
    assert any(
        row(shown, "/game", "oracle", "1 of 1", "1,234", wait)
        for wait in ["1 min 00 s", *(f"{seconds} s" for seconds in range(60))]
    )


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.001, "1 s"), (59.2, "1 min 00 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (86_460, "24 h 01 min")],
)
def test_a_wait_is_shown_rounded_up(seconds: float, shown: str) -> None:
    assert spending.duration(seconds) == shown


def test_the_switch_is_thrown_shown_and_thrown_back(path: Path) -> None:
    assert "engine-intelligence spending resume" in invoke("stop").stdout
    ledger = Ledger(path)
    assert ledger.is_stopped()
    assert invoke("show").stdout.startswith("Spending is stopped since 2")
    assert invoke("resume").exit_code == 0
    assert not ledger.is_stopped()
    ledger.close()


def test_names_that_could_command_a_terminal_are_cleaned(path: Path) -> None:
    ledger = Ledger(path)
    ledger.admit([account("\x1b[2Jorac\x07le", host="/game")])
    ledger.close()
    shown = invoke("show").stdout
    assert "\x1b" not in shown
    assert row(shown, "/game", "oracle", "not bounded", "0", "now")


@pytest.mark.parametrize("command", ["show", "stop", "resume"])
def test_a_ledger_that_cannot_be_used_is_told_with_its_place_and_what_to_do(path: Path, command: str) -> None:
    path.parent.mkdir()
    path.write_bytes(b"rubbish" * 1000)
    done = invoke(command)
    assert done.exit_code == 1
    assert "not a database" in done.stderr
    assert str(path) in done.stderr
    assert "move it away" in done.stderr


def test_without_the_package_that_knows_the_data_directory_a_person_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> Path:
        raise ModuleNotFoundError(name="platformdirs")

    monkeypatch.setattr(spending, "data_directory", missing)
    with pytest.raises(SetupError, match="pip install"):
        spending.ledger_path()
