"""What the page on spending shows is what is printed and told."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.spending_parts import account, refusal

from engine_intelligence.errors import provider_failed
from engine_intelligence.host.directories import DATA_VARIABLE
from engine_intelligence.spending.budget import Account, Budget
from engine_intelligence.spending.ledger import Ledger

PAGE = "docs/guide/spending.md"

Blocks = Callable[[str], list[tuple[str, str, str]]]
Table = Callable[[str, str], list[list[str]]]


@pytest.fixture
def shown(blocks: Blocks) -> Callable[[str], str]:
    """The one block of that title."""

    def block(title: str) -> str:
        (found,) = [text for _, name, text in blocks(PAGE) if name == title]
        return found

    return block


Shown = Callable[[str], str]


def cause(ledger: Ledger, accounts: list[Account]) -> str | None:
    """What a game is told of an Activity that is refused."""
    error = refusal(ledger, accounts)
    return provider_failed("oracle", error).detail.cause


def words(text: str | None) -> list[str]:
    """Pages break lines where they like."""
    return (text or "").split()


def test_the_keys_of_the_table_are_those_of_a_budget(table: Table) -> None:
    keys = [cells[0].strip("`") for cells in table(PAGE, "key")]
    assert keys == list(Budget.__struct_fields__)


def test_a_budget_of_a_minute_is_refused_as_the_page_says(shown: Shown) -> None:
    ledger, accounts = Ledger(None), [account(a_minute=1)]
    ledger.admit(accounts)
    assert words(cause(ledger, accounts)) == words(shown("cause: a minute"))
    ledger.close()


def test_a_budget_of_a_day_is_refused_as_the_page_says(shown: Shown) -> None:
    ledger, accounts = Ledger(None), [account(None, a_day=1)]
    ledger.spend(accounts, 1)
    assert words(cause(ledger, accounts)) == words(shown("cause: a day"))
    ledger.close()


def test_spending_that_was_stopped_is_told_as_the_page_says(shown: Shown) -> None:
    ledger = Ledger(None)
    ledger.stop()
    assert words(cause(ledger, [])) == words(shown("cause: stopped"))
    ledger.close()


def test_a_ledger_that_cannot_be_used_is_told_as_the_page_says(shown: Shown, tmp_path: Path) -> None:
    path = tmp_path / "spending.sqlite3"
    path.write_bytes(b"rubbish" * 1000)
    assert words(cause(Ledger(path), [])) == words(shown("cause: ledger"))


@pytest.mark.parametrize("command", ["stop", "resume", "show"])
def test_the_command_prints_what_the_page_shows(
    command: str, shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("typer", reason="needs the extra cli")
    from typer.testing import CliRunner

    from engine_intelligence.cli.app import app

    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    ledger = Ledger(tmp_path / "spending.sqlite3")
    host = "/games/castle/host.toml"
    ledger.spend([account("oracle", a_minute=20, host=host), account(None, a_day=200_000, host=host)], 1_840)
    ledger.spend([account("smith", host=host), account(None, a_day=200_000, host=host)], 412)
    ledger.close()
    done = CliRunner().invoke(app, ["spending", command], env={"COLUMNS": "118"})
    assert done.stdout == shown(f"spending {command}")
