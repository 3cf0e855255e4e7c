"""The soak: some seconds of it find nothing, and whatever it looks for is found where it is."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from campaign import soak
from campaign.soak_realm import Soak
from campaign.soaking import FAULTS, WHOLE, Fault, Ongoing, Terminal, choose
from campaign.trend import course

from engine_intelligence import (
    Cancelled,
    Completed,
    Err,
    Failed,
    IntelligenceError,
    IntelligencePortClient,
    Result,
    SessionRef,
)
from engine_intelligence.errors import (
    activity_not_found,
    intelligence_failure,
    output_overflow,
    provider_failed,
)

SESSION = SessionRef("mind", "s-1")


def failed(reason: str) -> Failed:
    error = provider_failed("mind", "it failed", reason=reason)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    return Failed("a-1", 2, intelligence_failure(error))


def wrong(fault: Fault, terminal: Terminal) -> str:
    ongoing = Ongoing(
        kind="it", fault=fault, input="steady 1", session=SESSION, accepted_at=0.0, cancel_at=None
    )
    return ongoing.wrong(terminal)


SAID = "".join(f"steady 1-{number} " for number in range(20))
GOOD = Completed("a-1", 21, SESSION, SAID)
OVERFLOW = Failed("a-1", 2, intelligence_failure(output_overflow("a-1", 65536)))

RIGHT_ENDS: dict[str, list[Terminal]] = {
    "raises": [failed("other")],
    "raises before the first text": [failed("other")],
    "falls silent": [failed("stalled")],
    "says nothing": [failed("timeout")],
    "overflows": [OVERFLOW],
    "ignores cancel": [Cancelled("a-1", 2)],
    "emits surrogates": [Completed("a-1", 6, SESSION, "a\ufffd" * 5)],
    "is cancelled": [GOOD, Cancelled("a-1", 2)],
    "its Host is stopped for a while": [GOOD],
    "its Host is killed": [GOOD],
}
EVERY_END: list[Terminal] = [
    GOOD,
    Completed("a-1", 21, SESSION, SAID + "more"),
    Completed("a-1", 6, SESSION, "a\ufffd" * 5),
    Cancelled("a-1", 2),
    OVERFLOW,
    *map(failed, ("other", "stalled", "timeout", "crashed")),
]


def test_there_is_a_right_end_for_every_fault() -> None:
    assert set(RIGHT_ENDS) == set(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_of_all_ends_only_those_that_fit_a_fault_are_right(name: str) -> None:
    right = [end for end in EVERY_END if not wrong(FAULTS[name], end)]
    assert right == [end for end in EVERY_END if end in RIGHT_ENDS[name]]


def test_an_answer_in_another_session_is_wrong() -> None:
    assert wrong(WHOLE, Completed("a-1", 21, SessionRef("mind", "s-2"), SAID))


def test_a_hundredth_of_the_activities_has_a_fault() -> None:
    moments = random.Random(1)
    faults = sum(choose(moments, 0.01)[0] != "whole" for _ in range(100_000))
    assert 900 < faults < 1100


@pytest.mark.spec("S6", "S8", "S12", "S13", "S14", "P3")
def test_some_seconds_of_two_games_find_nothing() -> None:
    record = soak.run(0.003)
    assert soak.violations(record) == 0
    assert all(game["activities"] > 8 for game in record["games"].values())
    assert "| violations | 0 | 0 |" in soak.table(record)


@pytest.fixture
def hard_game() -> Iterator[Soak]:
    """One in which every second Activity has a fault."""
    game = Soak("socket", 7, faulty_share=0.5)
    yield game
    game.close()


@pytest.mark.spec("C5", "S6", "S14")
def test_a_game_with_faults_in_half_of_its_activities_finds_nothing(hard_game: Soak) -> None:
    hard_game.play(3.0)
    assert hard_game.wrong == []
    assert len(hard_game.kinds) > 5


def test_a_host_that_is_lost_though_nobody_killed_it_is_found(hard_game: Soak) -> None:
    hard_game.connection.close().wait()
    hard_game.play(0.1)
    assert any("a Host was lost" in what for what in hard_game.wrong)


def test_a_broken_expectation_is_found(hard_game: Soak, monkeypatch: pytest.MonkeyPatch) -> None:
    def other_words(input: str) -> list[str]:
        return ["something else"]

    monkeypatch.setattr("campaign.soaking.steady_words", other_words)
    hard_game.play(0.5)
    assert any("ended with completed" in what for what in hard_game.wrong)


def test_a_cancel_that_does_not_find_what_is_running_is_found(
    hard_game: Soak, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancel(client: IntelligencePortClient, activity_id: str) -> Result[None, IntelligenceError]:
        return Err(activity_not_found(activity_id))

    monkeypatch.setattr(IntelligencePortClient, "cancel", cancel)
    hard_game.play(0.5)
    assert any("cancel did not find it" in what for what in hard_game.wrong)


FLAT = {"seconds": 480.0, "first_kb": 40_000.0, "last_kb": 40_100.0, "kb_per_minute": 12.0}
GAME: dict[str, Any] = {
    "wrong_count": 0,
    "processes_left": 0,
    "left": 0,
    "game_memory": FLAT,
    "host_memory": FLAT,
}


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 0),
        ({"wrong_count": 2}, 2),
        ({"processes_left": 1}, 1),
        ({"left": 1}, 1),
        ({"game_memory": {**FLAT, "kb_per_minute": 500.0}}, 1),
        ({"host_memory": {**FLAT, "kb_per_minute": 500.0}}, 1),
        ({"host_memory": {**FLAT, "kb_per_minute": 500.0, "seconds": 20.0}}, 0),
        ({"failed": "exit code 1: boom"}, 1),
    ],
)
def test_what_counts_as_a_violation(change: dict[str, Any], count: int) -> None:
    assert soak.violations({"games": {"socket": {**GAME, **change}}}) == count


def test_memory_that_grows_after_the_warm_up_has_that_slope() -> None:
    samples = [(float(second), 40_000.0 + (500.0 if second < 30 else 10.0 * second)) for second in range(300)]
    assert course(samples)["kb_per_minute"] == pytest.approx(600.0)
