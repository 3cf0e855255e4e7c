"""Rules S7 and S9: what one poll gives, and to whom it is fair."""

import asyncio
from collections import Counter
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scene import Scene, make_scene
from support.values import Something

from engine_intelligence import Completed, TextDelta, create_intelligence_port_client
from engine_intelligence.ports.memory import memory_port_pair

NO_NUMBER: list[object] = [0, -1, -(10**30), True, False, 1.0, float("nan"), "1", b"1", [1], Something(), {}]


def crowd(size: int, deltas: int, max_poll_events: int = 256) -> Scene:
    """Activities that each have that many deltas pending, and run on."""
    scene = make_scene(max_concurrent_activities=size, max_poll_events=max_poll_events)
    sinks = [scene.begin()[1] for _ in range(size)]
    for number in range(deltas):
        for sink in sinks:
            sink.text(f"{number} ")
    return scene


@pytest.mark.spec("S7")
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_a_poll_returns_at_most_what_was_asked_for(n: int) -> None:
    assert len(crowd(4, 3).poll(n)) <= n


@pytest.mark.spec("S7")
@pytest.mark.parametrize("n", [None, 5, 256, 10**30])
def test_a_poll_returns_at_most_max_poll_events(n: int | None) -> None:
    assert len(crowd(8, 3, max_poll_events=3).poll(n)) == 3


@pytest.mark.spec("S7")
def test_a_poll_of_one_makes_progress() -> None:
    assert len(crowd(4, 3).poll(1)) == 1


@pytest.mark.spec("S7")
@pytest.mark.parametrize("n", NO_NUMBER, ids=repr)
def test_a_poll_for_no_positive_int_returns_nothing(n: object) -> None:
    assert crowd(2, 2).runtime.poll(cast(Any, n)) == []


@pytest.mark.spec("S7")
@pytest.mark.parametrize("n", NO_NUMBER, ids=repr)
def test_a_poll_for_no_positive_int_loses_nothing(n: object) -> None:
    scene = crowd(1, 2)
    scene.runtime.poll(cast(Any, n))
    scene.drain()
    assert scene.told.text("a-1") == "0 1 "


@pytest.mark.spec("S7")
@pytest.mark.parametrize("n", [None, 5, *NO_NUMBER], ids=repr)
def test_a_poll_of_a_client_returns_nothing_where_nothing_came(n: object) -> None:
    client = create_intelligence_port_client("test.provider", memory_port_pair()[0])
    assert client.poll(cast(Any, n)) == []


@pytest.mark.spec("S7")
def test_a_poll_after_the_close_returns_nothing() -> None:
    scene = crowd(1, 1)

    async def close() -> None:
        await scene.runtime.close()

    asyncio.run(close())
    assert scene.runtime.poll() == []


@pytest.mark.spec("S7")
def test_what_a_poll_returned_is_the_games_to_change() -> None:
    scene = crowd(1, 1)
    scene.runtime.poll().clear()
    assert scene.runtime.poll() == []


@pytest.mark.spec("S9")
@pytest.mark.parametrize("n", [1, 2, 3])
def test_as_many_activities_are_served_as_a_poll_may_return(n: int) -> None:
    assert len({event.activity_id for event in crowd(4, 5).poll(n)}) == n


@pytest.mark.spec("S9")
@pytest.mark.parametrize("n", [1, 2, 4])
def test_an_end_does_not_jump_the_queue(n: int) -> None:
    scene = crowd(4, 5)
    for sink in scene.provider.sinks.values():
        sink.complete("whole")
    events = [event for _ in range(4 // n) for event in scene.poll(n)]
    assert [event.type for event in events] == ["text-delta"] * 4


@pytest.mark.spec("S9")
def test_polls_of_one_go_round() -> None:
    scene = crowd(4, 1)
    assert sorted(scene.poll(1)[0].activity_id for _ in range(4)) == ["a-1", "a-2", "a-3", "a-4"]


@pytest.mark.spec("S9")
@pytest.mark.parametrize("n", [1, 2, 3])
def test_nobody_starves_beside_one_that_never_stops(n: int) -> None:
    scene = make_scene()
    activities = [scene.begin() for _ in range(4)]
    activities[0][1].text("and ")
    for _, sink in activities[1:]:
        sink.text("Halt!")
        sink.complete("Halt!")
    for _ in range(8):
        scene.poll(n)
        activities[0][1].text("and ")
    assert [type(scene.told.terminal(id)) for id, _ in activities[1:]] == [Completed] * 3


@pytest.mark.spec("S9")
@pytest.mark.parametrize("talker", [0, 1, 2, 3])
def test_one_that_never_stops_is_itself_served(talker: int) -> None:
    scene = make_scene()
    activities = [scene.begin() for _ in range(4)]
    for _ in range(20):
        for _, sink in activities:
            sink.text("and ")
        scene.poll(1)
    assert len(scene.told.text(activities[talker][0])) >= 4 * len("and ")


@pytest.mark.spec("S9")
def test_turns_are_shared_evenly() -> None:
    scene = make_scene()
    activities = [scene.begin() for _ in range(4)]
    served: Counter[str] = Counter()
    for _ in range(40):
        for _, sink in activities:
            sink.text("and ")
        served.update(event.activity_id for event in scene.poll(1))
    assert sorted(served.values()) == [10, 10, 10, 10]


@pytest.mark.spec("S9")
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_backlog_comes_as_one_delta_for_each_activity(n: int) -> None:
    scene = crowd(3, 10)
    events = [event for _ in range(3) for event in scene.poll(n)][:3]
    assert {
        event.activity_id: event.text for event in events if isinstance(event, TextDelta)
    } == dict.fromkeys(("a-1", "a-2", "a-3"), "0 1 2 3 4 5 6 7 8 9 ")


@pytest.mark.spec("S9")
def test_a_backlog_is_gone_after_one_poll_for_each_activity() -> None:
    scene = crowd(3, 10)
    scene.poll(3)
    assert scene.runtime.pending_events == 0


@pytest.mark.spec("S9", "S6")
def test_a_terminal_waits_for_the_text_before_it() -> None:
    scene = crowd(1, 5)
    scene.provider.sinks["a-1"].complete("whole")
    assert [type(event) for event in scene.poll(1) + scene.poll(1)] == [TextDelta, Completed]


@pytest.mark.spec("S9")
def test_terminals_go_round_like_text() -> None:
    scene = make_scene()
    for _, sink in [scene.begin() for _ in range(4)]:
        sink.cancelled()
    ids = [event.activity_id for _ in range(4) for event in scene.poll(1) if not isinstance(event, TextDelta)]
    assert sorted(ids) == ["a-1", "a-2", "a-3", "a-4"]


@pytest.mark.spec("S9", "S6")
@given(st.integers(1, 5), st.lists(st.integers(0, 4), max_size=40))
def test_all_is_delivered_in_a_round_for_each_event_at_most(n: int, says: list[int]) -> None:
    scene = make_scene()
    activities = [scene.begin() for _ in range(5)]
    for which in says:
        activities[which][1].text("and ")
    for _, sink in activities:
        sink.cancelled()
    # One delta and one terminal for each of the five.
    for _ in range(10):
        scene.poll(n)
    for number, (id, _) in enumerate(activities):
        assert scene.told.terminal(id) is not None
        assert scene.told.text(id) == "and " * says.count(number)
