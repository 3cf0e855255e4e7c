"""Rule S14: a provider that raises, refuses or returns nonsense never breaks the service."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from support.scene import Scene, make_scene
from support.values import Something

from engine_intelligence import (
    ActivitySink,
    ActivitySubmission,
    Completed,
    Err,
    FailureDetail,
    IntelligenceError,
    ProviderError,
    SessionRef,
)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class TextIsNoText(Exception):
    def __str__(self) -> str:
        return cast(str, 7)


class OwnBase(BaseException):
    pass


RAISED: list[Callable[[], BaseException]] = [
    lambda: RuntimeError("too busy"),
    lambda: ProviderError("too busy", reason="unavailable"),
    lambda: IntelligenceError("intelligence-closed"),
    Unprintable,
    TextIsNoText,
    RecursionError,
    MemoryError,
    KeyboardInterrupt,
    lambda: SystemExit(3),
    GeneratorExit,
    StopIteration,
    asyncio.CancelledError,
    OwnBase,
    lambda: ExceptionGroup("several", [RuntimeError("too busy")]),
]
REFUSED = Err(
    IntelligenceError(
        "intelligence-provider-failed",
        FailureDetail(provider_id="test.provider", cause="too busy", reason="rate-limited"),
    )
)
NONSENSE: list[object] = [
    None,
    7,
    "no",
    Something(),
    (),
    Err(None),
    Err("too busy"),
    Err(RuntimeError("too busy")),
]


def name(value: object) -> str:
    if callable(value):
        return type(value()).__name__
    return repr(value)[:30]


raised = pytest.mark.parametrize("make", RAISED, ids=name)
returned = pytest.mark.parametrize("value", [REFUSED, *NONSENSE], ids=name)


@contextmanager
def start_raises(scene: Scene, make: Callable[[], BaseException]) -> Generator[None]:
    def start(submission: ActivitySubmission, sink: ActivitySink) -> Any:
        raise make()

    before, scene.provider.on_start = scene.provider.on_start, start
    yield
    scene.provider.on_start = before


@contextmanager
def start_returns(scene: Scene, value: object) -> Generator[None]:
    before = scene.provider.on_start
    scene.provider.on_start = lambda _submission, _sink: cast(Any, value)
    yield
    scene.provider.on_start = before


def assert_refused(scene: Scene) -> None:
    result = scene.runtime.submit("x")
    assert isinstance(result, Err)
    assert result.error.code == "intelligence-provider-failed"


def assert_still_of_use(scene: Scene) -> None:
    id, sink = scene.begin()
    sink.complete("Halt!")
    assert isinstance(scene.terminal(id), Completed)


@pytest.mark.fault("R41", "R42")
@raised
@pytest.mark.spec("S14")
def test_a_start_that_raises_refuses_the_submit(make: Callable[[], BaseException]) -> None:
    scene = make_scene()
    with start_raises(scene, make):
        assert_refused(scene)


@raised
@pytest.mark.spec("S14")
def test_a_start_that_raises_holds_no_place(make: Callable[[], BaseException]) -> None:
    scene = make_scene(max_concurrent_activities=1)
    with start_raises(scene, make):
        scene.runtime.submit("x")
    assert_still_of_use(scene)


@raised
@pytest.mark.spec("S14", "S6")
def test_a_start_that_raises_leaves_no_event(make: Callable[[], BaseException]) -> None:
    scene = make_scene()
    with start_raises(scene, make):
        scene.runtime.submit("x")
    scene.clock.advance(10_000)
    assert scene.poll() == []


@returned
@pytest.mark.spec("S14")
def test_a_start_that_returns_anything_but_ok_refuses_the_submit(value: object) -> None:
    scene = make_scene()
    with start_returns(scene, value):
        assert_refused(scene)


@returned
@pytest.mark.spec("S14")
def test_a_start_that_returns_anything_but_ok_holds_no_place(value: object) -> None:
    scene = make_scene(max_concurrent_activities=1)
    with start_returns(scene, value):
        scene.runtime.submit("x")
    assert_still_of_use(scene)


@pytest.mark.spec("S14", "E1")
def test_a_refusal_keeps_the_reason_that_the_provider_gave() -> None:
    scene = make_scene()
    with start_raises(scene, lambda: ProviderError("too busy", reason="rate-limited", retry_after_s=30)):
        result = scene.runtime.submit("x")
    assert isinstance(result, Err)
    detail = result.error.detail
    assert (detail.provider_id, detail.cause, detail.reason, detail.retry_after_seconds) == (
        "test.provider",
        "too busy",
        "rate-limited",
        30,
    )


@pytest.mark.spec("S14", "S6")
@pytest.mark.parametrize("end", ["text", "complete", "fail", "cancelled"])
def test_what_was_said_in_a_start_that_then_raises_is_not_delivered(end: str) -> None:
    scene = make_scene()

    def start(submission: ActivitySubmission, sink: ActivitySink) -> Any:
        getattr(sink, end)(*(["x"] if end != "cancelled" else []))
        raise RuntimeError("too busy")

    scene.provider.on_start = start
    assert not scene.runtime.submit("x").ok
    assert scene.poll() == []
    assert scene.runtime.held_activities == 0


@pytest.mark.spec("S14", "P2")
def test_a_sink_of_a_start_that_raised_is_ignored_later() -> None:
    scene = make_scene()
    with start_raises(scene, RuntimeError):
        scene.runtime.submit("x")
    sink = scene.provider.sinks["a-1"]
    sink.text("late")
    sink.complete("late")
    assert scene.poll() == []
    assert scene.runtime.held_activities == 0


@raised
@pytest.mark.spec("S14", "P6")
def test_a_start_that_raises_when_its_turn_comes_is_one_failure(make: Callable[[], BaseException]) -> None:
    scene = make_scene()
    session = SessionRef("test.provider", "s-9")
    _, sink = scene.begin(session=session)
    waiting = scene.submit(session=session)
    with start_raises(scene, make):
        sink.complete("Halt!")
        scene.drain()
    assert scene.failure(waiting.id).error.code == "intelligence-provider-failed"


@returned
@pytest.mark.spec("S14", "P6")
def test_a_start_that_returns_nonsense_when_its_turn_comes_is_one_failure(value: object) -> None:
    scene = make_scene()
    session = SessionRef("test.provider", "s-9")
    _, sink = scene.begin(session=session)
    waiting = scene.submit(session=session)
    with start_returns(scene, value):
        sink.complete("Halt!")
        scene.drain()
    assert scene.failure(waiting.id).error.code == "intelligence-provider-failed"


@pytest.mark.spec("S14", "P6")
def test_a_start_that_raises_does_not_hold_up_its_session() -> None:
    scene = make_scene()
    session = SessionRef("test.provider", "s-9")
    _, sink = scene.begin(session=session)
    scene.submit(session=session)
    last = scene.submit(session=session)
    with start_raises(scene, RuntimeError):
        sink.complete("Halt!")
        scene.runtime.turn()
    # Whether the last was tried at once as well or comes now: it has its end.
    scene.drain()
    if last.id in scene.provider.sinks:
        scene.provider.sinks[last.id].complete("Halt!")
    assert scene.terminal(last.id) is not None


@raised
@pytest.mark.spec("S14")
def test_a_cancel_that_raises_does_not_make_the_service_raise(make: Callable[[], BaseException]) -> None:
    scene = make_scene()
    id, _ = scene.begin()

    def cancel(activity_id: str) -> Any:
        raise make()

    scene.provider.on_cancel = cancel
    assert scene.runtime.cancel(id).ok in (True, False)
    assert_still_of_use(scene)


@raised
@pytest.mark.spec("S14", "S6")
def test_a_cancel_that_raises_gives_one_terminal(make: Callable[[], BaseException]) -> None:
    scene = make_scene()
    id, sink = scene.begin()

    def cancel(activity_id: str) -> Any:
        raise make()

    scene.provider.on_cancel = cancel
    scene.runtime.cancel(id)
    scene.drain()
    scene.clock.advance(10_000)
    scene.drain()
    sink.complete("late")
    scene.drain()
    assert scene.told.terminal(id) is not None
    assert not isinstance(scene.told.terminal(id), Completed)


@pytest.mark.spec("S14")
@pytest.mark.parametrize("how", ["raises", "returns"])
def test_a_cancel_that_goes_wrong_becomes_one_structured_failure(how: str) -> None:
    scene = make_scene()
    id, _ = scene.begin()

    def cancel(activity_id: str) -> Any:
        if how == "raises":
            raise RuntimeError("too busy")
        return REFUSED

    scene.provider.on_cancel = cancel
    scene.runtime.cancel(id)
    scene.clock.advance(10_000)
    error = scene.failure(id).error
    assert (error.code, error.detail.provider_id) == ("intelligence-provider-failed", "test.provider")


@returned
@pytest.mark.spec("S14", "S6")
def test_a_cancel_that_returns_anything_but_ok_gives_one_terminal(value: object) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    scene.provider.on_cancel = lambda _id: cast(Any, value)
    scene.runtime.cancel(id)
    scene.clock.advance(10_000)
    scene.drain()
    sink.complete("late")
    scene.drain()
    assert scene.told.terminal(id) is not None
    assert not isinstance(scene.told.terminal(id), Completed)


@raised
@pytest.mark.spec("S14", "S10")
def test_a_cancel_that_raises_on_an_overflow_changes_nothing(make: Callable[[], BaseException]) -> None:
    scene = make_scene(max_output_chars=3)
    id, sink = scene.begin()

    def cancel(activity_id: str) -> Any:
        raise make()

    scene.provider.on_cancel = cancel
    sink.text("Halt!")
    scene.clock.advance(10)
    assert scene.failure(id).error.code == "intelligence-output-overflow"


@pytest.mark.fault("R43")
@raised
@pytest.mark.spec("S14", "P2")
def test_whatever_a_sink_is_told_to_fail_with_is_one_failure(make: Callable[[], BaseException]) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail(make())
    error = scene.failure(id).error
    assert (error.code, error.detail.provider_id) == ("intelligence-provider-failed", "test.provider")


@pytest.mark.fault("R66")
@pytest.mark.spec("S14")
def test_a_provider_that_submits_to_its_own_service_inside_start_breaks_nothing() -> None:
    scene = make_scene()

    def start(submission: ActivitySubmission, sink: ActivitySink) -> Any:
        if submission.id == "a-1":
            scene.runtime.submit("another")
        return before(submission, sink)

    before, scene.provider.on_start = scene.provider.on_start, start
    id, sink = scene.begin()
    sink.complete("Halt!")
    assert isinstance(scene.terminal(id), Completed)
    assert scene.provider.starts == ["a-1", "a-2"]


@pytest.mark.fault("R66")
@pytest.mark.spec("S14", "S13")
def test_a_provider_that_cancels_inside_start_breaks_nothing() -> None:
    scene = make_scene()

    def start(submission: ActivitySubmission, sink: ActivitySink) -> Any:
        scene.runtime.cancel(submission.id)
        scene.runtime.poll()
        return before(submission, sink)

    before, scene.provider.on_start = scene.provider.on_start, start
    id, sink = scene.begin()
    sink.cancelled()
    assert scene.terminal(id) is not None
