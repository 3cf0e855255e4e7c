"""Closes of Hosts in every state: a few find nothing, and a close that is late or leaves something is a violation."""

import pytest
from campaign import closing
from campaign.closing_states import STATES, Scene, State, says


def closed(
    *, took_ms: tuple[float, ...] = (10.0,), left: int = 0, wrong: tuple[str, ...] = ()
) -> closing.Closed:
    return closing.Closed(took_ms=took_ms, gone_ms=1.0, left=left, wrong=wrong)


def violations_of(*closes: closing.Closed) -> int:
    return closing.violations({"states": {"a state": {"socket": closing.tally(list(closes))}}})


@pytest.mark.spec("C6", "H5")
def test_a_few_closes_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {
        name: STATES[name] for name in ("streaming", "frozen (SIGSTOP)", "a huge power holds the interpreter")
    }
    monkeypatch.setattr(closing, "STATES", few)
    record = closing.run(0.001)
    # How long a close took is the campaign's to say; here the machine may be busy.
    groups = [group for state in record["states"].values() for group in state.values()]
    assert [(group["processes_left"], group["wrong"]) for group in groups] == [(0, [])] * 6
    assert [group["close_ms"]["count"] for group in groups] == [3] * 6
    assert "| a huge power holds the interpreter | 6 | 0 |" in closing.table(record)


def test_a_close_within_the_grace_and_its_slack_is_none() -> None:
    assert violations_of(closed(took_ms=(599.0,))) == 0


def test_a_close_that_takes_longer_is_a_violation() -> None:
    assert violations_of(closed(took_ms=(1.0, 601.0))) == 1


def test_a_process_that_is_left_is_a_violation() -> None:
    assert violations_of(closed(left=2)) == 2


def test_whatever_else_is_wrong_is_a_violation() -> None:
    assert violations_of(closed(), closed(wrong=("a descriptor is left",))) == 1


def test_a_state_that_does_not_come_about_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(scene: Scene) -> None:
        raise AssertionError("this never came")

    monkeypatch.setattr(closing, "STATES", {"never": State(bring=never)})
    assert violations_of(closing.attempt("never", "socket", 0)) == 1


def test_text_that_does_not_come_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("campaign.streams.PATIENCE_S", 0.5)
    monkeypatch.setattr(closing, "STATES", {"silent": State(bring=says("silent"))})
    assert violations_of(closing.attempt("silent", "socket", 0)) == 1
