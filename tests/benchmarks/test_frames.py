"""The benchmark `frames`, at a tiny scale: nothing of its figures, which are those of whatever machine this is."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the benchmark is of Linux alone"),
    pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="needs the extra local"),
]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What a run of two short turns found. A contender that lacks a token raises."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        import frames

        return frames.measure(seconds=0.1, turns=2, streams=(2,), local=False)


def test_every_contender_saw_every_token(found: dict[str, Any]) -> None:
    tokens = {name: one["tokens"] for name, one in found["crowds"]["2"].items()}
    assert len(tokens) == 5
    assert set(tokens.values()) == {2 * 2 * 5}  # turns, streams, and the tokens of a tenth of a second


def test_a_game_tells_the_age_of_each_token_and_a_host_its_processor_time(found: dict[str, Any]) -> None:
    crowd = found["crowds"]["2"]
    aged = {name for name, one in crowd.items() if one["age_mean_ms"] is not None}
    timed = {name for name, one in crowd.items() if one["cpu_us_a_token"] is not None}
    assert aged == {"ours", "SDK in a thread", "SDK in the frames' loop"}
    assert timed == {"ours", "detached", "SDK alone in a process"}


def test_what_was_found_can_be_shown(found: dict[str, Any]) -> None:
    import performance

    page = performance.tables(found)
    for name, one in found["crowds"]["2"].items():
        assert f"| {name} |" in page
        assert f" of {one['frames']:,} |" in page
    assert "Left out: it was left out." in page
