"""The part of the campaign that is the simulation."""

from typing import Any

import pytest
from campaign import simulation

RECORD: dict[str, Any] = {
    "violations": [],
    "reruns_with_another_trace": 0,
    "broken_builds": {"one": {"seed": 1}},
}


def test_a_few_schedules_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["late_text_passes", "numbers_have_gaps"]  # which are found soon
    monkeypatch.setattr(simulation, "MUTANTS", names)
    record = simulation.run(0.00002)
    assert (record["schedules"], record["reruns"], simulation.violations(record)) == (20, 20, 0)
    assert all(record["broken_builds"][name] is not None for name in names)


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 0),
        ({"violations": [{"seed": 3, "oracle": "I1", "what": "twice"}]}, 1),
        ({"reruns_with_another_trace": 2}, 2),
        ({"broken_builds": {"one": None, "two": {"seed": 1}}}, 1),
    ],
)
def test_what_counts_as_a_violation(change: dict[str, Any], count: int) -> None:
    assert simulation.violations({**RECORD, **change}) == count


def test_a_broken_build_that_no_schedule_finds_is_said_to_be_missed() -> None:
    assert simulation.find("nothing_is_merged", schedules=1) is None
