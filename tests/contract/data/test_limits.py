import math

import msgspec
import pytest

from engine_intelligence import Deadlines, IntelligenceLimits

LIMITS = {
    "max_input_chars": 16384,
    "max_output_chars": 65536,
    "max_concurrent_activities": 8,
    "max_pending_events_per_activity": 32,
    "max_poll_events": 256,
}
DEADLINES = {
    "first_text_s": 60,
    "stall_s": 30,
    "activity_s": 600,
    "cancel_grace_s": 2,
    "close_grace_s": 5,
    "unresponsive_s": 10,
}
NO_LIMIT: list[object] = [0, -1, True, False, 1.0, 8.5, math.nan, math.inf, "8", b"8", None, [8]]
NO_DEADLINE: list[object] = [
    0,
    0.0,
    -0.0,
    -1,
    -0.5,
    True,
    False,
    math.nan,
    math.inf,
    -math.inf,
    10**400,
    -(10**400),
    "8",
    None,
    [8.0],
    1j,
]


def limits_with(field: str, value: object) -> IntelligenceLimits:
    return IntelligenceLimits(**{field: value})  # type: ignore[arg-type]  # bad values are the subject


def deadlines_with(field: str, value: object) -> Deadlines:
    return Deadlines(**{field: value})  # type: ignore[arg-type]  # bad values are the subject


def test_the_limits_have_the_defaults_of_the_contract() -> None:
    assert msgspec.structs.asdict(IntelligenceLimits()) == LIMITS


def test_the_deadlines_have_the_defaults_of_the_contract() -> None:
    assert msgspec.structs.asdict(Deadlines()) == DEADLINES


@pytest.mark.spec("D2")
@pytest.mark.parametrize("value", NO_LIMIT, ids=repr)
@pytest.mark.parametrize("field", LIMITS)
def test_a_bad_limit_is_refused_by_name_and_value(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field) as refusal:
        limits_with(field, value)
    assert repr(value) in str(refusal.value)


@pytest.mark.spec("D2")
def test_a_single_pending_event_is_refused() -> None:
    with pytest.raises(ValueError, match=r"max_pending_events_per_activity.*\b1\b"):
        IntelligenceLimits(max_pending_events_per_activity=1)


@pytest.mark.spec("D2")
@pytest.mark.parametrize("field", LIMITS)
def test_the_least_limit_is_accepted(field: str) -> None:
    least = 2 if field == "max_pending_events_per_activity" else 1
    assert getattr(limits_with(field, least), field) == least


@pytest.mark.fault("R64")
@pytest.mark.spec("D2")
@pytest.mark.parametrize("value", NO_DEADLINE, ids=lambda value: repr(value)[:8])
@pytest.mark.parametrize("field", DEADLINES)
def test_a_bad_deadline_is_refused_by_name_and_value(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field) as refusal:
        deadlines_with(field, value)
    assert repr(value)[:40] in str(refusal.value)


@pytest.mark.spec("D2")
@pytest.mark.parametrize("value", [1, 0.001, 5e-324, 1e308], ids=repr)
@pytest.mark.parametrize("field", DEADLINES)
def test_a_positive_finite_deadline_is_accepted(field: str, value: float) -> None:
    assert getattr(deadlines_with(field, value), field) == value


@pytest.mark.spec("D2")
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "8"], ids=repr)
def test_a_bad_limit_is_refused_when_it_comes_over_the_wire(value: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"maxPollEvents": value}, IntelligenceLimits)
