"""Rules P1 and P2: what a provider is handed, and that it may be used in any way."""

import asyncio
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import pytest
from support.scene import Scene, make_scene

from engine_intelligence import (
    ActivitySink,
    ActivitySubmission,
    Completed,
    Failed,
    Ok,
    SessionRef,
    Usage,
    create_intelligence_runtime,
)
from engine_intelligence.testing import ManualProvider

METHODS = ("text", "complete", "fail", "cancelled")
JOIN_S = 30.0


def say(sink: object, method: str) -> object:
    return getattr(sink, method)(*(["x"] if method != "cancelled" else []))


class Curious:
    """A provider that takes whatever it is given."""

    id = "test.provider"

    def __init__(self) -> None:
        self.started: list[tuple[tuple[object, ...], dict[str, object]]] = []
        self.cancelled: list[tuple[tuple[object, ...], dict[str, object]]] = []

    def start(self, *args: object, **kwargs: object) -> Ok[None]:
        self.started.append((args, kwargs))
        return Ok(None)

    def cancel(self, *args: object, **kwargs: object) -> Ok[None]:
        self.cancelled.append((args, kwargs))
        return Ok(None)

    async def close(self) -> None:
        pass


@pytest.mark.spec("P1")
def test_start_is_handed_a_submission_and_a_sink_and_nothing_else() -> None:
    provider = Curious()
    create_intelligence_runtime(cast(Any, provider)).submit("x")
    [(args, kwargs)] = provider.started
    assert [type(args[0]), len(args), kwargs] == [ActivitySubmission, 2, {}]


@pytest.mark.spec("P1")
def test_the_submission_is_what_the_game_asked_for() -> None:
    scene = make_scene()
    session = SessionRef("test.provider", "s-9")
    scene.submit("May I pass? 🛡️", session)
    assert scene.provider.submissions == [ActivitySubmission("a-1", session, "May I pass? 🛡️")]


@pytest.mark.spec("P1")
def test_cancel_is_handed_an_id_and_nothing_else() -> None:
    provider = Curious()
    runtime = create_intelligence_runtime(cast(Any, provider))
    result = runtime.submit("x")
    assert isinstance(result, Ok)
    runtime.cancel(result.value.id)
    assert provider.cancelled == [((result.value.id,), {})]


@pytest.mark.spec("P1")
def test_a_sink_shows_nothing_but_its_four_methods() -> None:
    _, sink = make_scene().begin()
    assert {name for name in dir(sink) if not name.startswith("_")} == set(METHODS)


@pytest.mark.spec("P1")
def test_a_provider_cannot_put_anything_on_its_sink() -> None:
    _, sink = make_scene().begin()
    with pytest.raises(AttributeError):
        cast(Any, sink).world = object()


@pytest.mark.spec("P1")
def test_making_a_service_calls_no_provider() -> None:
    assert make_scene().provider.calls == []


@pytest.mark.spec("P1")
def test_a_service_keeps_the_name_that_its_provider_had() -> None:
    class Renamed(ManualProvider):
        name = "test.provider"

        @property
        def id(self) -> str:
            return self.name

    provider = Renamed()
    scene = make_scene(provider=provider)
    provider.name = "another.provider"
    assert scene.submit().session.provider_id == "test.provider"


@pytest.mark.fault("R48")
@pytest.mark.spec("P2")
@pytest.mark.parametrize("method", METHODS)
def test_a_sink_may_be_called_inside_start(method: str) -> None:
    scene = make_scene()

    def start(submission: ActivitySubmission, sink: object) -> Ok[None]:
        say(sink, method)
        return Ok(None)

    scene.provider.on_start = start
    id = scene.submit().id
    scene.drain()
    assert len(scene.told.events(id)) == 1


@pytest.mark.spec("P2", "S8")
def test_an_activity_that_ends_inside_start_holds_its_place_until_it_is_polled() -> None:
    scene = make_scene(max_concurrent_activities=1)

    def start(submission: ActivitySubmission, sink: object) -> Ok[None]:
        say(sink, "complete")
        return Ok(None)

    scene.provider.on_start = start
    scene.submit()
    assert not scene.runtime.submit("x").ok
    assert [event.type for event in scene.poll()] == ["completed"]
    assert scene.runtime.submit("x").ok


@pytest.mark.spec("P2")
def test_complete_inside_start_says_that_it_stands() -> None:
    scene = make_scene()
    stood: list[object] = []

    def start(submission: ActivitySubmission, sink: object) -> Ok[None]:
        stood.extend([say(sink, "complete"), say(sink, "complete")])
        return Ok(None)

    scene.provider.on_start = start
    scene.submit()
    assert stood == [True, False]


@pytest.mark.fault("R48")
@pytest.mark.spec("P2")
@pytest.mark.parametrize("end", ["complete", "fail", "cancelled"])
@pytest.mark.parametrize("late", METHODS)
def test_what_comes_after_the_terminal_is_counted(end: str, late: str) -> None:
    scene = make_scene()
    _, sink = scene.begin()
    say(sink, end)
    before = scene.runtime.ignored_signals
    say(sink, late)
    assert scene.runtime.ignored_signals == before + 1


@pytest.mark.spec("P2")
def test_what_is_allowed_is_not_counted() -> None:
    scene = make_scene()
    _, sink = scene.begin()
    sink.text("Halt!")
    sink.complete("Halt!")
    assert scene.runtime.ignored_signals == 0


async def closed(scene: Scene) -> None:
    await scene.runtime.close()


@pytest.mark.fault("R48")
@pytest.mark.spec("P2", "B5")
@pytest.mark.parametrize("late", METHODS)
def test_what_comes_after_the_close_is_ignored_and_counted(late: str) -> None:
    scene = make_scene()
    _, sink = scene.begin()
    asyncio.run(closed(scene))
    before = scene.runtime.ignored_signals
    say(sink, late)
    assert scene.runtime.ignored_signals == before + 1
    assert scene.runtime.poll() == []


@pytest.mark.spec("P2", "P5")
def test_complete_after_the_close_does_not_stand() -> None:
    scene = make_scene()
    _, sink = scene.begin()
    asyncio.run(closed(scene))
    assert sink.complete("late") is False


class Spiteful:
    def _raise(self, *_: object) -> Any:
        raise RuntimeError("do not look at me")

    __str__ = __repr__ = __len__ = __bool__ = __iter__ = __eq__ = __hash__ = __getattr__ = _raise


class SpitefulText(str):
    def _raise(self, *_: object) -> Any:
        raise RuntimeError("do not look at me")

    __str__ = __repr__ = __len__ = __bool__ = __eq__ = __hash__ = __format__ = _raise
    encode = isascii = _raise  # type: ignore[assignment]


NONSENSE: dict[str, object] = {
    "None": None,
    "int": 7,
    "bytes": b"Halt!",
    "list": ["Halt!"],
    "object": object(),
    "spiteful": Spiteful(),
    "spiteful text": SpitefulText("Halt!"),
    "class": RuntimeError,
}
nonsense = pytest.mark.parametrize("value", NONSENSE.values(), ids=list(NONSENSE))


@nonsense
@pytest.mark.parametrize("method", ["text", "complete", "fail"])
@pytest.mark.spec("P2", "S6")
def test_nonsense_raises_nothing_and_leaves_room_for_at_most_one_terminal(method: str, value: object) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    getattr(sink, method)(value)
    scene.drain()
    sink.complete("Halt!")
    assert isinstance(scene.terminal(id), Completed | Failed)


@nonsense
@pytest.mark.parametrize("name", ["usage", "finish"])
@pytest.mark.spec("P2", "S6")
def test_nonsense_beside_an_output_raises_nothing_and_is_not_passed_on(name: str, value: object) -> None:
    if value is None:
        value = -1
    scene = make_scene()
    id, sink = scene.begin()
    cast(Any, sink).complete("Halt!", **{name: value})
    scene.drain()
    # Whether the completion stands without it or is a failure is not said.
    terminal = scene.told.terminal(id)
    assert isinstance(terminal, Completed | Failed)
    if isinstance(terminal, Completed):
        assert getattr(terminal, name) is None


@pytest.mark.spec("P2")
def test_usage_and_finish_reach_the_game() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.complete("Halt!", Usage(3, 4), "length")
    terminal = scene.terminal(id)
    assert isinstance(terminal, Completed)
    assert (terminal.usage, terminal.finish) == (Usage(3, 4), "length")


@contextmanager
def impatient() -> Generator[None]:
    """Have threads change places as often as it goes."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def on_threads(*calls: Callable[[], object]) -> list[threading.Thread]:
    """Start all `calls` at once, each on a thread of its own."""
    together = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        together.wait(JOIN_S)
        call()

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    return threads


@pytest.mark.spec("P2", "S6")
def test_text_of_threads_of_their_own_arrives_whole_and_in_order() -> None:
    scene = make_scene(max_output_chars=100_000, max_pending_events_per_activity=4)
    activities = [scene.begin() for _ in range(4)]
    words = [f"{number} " for number in range(300)]

    def speak(sink: Any) -> Callable[[], None]:
        def run() -> None:
            for word in words:
                sink.text(word)
            sink.complete("whole")

        return run

    with impatient():
        threads = on_threads(*(speak(sink) for _, sink in activities))
        while any(thread.is_alive() for thread in threads):
            scene.poll(3)
        for thread in threads:
            thread.join(JOIN_S)
    scene.drain()
    for id, _ in activities:
        assert scene.told.text(id) == "".join(words)
        assert isinstance(scene.told.terminal(id), Completed)


def complete(sink: ActivitySink, stood: list[bool]) -> None:
    stood.append(sink.complete("whole"))


@pytest.mark.fault("R49")
@pytest.mark.spec("P2", "S6", "S13")
def test_of_all_threads_that_end_an_activity_at_once_one_does() -> None:
    with impatient():
        for _ in range(40):
            scene = make_scene()
            id, sink = scene.begin()
            stood: list[bool] = []
            threads = on_threads(
                partial(complete, sink, stood),
                partial(complete, sink, stood),
                partial(sink.fail, "it broke"),
                sink.cancelled,
            )
            while any(thread.is_alive() for thread in threads):
                scene.poll()
            for thread in threads:
                thread.join(JOIN_S)
            terminal = scene.terminal(id)
            assert terminal is not None
            assert stood.count(True) == isinstance(terminal, Completed)
            assert scene.runtime.ignored_signals == 3


@pytest.mark.fault("R48")
@pytest.mark.spec("P2", "S1")
def test_threads_that_speak_while_the_service_closes_raise_nothing() -> None:
    scene = make_scene()
    _, sink = scene.begin()
    raised: list[BaseException] = []
    stop = threading.Event()

    def speak() -> None:
        try:
            while not stop.is_set():
                sink.text("and ")
        except BaseException as error:  # noqa: BLE001  # told to the thread of the test
            raised.append(error)

    threads = on_threads(speak, speak)
    asyncio.run(closed(scene))
    stop.set()
    for thread in threads:
        thread.join(JOIN_S)
    assert raised == []
    assert scene.runtime.poll() == []


@pytest.mark.spec("P2")
@pytest.mark.parametrize("method", METHODS)
def test_a_sink_does_not_raise_for_a_host_that_cannot_be_woken(method: str) -> None:
    def wake() -> None:
        raise RuntimeError("the event loop is closed")

    scene = make_scene()
    id, sink = scene.begin()
    scene.runtime.listen(wake)
    say(sink, method)
    scene.runtime.listen(None)
    scene.drain()
    assert len(scene.told.events(id)) == 1
