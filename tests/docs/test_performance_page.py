"""The page of figures shows what the benchmarks recorded."""

from pathlib import Path

import performance
import pytest


def test_the_page_shows_the_recorded_figures() -> None:
    page = performance.PAGE.read_text(encoding="utf-8")
    assert performance.with_tables(page) == page


def test_every_result_is_that_of_a_benchmark_and_drawn() -> None:
    names = sorted(performance.recorded())
    assert set(names) <= set(performance.benchmarks())
    for name in names:
        assert (performance.ROOT / "docs" / "images" / f"bench-{name}.png").is_file()


def test_the_page_tells_of_a_benchmark_that_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(performance, "RESULTS", tmp_path / "results")
    (tmp_path / "walk.py").touch()
    (tmp_path / "_shared.py").touch()
    page = performance.with_tables("<!-- walk: begin -->\nold\n<!-- walk: end -->\n")
    assert page == (
        "<!-- walk: begin -->\nNot recorded yet: `python3 dev.py bench walk` measures it and writes it here.\n"
        "<!-- walk: end -->\n"
    )


def test_a_result_without_a_place_on_the_page_is_told() -> None:
    with pytest.raises(ValueError, match="no marks for"):
        performance.with_tables("# Performance\n")
