"""The page of figures shows what the benchmarks recorded."""

import performance
import pytest


def test_the_page_shows_the_recorded_figures() -> None:
    page = performance.PAGE.read_text(encoding="utf-8")
    assert performance.with_tables(page) == page


def test_every_benchmark_is_recorded_and_drawn() -> None:
    folder = performance.ROOT / "benchmarks"
    names = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
    assert names == sorted(performance.recorded())
    for name in names:
        assert (performance.ROOT / "docs" / "images" / f"bench-{name}.png").is_file()


def test_a_result_without_a_place_on_the_page_is_told() -> None:
    with pytest.raises(ValueError, match="no marks for"):
        performance.with_tables("# Performance\n")
