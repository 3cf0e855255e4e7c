"""A budget is refused at once if it makes no sense, by name and value."""

import pytest

from engine_intelligence.errors import SetupError
from engine_intelligence.host.building import build
from engine_intelligence.spending.budget import Budget

NAMES = ["activities_per_minute", "output_tokens_per_day"]


@pytest.mark.spec("D2")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "2", 2**53 + 1])
def test_a_bad_bound_is_refused_by_name_and_value(name: str, value: object) -> None:
    bad: dict[str, object] = {name: value}
    with pytest.raises(ValueError, match=name) as raised:
        Budget(**bad)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert repr(value) in str(raised.value)


@pytest.mark.spec("D2")
def test_a_number_that_python_does_not_print_is_refused_too() -> None:
    with pytest.raises(ValueError, match=r"activities_per_minute .* thousands of digits"):
        Budget(activities_per_minute=10**5000)


@pytest.mark.parametrize("name", NAMES)
def test_each_bound_can_be_left_out(name: str) -> None:
    budget = Budget(**{name: 1})
    assert [getattr(budget, other) for other in NAMES if other != name] == [None]


@pytest.mark.parametrize("name", NAMES)
def test_a_bad_bound_in_a_configuration_is_told_with_its_place(name: str) -> None:
    with pytest.raises(SetupError, match=f"host.toml: budget: .*{name}.*0") as raised:
        build(Budget, {name: 0}, "host.toml: budget")
    assert raised.value.reason == "config-invalid"


def test_a_misspelt_bound_is_told_with_the_right_one() -> None:
    with pytest.raises(SetupError, match="did you mean 'activities_per_minute'"):
        build(Budget, {"activities_per_minutes": 1}, "host.toml: budget")
