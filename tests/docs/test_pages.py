"""Numbers, tables and links of the pages are those of the code and of the tree."""

import re
from collections.abc import Callable
from pathlib import Path

import api_table
import pytest
import spec_rules

import engine_intelligence
import engine_intelligence.testing
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.models.catalogue import CATALOGUE
from engine_intelligence.protocol.framing import check_frame_bound
from engine_intelligence.providers.llama import Options
from engine_intelligence.testing import port_checks, provider_checks, service_checks

ROOT = Path(__file__).parents[2]

Table = Callable[[str, str], list[list[str]]]


def test_the_table_of_limits_has_the_defaults_of_the_code(table: Table) -> None:
    shown = {cells[0].strip("`"): int(cells[1]) for cells in table("docs/concepts.md", "limit")}
    limits = IntelligenceLimits()
    assert shown == {name: getattr(limits, name) for name in limits.__struct_fields__}


def test_the_table_of_deadlines_has_the_defaults_of_the_code(table: Table) -> None:
    shown = {cells[0].strip("`"): float(cells[1]) for cells in table("docs/concepts.md", "deadline")}
    deadlines = Deadlines()
    assert shown == {name: getattr(deadlines, name) for name in deadlines.__struct_fields__}


def test_the_upper_bound_of_the_texts_is_that_of_a_frame() -> None:
    (most,) = re.findall(
        r"an\s+upper\s+bound\s+of\s+their\s+own,\s+(\d+)",
        (ROOT / "docs/concepts.md").read_text(encoding="utf-8"),
    )
    check_frame_bound(IntelligenceLimits(max_output_chars=int(most)))
    with pytest.raises(ValueError, match="max_output_chars"):
        check_frame_bound(IntelligenceLimits(max_output_chars=int(most) + 1))


def test_the_table_of_options_of_the_local_model_is_that_of_the_code(table: Table) -> None:
    shown = {cells[0].strip("`"): cells[1].strip("`") for cells in table("docs/getting-started.md", "option")}
    options = Options()
    wanted = {name: repr(getattr(options, name)) for name in options.__struct_fields__}
    assert shown == {name: text.replace("'", '"') for name, text in wanted.items()}


def test_the_size_of_the_model_in_the_readme_is_that_of_the_catalogue() -> None:
    megabytes = round(CATALOGUE["smollm2-135m"].wheel_bytes / 1_000_000)
    assert f"a language model of {megabytes} MB" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_public_name_is_in_one_group_of_the_reference() -> None:
    grouped = [name for names in api_table.GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(engine_intelligence.__all__)
    of_the_kit = [name for names in api_table.TESTING_GROUPS.values() for name in names]
    assert sorted(of_the_kit) == sorted(engine_intelligence.testing.__all__)


def test_the_reference_is_what_the_docstrings_say() -> None:
    page = api_table.PAGE.read_text(encoding="utf-8")
    assert page == api_table.with_table(page), "run: python tools/api_table.py --write"


def test_the_tables_of_checks_are_what_the_kit_checks() -> None:
    page = api_table.TESTING_PAGE.read_text(encoding="utf-8")
    assert page == api_table.with_checks(page), "run: python tools/api_table.py --write"


def test_the_rules_of_the_checks_are_rules_of_the_contract() -> None:
    rules = set(spec_rules.rule_ids((ROOT / "docs/spec.md").read_text(encoding="utf-8")))
    kinds = (provider_checks.CHECKS, port_checks.CHECKS, service_checks.CHECKS)
    assert {rule for checks in kinds for check in checks for rule in check.rules} <= rules


def test_rules_that_findings_name_are_rules_of_the_contract() -> None:
    rules = set(spec_rules.rule_ids((ROOT / "docs/spec.md").read_text(encoding="utf-8")))
    folder = Path(engine_intelligence.testing.__file__).parent
    named = {
        rule
        for path in folder.glob("*.py")
        for rule in re.findall(r'"([A-Z][1-9][0-9]?)"', path.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert named <= rules


def test_links_of_the_readme_lead_to_files() -> None:
    targets = re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    missing = [target for target in targets if not (ROOT / target).is_file()]
    assert missing == []


def test_every_page_and_every_decision_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if page not in navigation} == set()
    index = (ROOT / "docs/adr/index.md").read_text(encoding="utf-8")
    decisions = {path.name for path in (ROOT / "docs/adr").glob("0*.md")}
    assert {name for name in decisions if name not in index} == set()


def test_rules_that_pages_name_exist() -> None:
    rules = set(
        re.findall(
            r"^- \*\*([A-Z]\d+)\*\*", (ROOT / "docs/spec.md").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    named = {
        rule
        for page in (ROOT / "docs").rglob("*.md")
        for group in re.findall(r"\(rules? ([^)]*)\)", page.read_text(encoding="utf-8"))
        for rule in re.findall(r"[A-Z]\d+", group)
    }
    assert named
    assert named <= rules
