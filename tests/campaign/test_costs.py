"""The costs of a game's calls: a few are timed and traced, and a call that goes wrong is a violation."""

import shutil
from typing import Any

import pytest
from campaign import costs
from campaign.costs_realm import CALLS

A_TIME = {"count": 1, "p50": 1.0, "p90": 1.0, "p99": 1.0, "p99.9": 1.0, "max": 1.0}
TIMES: dict[str, Any] = {
    "state": "dead",
    "transport": "socket",
    "ns": dict.fromkeys(CALLS, A_TIME),
    "wrong": [],
}
TRACE: dict[str, Any] = {"state": "dead", "transport": "socket", "by_call": {}, "could_wait": [], "wrong": []}


def violations_of(times: dict[str, Any], trace: dict[str, Any]) -> int:
    return costs.violations({"times": [{**TIMES, **times}], "system_calls": [{**TRACE, **trace}]})


@pytest.mark.spec("S1", "H7")
def test_a_few_calls_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "STATES", ("streaming", "dying"))
    monkeypatch.setattr(costs, "TRANSPORTS", ("socket",))
    record = costs.run(0.0005)
    assert costs.violations(record) == 0
    assert all(entry["ns"][name]["count"] >= 10 for entry in record["times"] for name in CALLS)
    assert costs.table(record).count("the call that notices") == 1


def test_without_a_tracer_the_system_calls_are_said_not_to_have_been_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def which(name: str) -> None:
        return None

    monkeypatch.setattr(shutil, "which", which)
    entry = {"state": "dead", "transport": "socket", **costs.system_calls("dead", "socket", 10)}
    assert costs.table_of_system_calls([entry]) == "System calls: not run, since strace is not installed."
    assert costs.violations({"times": [], "system_calls": [entry]}) == 0


def test_nothing_wrong_is_no_violation() -> None:
    assert violations_of({}, {}) == 0


@pytest.mark.parametrize(
    ("times", "trace"),
    [
        ({"failed": "exit code 1: boom"}, {}),
        ({"wrong": ["there is a second thread"]}, {}),
        ({}, {"failed": "no end after 900 s"}),
        ({}, {"wrong": ["closed: The Host ended."]}),
        ({}, {"could_wait": ["poll: futex(0x1, FUTEX_WAIT, 0)"]}),
    ],
    ids=[
        "a game fails",
        "a call goes wrong",
        "a traced game fails",
        "a traced call goes wrong",
        "a call could wait",
    ],
)
def test_it_is_a_violation_when(times: dict[str, Any], trace: dict[str, Any]) -> None:
    assert violations_of(times, trace) == 1
