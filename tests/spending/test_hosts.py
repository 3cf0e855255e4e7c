"""Budgets and the switch in real Hosts, as a game and a person meet them."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.process_marks import PATIENCE_S, until
from support.process_play import answer, code_of_close, submitted, until_host_is_gone, until_text
from support.process_start import Starter
from support.spending_minds import UNWOUND_VARIABLE

from engine_intelligence import (
    Deadlines,
    Failed,
    FailureDetail,
    IntelligenceLimits,
    IntelligencePortClient,
    create_intelligence_runtime,
)
from engine_intelligence.contracts import IntelligenceProvider
from engine_intelligence.errors import SetupError
from engine_intelligence.host import budgets
from engine_intelligence.host.budgets import HostBudgets
from engine_intelligence.host.config import plan_host
from engine_intelligence.host.directories import DATA_VARIABLE
from engine_intelligence.host.kinds import KINDS
from engine_intelligence.protocol.bootstrap import FileSource, ProviderSource
from engine_intelligence.spending.budget import Budget
from engine_intelligence.spending.ledger import STOPPED, Ledger
from engine_intelligence.testing import ManualProvider

MINDS = "support.spending_minds"
ORACLE = f'[providers.oracle]\nfactory = "{MINDS}:oracle"\n'
SMITH = f'[providers.smith]\nfactory = "{MINDS}:smith"\n'
CLOCKWORK = '[providers.clockwork]\nkind = "scripted"\ninterval_s = 0\n'

Write = Callable[[str], str]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Writes a configuration, and tells where it is."""

    def write(text: str) -> str:
        path = tmp_path / "host.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def failure_of(client: IntelligencePortClient, input: str = "hello") -> FailureDetail:
    """How an Activity fails."""
    submitted(client, input)
    return next_failure(client)


def next_failure(client: IntelligencePortClient) -> FailureDetail:
    failed: list[Failed] = []

    def ended() -> bool:
        failed.extend(event for event in client.poll() if isinstance(event, Failed))
        return bool(failed) or client.closed

    until(ended, f"a failure of {client.provider_id}")
    assert failed, client.close_reason
    return failed[0].error.detail


def person_calls(path: Path, command: str) -> str:
    """What `engine-intelligence spending` prints, in a process of its own."""
    pytest.importorskip("typer", reason="needs the extra cli")
    done = subprocess.run(
        [sys.executable, "-m", "engine_intelligence.cli", "spending", command],
        env={**os.environ, DATA_VARIABLE: str(path.parent), "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# Budgets


def test_a_game_that_passes_its_budget_is_told_when_it_is_free(start: Starter, written: Write) -> None:
    config = written(ORACLE + "budget = { activities_per_minute = 2 }\n")
    client = start(config).client("oracle")
    for _ in range(2):
        assert answer(client, "hello") == "x" * 40
    detail = failure_of(client)
    assert detail.reason == "rate-limited"
    assert detail.retry_after_seconds is not None
    assert 0 < detail.retry_after_seconds <= 60


def test_a_budget_is_not_new_after_a_restart_of_the_host(start: Starter, written: Write) -> None:
    config = written(ORACLE + "budget = { output_tokens_per_day = 10 }\n")
    with start(config) as host:
        answer(host.client("oracle"), "hello")
    assert failure_of(start(config).client("oracle")).reason == "rate-limited"


def test_two_hosts_of_one_file_have_one_budget(start: Starter, written: Write, tmp_path: Path) -> None:
    config = written(ORACLE + "budget = { activities_per_minute = 2 }\n")
    link = tmp_path / "elsewhere.toml"
    link.symlink_to(config)
    one, two = start(config).client("oracle"), start(str(link)).client("oracle")
    answer(one, "hello")
    answer(two, "hello")
    assert {failure_of(one).reason, failure_of(two).reason} == {"rate-limited"}


def test_all_providers_of_a_host_share_the_budget_of_the_realm(start: Starter, written: Write) -> None:
    host = start(written("[budget]\nactivities_per_minute = 2\n" + ORACLE + SMITH))
    oracle, smith = host.client("oracle"), host.client("smith")
    answer(oracle, "hello")
    answer(smith, "hello")
    detail = failure_of(oracle)
    assert detail.reason == "rate-limited"
    assert "all providers of this Host together" in str(detail.cause)


def test_what_costs_nothing_is_not_counted_on_the_budget_of_the_realm(start: Starter, written: Write) -> None:
    host = start(written("[budget]\nactivities_per_minute = 1\n" + CLOCKWORK))
    for _ in range(3):
        answer(host.client("clockwork"), "hello")


def test_a_provider_that_costs_nothing_can_have_a_budget(start: Starter, written: Write) -> None:
    host = start(written(CLOCKWORK + "budget = { activities_per_minute = 1 }\n"))
    answer(host.client("clockwork"), "hello")
    assert failure_of(host.client("clockwork")).reason == "rate-limited"


def test_a_host_that_is_killed_while_it_answers_has_counted_what_it_said(
    start: Starter, written: Write, path: Path
) -> None:
    config = written(ORACLE + "budget = { output_tokens_per_day = 10 }\n")
    host = start(config)
    submitted(host.client("oracle"), "talk")
    until_text(host.client("oracle"))
    ledger = Ledger(path)
    until(lambda: sum(line.tokens for line in ledger.lines()) >= 10, "what is said, in the ledger")
    ledger.close()
    os.kill(host.pid, 9)
    until_host_is_gone(host)
    assert failure_of(start(config).client("oracle")).reason == "rate-limited"


def test_a_ledger_that_cannot_be_used_ends_activities_and_tells_what_to_do(
    start: Starter, written: Write, path: Path
) -> None:
    path.parent.mkdir()
    path.write_bytes(b"rubbish" * 1000)
    detail = failure_of(start(written(ORACLE + "budget = {}\n")).client("oracle"))
    assert detail.reason == "unavailable"
    assert "engine-intelligence spending show" in str(detail.cause)


@pytest.mark.spec("H4")
@pytest.mark.parametrize("text", [f"[budget]\nactivities_per_minute = 0\n{ORACLE}", ORACLE + "budget = 5\n"])
def test_a_bad_budget_closes_the_port_with_the_reason(start: Starter, written: Write, text: str) -> None:
    assert code_of_close(start(written(text)).client("oracle")) == "config-invalid"


# Who spends


def test_all_kinds_spend_but_those_that_cost_nothing() -> None:
    assert {name for name, kind in KINDS.items() if not kind.spends} == {"llama", "scripted"}


@pytest.mark.parametrize("source", ["scripted", f"{MINDS}:oracle"])
def test_a_host_of_which_nobody_is_known_to_spend_has_no_ledger(
    start: Starter, path: Path, source: str
) -> None:
    with start(source) as host:
        answer(host.client("scripted" if source == "scripted" else "oracle"), "hello")
    assert not path.exists()


def test_a_kind_that_spends_obeys_the_switch_without_a_budget_too(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, "scripted", KINDS["scripted"]._replace(spends=True))
    monkeypatch.setenv(DATA_VARIABLE, str(path.parent))
    plan = plan_host(ProviderSource("scripted", "oracle", {}), IntelligenceLimits(), Deadlines())
    ledger = Ledger(path)
    ledger.stop()
    ledger.close()
    runtime = create_intelligence_runtime(plan.providers["oracle"].make())
    assert runtime.submit("hello").ok
    assert [event.error.detail.cause for event in runtime.poll() if isinstance(event, Failed)] == [STOPPED]
    runtime.close()


def over_made(provider: IntelligenceProvider, own: Budget | None, realm: Budget | None) -> bool:
    """Whether a provider of a factory keeps to budgets."""
    return HostBudgets("a host", realm).over_made(provider, own) is not provider


class SpendingProvider(ManualProvider):
    spends = True


def test_a_provider_of_a_factory_keeps_to_budgets_where_there_are_any_or_it_says_that_it_spends() -> None:
    plain, spender, none = ManualProvider("oracle"), SpendingProvider("oracle"), Budget()
    assert not over_made(plain, None, None)
    assert over_made(plain, none, None)
    assert over_made(plain, None, none)
    assert over_made(spender, None, None)


def test_without_the_package_that_knows_the_data_directory_a_person_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> Path:
        raise ModuleNotFoundError(name="platformdirs")

    monkeypatch.setattr(budgets, "data_directory", missing)
    with pytest.raises(SetupError, match="pip install platformdirs") as raised:
        HostBudgets("a host").over_made(SpendingProvider("oracle"))
    assert raised.value.reason == "missing-package"


# The switch


def test_a_person_stops_what_runs_and_what_is_asked_for_and_lets_it_go_on(
    start: Starter, written: Write, path: Path, tmp_path: Path
) -> None:
    unwound = tmp_path / "unwound"
    start.environment[UNWOUND_VARIABLE] = str(unwound)
    host = start(written(ORACLE + "budget = {}\n" + CLOCKWORK))
    oracle, clockwork = host.client("oracle"), host.client("clockwork")
    submitted(oracle, "talk")
    until_text(oracle)
    person_calls(path, "stop")
    detail = next_failure(oracle)
    assert (detail.reason, detail.cause) == ("unavailable", STOPPED)
    until(unwound.exists, "the end of the generator")
    assert failure_of(oracle).reason == "unavailable"
    assert answer(clockwork, "hello")
    person_calls(path, "resume")
    assert answer(oracle, "hello") == "x" * 40


def test_a_stop_holds_for_hosts_that_are_started_later(start: Starter, path: Path) -> None:
    person_calls(path, "stop")
    assert failure_of(start(f"{MINDS}:spender").client("oracle")).cause == STOPPED


def test_a_person_sees_what_a_host_has_spent(start: Starter, written: Write, path: Path) -> None:
    text = "[budget]\noutput_tokens_per_day = 5000\n" + ORACLE + "budget = { activities_per_minute = 20 }\n"
    config = written(text)
    with start(config) as host:
        answer(host.client("oracle"), "hello")
    shown = person_calls(path, "show")
    assert "Spending is not stopped." in shown
    assert "20 of 5,000" in shown
    assert "of 20" in shown
    ledger = Ledger(path)
    assert {line.host for line in ledger.lines()} == {str(Path(config).resolve())}
    ledger.close()


def test_a_file_names_the_account_of_its_host_by_its_own_path(
    written: Write, path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written(ORACLE + "budget = {}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(DATA_VARIABLE, str(path.parent))
    plan = plan_host(FileSource("host.toml"), IntelligenceLimits(), Deadlines())
    accounts = vars(plan.providers["oracle"].make())["_accounts"]
    assert [account.host for account in accounts] == [str((tmp_path / "host.toml").resolve())]
