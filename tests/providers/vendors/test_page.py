"""The page of providers shows the table that the tests play."""

from collections import Counter
from typing import cast

import pytest
from providers.vendors.case import Case
from providers.vendors.columns import COLUMNS
from providers.vendors.supports import ROWS, place_of, requests, with_sent
from providers.vendors.table import CASES, PAGE, with_table


def test_the_page_shows_the_cases_as_they_are_played() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page


def test_each_case_has_a_name_of_its_own() -> None:
    assert [name for name, times in Counter(case.name for case in CASES).items() if times > 1] == []


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_case_has_exceptions_for_known_providers_only(case: Case) -> None:
    assert set(case.others) <= {column.name for column in COLUMNS}


def test_the_page_shows_what_is_really_sent() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_sent(page) == page


@pytest.mark.spec("P4")
def test_nothing_is_sent_that_neither_the_configuration_nor_the_session_nor_the_game_said() -> None:
    known = {*map(str, ROWS.values()), "system", "user", "assistant", "message", "auto"}
    for name, body in requests().items():
        assert set(texts_in(body)) <= known, name
        assert place_of("And now?", body) is not None


def texts_in(body: object) -> list[str]:
    """The texts among the values of a body."""
    if isinstance(body, str):
        return [body]
    inside: list[object] = []
    if isinstance(body, dict):
        inside = list(cast("dict[str, object]", body).values())
    elif isinstance(body, list):
        inside = cast("list[object]", body)
    return [text for each in inside for text in texts_in(each)]
