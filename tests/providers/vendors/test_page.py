"""The page of providers shows the table that the tests play."""

from collections import Counter

import pytest
from providers.vendors.case import Case
from providers.vendors.columns import COLUMNS
from providers.vendors.table import CASES, PAGE, with_table


def test_the_page_shows_the_cases_as_they_are_played() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page


def test_each_case_has_a_name_of_its_own() -> None:
    assert [name for name, times in Counter(case.name for case in CASES).items() if times > 1] == []


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_case_has_exceptions_for_known_providers_only(case: Case) -> None:
    assert set(case.others) <= {column.name for column in COLUMNS}
