"""Each provider that speaks HTTP, in each case that has broken for somebody: it does what the table says, and nothing else.

The table is that of `docs/providers.md`, which is made of the same cases.
"""

import asyncio
from collections.abc import Iterator
from functools import cache

import pytest
from _pytest.mark import ParameterSet
from providers.vendors.case import Case, told
from providers.vendors.cases_requests import FOR_NOBODY
from providers.vendors.columns import COLUMNS, Column
from providers.vendors.stage import (
    INPUT,
    KEY,
    NEXT_INPUT,
    NEXT_OUTPUT,
    SAID_BEFORE,
    Seen,
    conversation_of,
    play,
)
from providers.vendors.table import CASES
from support.vendor_speech import TOKENS_IN, TOKENS_OUT

from engine_intelligence import Cancelled, Completed, Failed, Usage
from engine_intelligence.conversation import Turn


def cells(outcome: str = "") -> Iterator[ParameterSet]:
    """The cells that begin with `outcome`."""
    for case in CASES:
        for column in COLUMNS:
            if case.applies(column) and case.cell(column).startswith(outcome):
                marks = () if case.shows is None else (case.shows,)
                yield pytest.param(case, column, id=f"{column.name}: {case.name}", marks=marks)


each_cell = pytest.mark.parametrize(("case", "column"), list(cells()))


@cache
def play_once(case: Case, column: Column) -> Seen:
    """One play of a cell serves all tests of it."""
    return asyncio.run(play(column, case.behaviours, case.game, listening=case.listening))


@each_cell
@pytest.mark.spec("E1", "S6")
def test_the_outcome_is_that_of_the_table(case: Case, column: Column) -> None:
    assert told(play_once(case, column)) == case.cell(column)


@each_cell
def test_the_text_that_is_heard_is_the_text_that_was_said(case: Case, column: Column) -> None:
    seen = play_once(case, column)
    said = seen.said if case.heard is None else case.heard
    # Of a cancelled one the last pieces may have come too late.
    assert seen.text == (said[: len(seen.text)] if isinstance(seen.terminal, Cancelled) else said)


@pytest.mark.parametrize(("case", "column"), list(cells("completed")))
def test_a_completed_activity_tells_its_output_and_what_it_took(case: Case, column: Column) -> None:
    seen = play_once(case, column)
    assert isinstance(seen.terminal, Completed)
    assert (seen.terminal.output, seen.terminal.usage) == (seen.said, Usage(TOKENS_IN, TOKENS_OUT))


@each_cell
@pytest.mark.spec("P5")
@pytest.mark.fault("C12", "C13")
def test_the_session_goes_on_with_its_completed_turns_and_no_half_one(case: Case, column: Column) -> None:
    seen = play_once(case, column)
    turns = [SAID_BEFORE, *case.earlier]
    if isinstance(seen.terminal, Completed):
        turns.append(Turn(INPUT, seen.said))
    assert [Turn(turn.input, turn.output) for turn in seen.turns] == turns
    assert seen.next_messages == [*conversation_of(*turns), ("user", NEXT_INPUT)]
    assert isinstance(seen.next_terminal, Completed)
    assert seen.next_terminal.output == NEXT_OUTPUT


@each_cell
@pytest.mark.spec("E2")
@pytest.mark.fault("C32")
def test_the_key_goes_to_the_server_and_is_in_no_event_log_line_or_repr(case: Case, column: Column) -> None:
    seen = play_once(case, column)
    assert [text for text in seen.public if KEY in text] == []
    assert (seen.keys, seen.elsewhere) == ({KEY}, 0)


@pytest.mark.fault("C6")
@pytest.mark.parametrize("column", COLUMNS, ids=[column.name for column in COLUMNS])
def test_a_server_that_goes_on_for_nobody_is_left_to_itself(column: Column) -> None:
    case = next(case for case in CASES if case.name == "6")
    assert play_once(case, column).generated_for_nobody == FOR_NOBODY


@each_cell
@pytest.mark.fault("C6")
def test_what_is_abandoned_is_counted_and_nothing_else(case: Case, column: Column) -> None:
    seen = play_once(case, column)
    if isinstance(seen.terminal, Failed) and seen.terminal.error.code == "intelligence-output-overflow":
        assert seen.abandoned <= 1  # the server may have said all by the time that it is cancelled
        return
    gave_up = isinstance(seen.terminal, Failed) and seen.terminal.error.detail.reason in (
        "timeout",
        "stalled",
    )
    assert seen.abandoned == (1 if isinstance(seen.terminal, Cancelled) or gave_up else 0)
