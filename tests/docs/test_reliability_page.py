"""The page of figures shows what was recorded, and nothing that was recorded broke a rule."""

from datetime import date

import pytest
from campaign.page import PAGE, RECORD, read_records, with_tables
from campaign.parts import PARTS, Part

RECORDS = read_records(RECORD)
RECORDED = [part for part in PARTS if part.NAME in RECORDS]
each_recorded = pytest.mark.parametrize("part", RECORDED, ids=[part.NAME for part in RECORDED])


def test_the_tables_of_the_page_are_those_of_the_record() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page, RECORDS, PARTS) == page


def test_nothing_is_recorded_but_parts_of_the_campaign() -> None:
    assert set(RECORDS) <= {part.NAME for part in PARTS}


@each_recorded
def test_a_recorded_part_has_no_violation(part: Part) -> None:
    assert part.violations(RECORDS[part.NAME]) == 0


@each_recorded
def test_a_record_says_with_what_and_when_it_was_made(part: Part) -> None:
    record = RECORDS[part.NAME]
    assert {"package", "commit", "python", "system", "processors", "seconds", "scale", "seeds"} <= set(record)
    date.fromisoformat(record["date"])  # which raises for what is none
