"""The command line of the campaign: what it records, what it keeps, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
import reliability
from campaign.workers import NotHere

PAGE = "before\n<!-- first: begin -->\n<!-- first: end -->\nbetween\n<!-- second: begin -->\n<!-- second: end -->\n"


class Made:
    """A part that finds what the test says."""

    def __init__(self, name: str, bad: int = 0) -> None:
        self.NAME = name
        self.bad = bad
        self.scales: list[float] = []

    def run(self, scale: float) -> dict[str, Any]:
        self.scales.append(scale)
        return {"seeds": "none", "bad": self.bad}

    def table(self, record: dict[str, Any]) -> str:
        return f"bad: {record['bad']}"

    def violations(self, record: dict[str, Any]) -> int:
        return int(record["bad"])


class Absent(Made):
    """A part that this system has not what it takes for."""

    def run(self, scale: float) -> dict[str, Any]:
        raise NotHere("this part needs a parrot")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the command finds its page and its record."""
    monkeypatch.setattr(reliability, "RECORD", tmp_path / "record.json")
    monkeypatch.setattr(reliability, "PAGE", tmp_path / "page.md")
    (tmp_path / "page.md").write_text(PAGE)
    return tmp_path


def use(monkeypatch: pytest.MonkeyPatch, *parts: Made) -> None:
    monkeypatch.setattr(reliability, "PARTS", parts)


def recorded(files: Path) -> dict[str, Any]:
    records: dict[str, Any] = json.loads((files / "record.json").read_text())
    return records


def test_every_part_is_recorded_under_its_name(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Made("first"), Made("second"))
    assert reliability.main([]) == 0
    assert list(recorded(files)) == ["first", "second"]


def test_the_page_has_the_table_of_each_part_between_its_marks(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, Made("first"), Made("second"))
    reliability.main([])
    page = (files / "page.md").read_text()
    assert "<!-- first: begin -->\nbad: 0\n" in page.replace("\n\nRun on", "\nRun on")
    assert page.index("between") > page.index("bad: 0")


def test_the_records_of_parts_that_are_not_run_stay(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Made("first"), Made("second"))
    reliability.main([])
    before = recorded(files)["first"]
    use(monkeypatch, Made("first", bad=3), Made("second"))
    reliability.main(["--only", "second"])
    assert recorded(files)["first"] == before


def test_a_violation_makes_the_command_exit_with_1(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Made("first", bad=1), Made("second"))
    assert reliability.main([]) == 1


def test_a_violation_that_is_recorded_counts_when_only_the_page_is_written(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, Made("first", bad=1), Made("second"))
    reliability.main([])
    assert reliability.main(["--table"]) == 1


def test_the_scale_reaches_the_parts_and_the_record(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Made("first")
    use(monkeypatch, first, Made("second"))
    reliability.main(["--scale", "0.25"])
    assert (first.scales, recorded(files)["first"]["scale"]) == ([0.25], 0.25)


def test_a_part_that_cannot_run_here_is_shown_as_not_run(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, Absent("first"), Made("second"))
    assert reliability.main([]) == 0
    assert "this part needs a parrot" in capsys.readouterr().out
    assert "<!-- first: begin -->\nNot run yet.\n" in (files / "page.md").read_text()


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf", "much"])
def test_a_scale_that_is_no_positive_number_is_refused(files: Path, scale: str) -> None:
    with pytest.raises(SystemExit):
        reliability.main(["--scale", scale])


def test_a_page_without_the_marks_of_a_part_is_refused(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Made("third"))
    with pytest.raises(ValueError, match="third: begin"):
        reliability.main([])
