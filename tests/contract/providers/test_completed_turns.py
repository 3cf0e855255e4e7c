"""Rule P5: what is added to a session, and what is not."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from support.conversations import MemoryConversations
from support.loop import settle
from support.scene import make_scene

from engine_intelligence import (
    Cancelled,
    Completed,
    Failed,
    IntelligenceLimits,
    IntelligenceRuntime,
    Ok,
    Prompt,
    ProviderError,
    SessionRef,
    StreamProvider,
    create_intelligence_runtime,
)
from engine_intelligence.conversation import Turn
from engine_intelligence.testing import ManualClock, Transcript

SESSION = SessionRef("test.provider", "s-9")
FIRST = Turn("Who is there?", "I.")


@dataclass
class Stage:
    """A runtime over a generator that does what its input says, with one turn in its session already."""

    runtime: IntelligenceRuntime
    clock: ManualClock
    store: MemoryConversations
    prompts: list[Prompt]
    release: asyncio.Event
    told: Transcript = field(default_factory=Transcript)

    def submit(self, input: str, session: SessionRef = SESSION) -> str:
        result = self.runtime.submit(input, session)
        assert isinstance(result, Ok), result
        return result.value.id

    async def drain(self) -> Transcript:
        await settle()
        while self.told.take(self.runtime.poll()):
            await settle()
        return self.told


def on_stage(play: Callable[[Stage], Awaitable[None]]) -> MemoryConversations:
    """Play on a stage and close it; the store as it then is."""
    store = MemoryConversations()
    store.turns[SESSION] = [FIRST]

    async def run() -> None:
        clock, prompts, release = ManualClock(), list[Prompt](), asyncio.Event()

        async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
            prompts.append(prompt)
            yield "Who "
            match prompt.input:
                case "fail":
                    raise RuntimeError("it broke")
                case "say too much":
                    yield "x" * 100
                case "wait":
                    await release.wait()
                case "wait stubbornly":
                    while not release.is_set():
                        try:
                            await release.wait()
                        except asyncio.CancelledError:
                            pass
                case _:
                    pass
            yield "goes there?"

        provider = StreamProvider("test.provider", answer, store=store)
        limits = IntelligenceLimits(max_output_chars=50)
        runtime = create_intelligence_runtime(provider, limits=limits, clock=clock)
        try:
            await play(Stage(runtime, clock, store, prompts, release))
        except BaseException:
            release.set()  # the event loop waits for its generators also when a test fails
            raise
        finally:
            await runtime.close()

    asyncio.run(run())
    return store


@pytest.mark.spec("P5")
def test_a_completed_activity_is_added_whole() -> None:
    async def play(stage: Stage) -> None:
        id = stage.submit("answer")
        assert isinstance((await stage.drain()).terminal(id), Completed)

    store = on_stage(play)
    assert store.turns == {SESSION: [FIRST, Turn("answer", "Who goes there?")]}


@pytest.mark.spec("P5")
def test_the_next_of_the_session_is_told_what_was_completed() -> None:
    async def play(stage: Stage) -> None:
        stage.submit("answer")
        stage.submit("answer again")
        await stage.drain()
        assert [list(prompt.history) for prompt in stage.prompts] == [
            [FIRST],
            [FIRST, Turn("answer", "Who goes there?")],
        ]

    on_stage(play)


@pytest.mark.spec("P5")
def test_another_session_is_told_nothing_of_it() -> None:
    async def play(stage: Stage) -> None:
        stage.submit("answer", SessionRef("test.provider", "s-8"))
        await stage.drain()
        assert [list(prompt.history) for prompt in stage.prompts] == [[]]

    on_stage(play)


async def failed(stage: Stage) -> None:
    id = stage.submit("fail")
    assert isinstance((await stage.drain()).terminal(id), Failed)


async def overflowed(stage: Stage) -> None:
    id = stage.submit("say too much")
    assert isinstance((await stage.drain()).terminal(id), Failed)


async def cancelled(stage: Stage) -> None:
    id = stage.submit("wait")
    await stage.drain()
    stage.runtime.cancel(id)
    assert isinstance((await stage.drain()).terminal(id), Cancelled)


async def cancelled_before_it_began(stage: Stage) -> None:
    id = stage.submit("answer")
    stage.runtime.cancel(id)
    assert isinstance((await stage.drain()).terminal(id), Cancelled)


async def cancelled_and_finished_late(stage: Stage) -> None:
    id = stage.submit("wait stubbornly")
    await stage.drain()
    stage.runtime.cancel(id)
    stage.clock.advance(2)
    assert isinstance((await stage.drain()).terminal(id), Cancelled)
    stage.release.set()
    await stage.drain()


async def timed_out(stage: Stage) -> None:
    id = stage.submit("wait")
    await stage.drain()
    stage.clock.advance(10_000)
    assert isinstance((await stage.drain()).terminal(id), Failed)


async def timed_out_and_finished_late(stage: Stage) -> None:
    id = stage.submit("wait stubbornly")
    await stage.drain()
    stage.clock.advance(10_000)
    assert isinstance((await stage.drain()).terminal(id), Failed)
    stage.release.set()
    await stage.drain()


NOT_COMPLETED = [
    failed,
    overflowed,
    cancelled,
    cancelled_before_it_began,
    cancelled_and_finished_late,
    timed_out,
    timed_out_and_finished_late,
]
not_completed = pytest.mark.parametrize("way", NOT_COMPLETED)
Way = Callable[[Stage], Awaitable[None]]


@pytest.mark.fault("C9", "C12")
@not_completed
@pytest.mark.spec("P5")
def test_what_is_not_completed_leaves_the_session_as_it_was(way: Way) -> None:
    assert on_stage(way).turns == {SESSION: [FIRST]}


@pytest.mark.fault("C13")
@not_completed
@pytest.mark.spec("P5")
def test_a_session_is_of_use_after_what_was_not_completed(way: Way) -> None:
    async def play(stage: Stage) -> None:
        await way(stage)
        id = stage.submit("answer")
        assert isinstance((await stage.drain()).terminal(id), Completed)
        assert list(stage.prompts[-1].history) == [FIRST]

    assert on_stage(play).turns[SESSION] == [FIRST, Turn("answer", "Who goes there?")]


@pytest.mark.spec("P5")
def test_what_is_cut_off_by_the_close_is_not_added() -> None:
    async def play(stage: Stage) -> None:
        stage.submit("wait")
        await stage.drain()

    assert on_stage(play).turns == {SESSION: [FIRST]}


@pytest.mark.spec("P5")
def test_a_turn_is_added_exactly_where_it_stands() -> None:
    async def play(stage: Stage) -> None:
        id = stage.submit("answer")

        def cancel_meanwhile() -> None:
            stage.runtime.cancel(id)
            stage.clock.advance(2)
            stage.runtime.turn()

        stage.store.on_append = cancel_meanwhile
        assert isinstance((await stage.drain()).terminal(id), Cancelled)

    store = on_stage(play)
    assert (store.asked, store.turns) == ([False], {SESSION: [FIRST]})


@pytest.mark.spec("P5")
def test_a_turn_that_cannot_be_written_is_a_failure() -> None:
    def broken() -> None:
        raise ProviderError("the disk is full", reason="unavailable")

    async def play(stage: Stage) -> None:
        stage.store.on_append = broken
        id = stage.submit("answer")
        terminal = (await stage.drain()).terminal(id)
        assert isinstance(terminal, Failed)
        assert terminal.error.detail.reason == "unavailable"

    assert on_stage(play).turns == {SESSION: [FIRST]}


@pytest.mark.fault("C15")
@pytest.mark.spec("P7", "P5")
def test_a_session_that_was_dropped_is_lost_at_once() -> None:
    def lost() -> None:
        raise ProviderError("the session is not known here", reason="session-lost")

    async def play(stage: Stage) -> None:
        stage.store.on_history = lost
        id = stage.submit("answer")
        terminal = (await stage.drain()).terminal(id)
        assert isinstance(terminal, Failed)
        assert terminal.error.detail.reason == "session-lost"
        assert stage.prompts == []

    on_stage(play)


@pytest.mark.spec("P5")
def test_the_store_of_a_provider_is_closed_with_it() -> None:
    async def play(stage: Stage) -> None:
        await stage.drain()

    assert on_stage(play).closes == 1


@pytest.mark.spec("P5")
def test_complete_says_that_it_stands() -> None:
    _, sink = make_scene().begin()
    assert sink.complete("Halt!") is True


@pytest.mark.spec("P5", "S13")
@pytest.mark.parametrize("end", ["complete", "fail", "cancelled"])
def test_complete_says_that_it_does_not_stand_after_another_end(end: str) -> None:
    _, sink = make_scene().begin()
    getattr(sink, end)(*(["x"] if end != "cancelled" else []))
    assert sink.complete("late") is False
