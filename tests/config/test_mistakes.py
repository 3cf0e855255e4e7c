"""A mistake in a `host.toml` is told with file, table and key, with what is allowed, and with what was meant."""

from collections.abc import Callable
from typing import Literal

import msgspec
import pytest

from engine_intelligence import SetupError
from engine_intelligence.host.building import build

RefusalOf = Callable[[str], SetupError]

GUARD = '[providers.ann]\nkind = "llama"\n'

MISTAKES = [
    (GUARD + "max_tokens = 1.5", "providers.ann: max_tokens must be a whole number, not a number."),
    (GUARD + "max_tokens = true", "providers.ann: max_tokens must be a whole number, not true or false."),
    (GUARD + "model = 3", "providers.ann: model must be text, not a whole number."),
    (GUARD + "model = []", "providers.ann: model must be text, not a list."),
    (GUARD + "model = {}", "providers.ann: model must be text, not a table."),
    (GUARD + "model = 2026-01-01", "providers.ann: model must be text, not a date."),
    (GUARD + 'seed = "x"', "providers.ann: seed must be a whole number, not text."),
    (GUARD + "slots = 0", "providers.ann: slots must be a whole number from 1 to 64, not 0."),
    (GUARD + "instructions_file = 3", "providers.ann: instructions_file must be the path of a text file."),
    ("[limits]\nmax_poll_events = 1.5\n" + GUARD, "limits: max_poll_events must be a whole number"),
    (
        GUARD + "limits = { max_poll_events = [] }",
        "providers.ann.limits: max_poll_events must be a whole number",
    ),
    ("[deadlines]\nstall_s = []\n" + GUARD, "deadlines: stall_s must be a number, not a list."),
]


@pytest.mark.spec("H4")
@pytest.mark.parametrize(("text", "told"), MISTAKES, ids=[told for _, told in MISTAKES])
def test_a_mistake_is_told_with_file_table_and_key_in_words(
    text: str, told: str, refusal_of: RefusalOf
) -> None:
    error = refusal_of(text)
    assert error.reason == "config-invalid"
    assert error.message.startswith(f"host.toml: {told}")


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    depth: int = 0


class Outer(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A struct with all that the real ones have."""

    program: tuple[str, ...]
    way_of_life: Literal["quiet", "loud"] = "quiet"
    inner: Inner | None = None


NESTED: list[tuple[dict[str, object], str]] = [
    (
        {"program": ["x"], "inner": {"dept": 1}},
        "here.inner: there is no key 'dept' (did you mean 'depth'?). The keys are depth.",
    ),
    ({"program": ["x"], "inner": {"depth": "1"}}, "here.inner: depth must be a whole number, not text."),
    ({"program": ["x"], "inner": 3}, "here: inner must be a table, not a whole number."),
    (
        {"program": ["x"], "way_of_life": "laud"},
        "here: way_of_life must be 'quiet' or 'loud' (did you mean 'loud'?).",
    ),
    ({"program": ["x"], "wayOfLife": "loud"}, "here: there is no key 'wayOfLife'"),
    ({"program": "x"}, "here: program must be a list, not text."),
    ({"program": ["x", 3]}, "here: program[1] must be text, not a whole number."),
    ({}, "here: program is missing."),
]


@pytest.mark.parametrize(("values", "told"), NESTED, ids=[told for _, told in NESTED])
def test_a_mistake_within_a_table_is_told_with_its_place(values: dict[str, object], told: str) -> None:
    with pytest.raises(SetupError) as raised:
        build(Outer, values, "here")
    assert raised.value.message.startswith(told)


def test_what_is_right_becomes_the_struct() -> None:
    values: dict[str, object] = {"program": ["x"], "way_of_life": "loud", "inner": {"depth": 2}}
    assert build(Outer, values, "here") == Outer(("x",), "loud", Inner(2))


def test_a_file_with_a_byte_order_mark_is_read(refusal_of: RefusalOf) -> None:
    assert "no provider" in refusal_of("\N{ZERO WIDTH NO-BREAK SPACE}").message


def test_a_table_that_nests_without_end_is_refused(refusal_of: RefusalOf) -> None:
    assert refusal_of("x = " + "[" * 100_000).reason == "config-invalid"
