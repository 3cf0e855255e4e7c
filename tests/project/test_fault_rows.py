from fault_rows import EXPECTED, compare

PAGE = """
A text about R9, and a table:

| row | what goes wrong | what happens |
| --- | --- | --- |
| R1 | the first | the game is told |
| R2 | another, with `a | b` | nothing |
| C1 | one that needs a vendor | Not applicable: no provider of this version speaks to one. |
"""
ROWS = ("R1", "R2", "C1")
BOTH = {"test_a.py": '@pytest.mark.fault("R1", "R2")\ndef test_a(): ...'}


def test_a_page_of_which_every_row_is_shown_or_explained_is_in_order() -> None:
    report = compare(PAGE, BOTH, ROWS)
    assert report.ok
    assert report.covered == ("R1", "R2")
    assert report.not_applicable == ("C1",)


def test_a_row_without_a_test_is_found() -> None:
    report = compare(PAGE, {"test_a.py": '@pytest.mark.fault("R1")\ndef test_a(): ...'}, ROWS)
    assert report.untested == ("R2",)
    assert not report.ok


def test_a_mark_of_another_kind_shows_no_row() -> None:
    source = '@pytest.mark.fault("R1")\n@pytest.mark.spec("R2")\ndef test_a(): ...'
    assert compare(PAGE, {"test_a.py": source}, ROWS).untested == ("R2",)


def test_a_mark_that_names_no_row_is_found_with_its_place() -> None:
    source = '@pytest.mark.fault("R1", "R2")\ndef test_a(): ...\n@pytest.mark.fault("R9")\ndef test_b(): ...'
    report = compare(PAGE, {"test_a.py": source}, ROWS)
    assert report.unknown == ("R9 (test_a.py:3)",)
    assert not report.ok


def test_a_row_that_the_page_lacks_is_found() -> None:
    report = compare(PAGE, BOTH, (*ROWS, "R3"))
    assert report.missing == ("R3",)
    assert not report.ok


def test_a_row_that_is_none_is_found() -> None:
    report = compare(PAGE, BOTH, ("R1", "C1"))
    assert report.undreamt == ("R2",)
    assert not report.ok


def test_a_row_that_stands_twice_is_found() -> None:
    report = compare(PAGE + "| R1 | once more | the game is told |\n", BOTH, ROWS)
    assert report.twice == ("R1",)
    assert not report.ok


def test_a_row_that_does_not_apply_needs_a_reason() -> None:
    page = PAGE.replace(" no provider of this version speaks to one.", "")
    report = compare(page, BOTH, ROWS)
    assert report.unexplained == ("C1",)
    assert not report.ok


def test_a_row_that_does_not_apply_and_has_a_test_is_found() -> None:
    source = '@pytest.mark.fault("R1", "R2", "C1")\ndef test_a(): ...'
    report = compare(PAGE, {"test_a.py": source}, ROWS)
    assert report.tested_after_all == ("C1 (test_a.py:1)",)
    assert not report.ok


def test_all_rows_are_asked_for() -> None:
    assert (len(EXPECTED), EXPECTED[0], EXPECTED[79], EXPECTED[-1]) == (112, "R1", "R80", "C32")
