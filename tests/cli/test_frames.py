"""Which frames count as missed, and whose fault it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_intelligence.cli.frames import FRAME_NS, GRAPH_FRAMES, Frame, FrameMeter, Spread, spread

MS = 1_000_000


def metered(*frames: Frame) -> FrameMeter:
    meter = FrameMeter()
    for frame in frames:
        meter.record(frame)
    return meter


def frame(work_ms: float, ours_ms: float = 0.0, interval_ms: float | None = None) -> Frame:
    interval_ns = None if interval_ms is None else int(interval_ms * MS)
    return Frame(int(work_ms * MS), int(ours_ms * MS), int(ours_ms * MS), interval_ns)


def test_a_frame_is_missed_if_its_work_takes_longer_than_a_frame_lasts() -> None:
    assert metered(frame(16.6), frame(16.7), frame(40)).missed == 2


@pytest.mark.parametrize(
    ("work_ms", "ours_ms", "by_us"),
    [(20, 1, 0), (20, 10.1, 1), (20, 9.9, 0), (100, 17, 1), (10, 9, 0)],
)
def test_a_missed_frame_is_ours_if_our_calls_took_a_frame_or_most_of_the_work(
    work_ms: float, ours_ms: float, by_us: int
) -> None:
    assert metered(frame(work_ms, ours_ms)).missed_by_us == by_us


def test_a_frame_that_begins_late_after_one_that_was_in_time_is_the_systems() -> None:
    assert metered(frame(1), frame(1, interval_ms=30)).woken_late == 1


def test_a_frame_that_begins_late_because_the_one_before_was_missed_is_not_the_systems() -> None:
    assert metered(frame(30), frame(1, interval_ms=30)).woken_late == 0


def test_the_graph_keeps_the_last_240_frames() -> None:
    meter = metered(*(frame(number / 100) for number in range(300)))
    assert len(meter.recent_ns) == GRAPH_FRAMES == 240
    assert meter.recent_ns[-1] == int(2.99 * MS)


def test_counts_go_on_when_old_frames_are_forgotten() -> None:
    assert metered(*(frame(1) for _ in range(40_000))).frames == 40_000


def test_percentiles_are_by_nearest_rank() -> None:
    assert spread(range(1, 101)) == Spread(50, 99, 100)


def test_percentiles_of_nothing_are_zero() -> None:
    assert spread([]) == Spread(0, 0, 0)


@given(st.lists(st.integers(0, FRAME_NS), min_size=1))
def test_percentiles_are_values_that_were_there_in_order(values: list[int]) -> None:
    found = spread(values)
    assert found.p50_ns <= found.p99_ns <= found.max_ns == max(values)
    assert {found.p50_ns, found.p99_ns} <= set(values)
