import pytest
from spec_rules import compare, rule_ids

SPEC = """
Not a rule: **S9** inside a text.

- **S1** The first.
  More of it, beside **S8**.
- **S2** The second.
- **L1** A later one.
"""
LATER = {"L1": "later"}


def test_a_tree_where_every_rule_has_a_test_is_in_order() -> None:
    report = compare(SPEC, {"test_a.py": '@pytest.mark.spec("S1", "S2")\ndef test_a(): ...'}, LATER)
    assert report.ok
    assert report.not_yet == ("L1 (later)",)


def test_a_rule_without_a_test_is_found() -> None:
    report = compare(SPEC, {"test_a.py": '@pytest.mark.spec("S1")\ndef test_a(): ...'}, LATER)
    assert report.untested == ("S2",)
    assert not report.ok


def test_a_mark_that_names_no_rule_is_found_with_its_place() -> None:
    source = 'pytestmark = [pytest.mark.spec("S1", "S2")]\nx = pytest.param(1, marks=mark.spec("S8"))'
    report = compare(SPEC, {"test_a.py": source}, LATER)
    assert report.unknown == ("S8 (test_a.py:2)",)
    assert not report.ok


def test_a_mark_whose_argument_is_no_literal_is_not_taken_for_a_rule() -> None:
    report = compare(SPEC, {"test_a.py": "@pytest.mark.spec(*RULES)\ndef test_a(): ..."}, LATER)
    assert report.unknown == ("*RULES (test_a.py:1)",)
    assert report.untested == ("S1", "S2")


def test_a_mark_in_a_comment_or_a_text_proves_nothing() -> None:
    source = '# @pytest.mark.spec("S1")\nTEXT = \'@pytest.mark.spec("S2")\''
    assert compare(SPEC, {"test_a.py": source}, LATER).untested == ("S1", "S2")


def test_a_rule_listed_as_not_yet_built_that_has_a_test_is_an_error() -> None:
    report = compare(SPEC, {"test_a.py": '@pytest.mark.spec("S1", "S2", "L1")\ndef test_a(): ...'}, LATER)
    assert report.built_after_all == ("L1 (test_a.py:1)",)
    assert not report.ok


def test_a_rule_listed_as_not_yet_built_that_does_not_exist_is_an_error() -> None:
    source = '@pytest.mark.spec("S1", "S2")\ndef test_a(): ...'
    assert compare(SPEC, {"test_a.py": source}, {**LATER, "L9": "gone"}).unknown == ("L9 (NOT_YET)",)


def test_a_page_without_rules_is_an_error() -> None:
    assert not compare("# Nothing", {}, {}).ok


def test_an_id_given_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="S1"):
        rule_ids("- **S1** One.\n- **S1** Another.\n")
