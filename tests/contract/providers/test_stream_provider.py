"""Rule P3: a provider as one async generator of text."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from support.loop import settle

from engine_intelligence import (
    Cancelled,
    Completed,
    Deadlines,
    Err,
    Failed,
    Finish,
    IntelligenceLimits,
    IntelligenceRuntime,
    Ok,
    Prompt,
    ProviderError,
    SessionRef,
    StreamProvider,
    Usage,
    create_intelligence_runtime,
)
from engine_intelligence.testing import ManualClock, Transcript

Answer = Callable[[Prompt], AsyncGenerator[str, None]]


@dataclass
class Stage:
    """A runtime over a generator, inside a running event loop."""

    runtime: IntelligenceRuntime
    clock: ManualClock
    told: Transcript = field(default_factory=Transcript)

    def submit(self, input: str = "May I pass?", session: SessionRef | None = None) -> str:
        result = self.runtime.submit(input, session)
        assert isinstance(result, Ok), result
        return result.value.id

    async def drain(self) -> Transcript:
        """Let the generators run as far as they come, and poll all that there is."""
        await settle()
        while self.told.take(self.runtime.poll()):
            await settle()
        return self.told

    async def failure(self, id: str) -> Failed:
        terminal = (await self.drain()).terminal(id)
        assert isinstance(terminal, Failed), terminal
        return terminal


def on_stage(
    generate: object,
    play: Callable[[Stage], Awaitable[None]],
    deadlines: Deadlines | None = None,
    **limits: int,
) -> None:
    """Make a stage over `generate`, `play` on it, and close it."""

    async def run() -> None:
        clock = ManualClock()
        provider = StreamProvider("test.provider", cast(Any, generate))
        stage = Stage(
            create_intelligence_runtime(
                provider, limits=IntelligenceLimits(**limits), deadlines=deadlines, clock=clock
            ),
            clock,
        )
        try:
            await play(stage)
        finally:
            await stage.runtime.close()

    asyncio.run(run())


async def speak(prompt: Prompt) -> AsyncGenerator[str, None]:
    for chunk in ("Who ", "", "goes ", "there?"):
        await asyncio.sleep(0)
        yield chunk


@dataclass
class Notes:
    """What a generator that never ends by itself has been through."""

    begun: bool = False
    cancelled: bool = False
    unwound: bool = False
    prompts: list[Prompt] = field(default_factory=list[Prompt])

    async def wait(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        self.begun = True
        self.prompts.append(prompt)
        try:
            yield "Hm. "
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        finally:
            # What a generator releases may itself need the event loop.
            await asyncio.sleep(0)
            self.unwound = True


@pytest.mark.spec("P3")
def test_the_chunks_joined_are_the_output() -> None:
    async def play(stage: Stage) -> None:
        id = stage.submit()
        terminal = (await stage.drain()).terminal(id)
        assert isinstance(terminal, Completed)
        assert (terminal.output, stage.told.text(id)) == ("Who goes there?", "Who goes there?")

    on_stage(speak, play)


@pytest.mark.spec("P3")
def test_a_generator_is_told_the_input_and_whose_it_is() -> None:
    notes = Notes()
    session = SessionRef("test.provider", "s-9")

    async def play(stage: Stage) -> None:
        id = stage.submit("May I pass?", session)
        await stage.drain()
        [prompt] = notes.prompts
        assert (prompt.input, prompt.session, prompt.activity_id, tuple(prompt.history)) == (
            "May I pass?",
            session,
            id,
            (),
        )

    on_stage(notes.wait, play)


@pytest.mark.spec("P3")
def test_a_generator_may_say_how_it_ended() -> None:
    async def answer(prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        yield "Halt!"
        yield Finish(usage=Usage(1, 1))
        yield Finish(usage=Usage(3, 4), finish="length")

    async def play(stage: Stage) -> None:
        id = stage.submit()
        terminal = (await stage.drain()).terminal(id)
        assert isinstance(terminal, Completed)
        assert (terminal.output, terminal.usage, terminal.finish) == ("Halt!", Usage(3, 4), "length")

    on_stage(answer, play)


@pytest.mark.fault("C23")
@pytest.mark.spec("P3", "S6")
def test_an_end_that_is_said_twice_and_what_it_took_is_one_completed() -> None:
    async def answer(prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        yield "Halt!"
        yield Finish(finish="stop")
        yield Finish(finish="stop")
        yield Finish(usage=Usage(3, 4), finish="stop")

    async def play(stage: Stage) -> None:
        id = stage.submit()
        terminal = (await stage.drain()).terminal(id)
        assert isinstance(terminal, Completed)
        assert (terminal.output, terminal.usage, terminal.finish) == ("Halt!", Usage(3, 4), "stop")

    on_stage(answer, play)


@pytest.mark.spec("P3")
def test_text_is_delivered_while_the_generator_runs() -> None:
    async def play(stage: Stage) -> None:
        id = stage.submit()
        assert (await stage.drain()).text(id) == "Hm. "
        assert stage.told.terminal(id) is None

    on_stage(Notes().wait, play)


@pytest.mark.spec("P3", "S12")
def test_a_cancel_reaches_the_generator_where_it_awaits() -> None:
    notes = Notes()

    async def play(stage: Stage) -> None:
        id = stage.submit()
        await stage.drain()
        stage.runtime.cancel(id)
        assert isinstance((await stage.drain()).terminal(id), Cancelled)
        assert (notes.cancelled, notes.unwound) == (True, True)

    on_stage(notes.wait, play)


@pytest.mark.spec("P3", "S12")
def test_a_cancel_reaches_the_generator_before_its_first_chunk() -> None:
    cancelled: list[bool] = []

    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        yield "late"

    async def play(stage: Stage) -> None:
        id = stage.submit()
        await settle()
        stage.runtime.cancel(id)
        assert isinstance((await stage.drain()).terminal(id), Cancelled)
        assert cancelled == [True]

    on_stage(answer, play)


@pytest.mark.spec("P3", "S12")
def test_a_cancel_before_the_first_step_of_the_generator_is_confirmed() -> None:
    async def play(stage: Stage) -> None:
        id = stage.submit()
        stage.runtime.cancel(id)
        terminal = (await stage.drain()).terminal(id)
        assert (isinstance(terminal, Cancelled), stage.told.text(id)) == (True, "")

    on_stage(speak, play)


@pytest.mark.fault("R53")
@pytest.mark.spec("P3", "S12")
@pytest.mark.parametrize("turns", range(12))
def test_a_cancel_after_any_step_ends_in_one_terminal(turns: int) -> None:
    async def play(stage: Stage) -> None:
        id = stage.submit()
        await settle(turns)
        stage.runtime.cancel(id)
        terminal = (await stage.drain()).terminal(id)
        assert isinstance(terminal, Cancelled | Completed)

    on_stage(speak, play)


@pytest.mark.fault("R45")
@pytest.mark.spec("P3", "S12")
def test_a_generator_that_swallows_the_cancel_is_given_up_after_the_grace() -> None:
    release = asyncio.Event()

    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                pass
        yield "late"

    async def play(stage: Stage) -> None:
        id = stage.submit()
        await settle()
        stage.runtime.cancel(id)
        try:
            assert (await stage.drain()).terminal(id) is None
            stage.clock.advance(2)
            assert isinstance((await stage.drain()).terminal(id), Cancelled)
        finally:
            release.set()  # whatever this test finds: the event loop waits for its generators
        await stage.drain()
        assert len(stage.told.events(id)) == 1

    on_stage(answer, play, Deadlines(cancel_grace_s=2))


@pytest.mark.spec("P3", "S13")
def test_a_generator_that_answers_after_the_cancel_ends_in_one_terminal() -> None:
    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        yield "Then go."

    async def play(stage: Stage) -> None:
        id = stage.submit()
        await settle()
        stage.runtime.cancel(id)
        assert isinstance((await stage.drain()).terminal(id), Cancelled | Completed)

    on_stage(answer, play)


@pytest.mark.fault("C10")
@pytest.mark.spec("P3", "S12")
def test_an_error_that_comes_of_the_cancel_is_no_failure() -> None:
    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ConnectionResetError("connection closed") from None
        yield "late"

    async def play(stage: Stage) -> None:
        id = stage.submit()
        await settle()
        stage.runtime.cancel(id)
        assert isinstance((await stage.drain()).terminal(id), Cancelled)

    on_stage(answer, play)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class OwnBase(BaseException):
    pass


RAISED: list[Callable[[], BaseException]] = [
    lambda: RuntimeError("it broke"),
    KeyboardInterrupt,
    lambda: SystemExit(3),
    Unprintable,
    GeneratorExit,
    StopIteration,
    StopAsyncIteration,
    asyncio.CancelledError,
    OwnBase,
    MemoryError,
    RecursionError,
    TimeoutError,
    lambda: BaseExceptionGroup("several", [KeyboardInterrupt()]),
]
raised = pytest.mark.parametrize("make", RAISED, ids=lambda make: type(make()).__name__)


@pytest.mark.fault("R41", "R42", "R43")
@raised
@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.spec("P3", "S14")
def test_what_a_generator_raises_becomes_one_failure(make: Callable[[], BaseException], after: int) -> None:
    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        for number in range(9):
            if number == after:
                raise make()
            yield "Hm. "
            await asyncio.sleep(0)

    async def play(stage: Stage) -> None:
        id = stage.submit()
        failed = await stage.failure(id)
        assert (failed.error.code, failed.error.detail.provider_id) == (
            "intelligence-provider-failed",
            "test.provider",
        )
        assert stage.told.text(id) == "Hm. " * after

    on_stage(answer, play)


@pytest.mark.fault("R42")
@raised
@pytest.mark.spec("P3", "S14")
def test_the_event_loop_survives_what_a_generator_raises(make: Callable[[], BaseException]) -> None:
    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        if prompt.input == "break":
            raise make()
        yield "Halt!"

    async def play(stage: Stage) -> None:
        stage.submit("break")
        other = stage.submit()
        assert isinstance((await stage.drain()).terminal(other), Completed)

    on_stage(answer, play)


@pytest.mark.fault("R47")
@raised
@pytest.mark.spec("P3", "S14")
def test_what_a_generator_raises_while_it_unwinds_is_contained(make: Callable[[], BaseException]) -> None:
    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        try:
            yield "Hm. "
            await asyncio.Event().wait()
        finally:
            raise make()

    async def play(stage: Stage) -> None:
        id = stage.submit()
        await stage.drain()
        stage.runtime.cancel(id)
        assert isinstance((await stage.drain()).terminal(id), Cancelled)

    on_stage(answer, play)


@pytest.mark.spec("P3", "E1")
def test_a_generator_says_in_which_way_it_failed() -> None:
    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield "Hm. "
        raise ProviderError("too many requests", reason="rate-limited", retry_after_s=1_209_600)

    async def play(stage: Stage) -> None:
        detail = (await stage.failure(stage.submit())).error.detail
        assert (detail.cause, detail.reason, detail.retry_after_seconds) == (
            "too many requests",
            "rate-limited",
            1_209_600,
        )

    on_stage(answer, play)


@pytest.mark.fault("R50", "C21")
@pytest.mark.spec("P3")
@pytest.mark.parametrize(
    "chunk", [None, 7, b"Halt!", ["Halt!"], object()], ids=lambda chunk: type(chunk).__name__
)
def test_a_chunk_that_is_no_text_becomes_one_failure(chunk: object) -> None:
    unwound: list[bool] = []

    async def answer(prompt: Prompt) -> AsyncGenerator[Any, None]:
        try:
            yield "Hm. "
            yield chunk
            yield "late"
        finally:
            unwound.append(True)

    async def play(stage: Stage) -> None:
        id = stage.submit()
        assert (await stage.failure(id)).error.code == "intelligence-provider-failed"
        assert (stage.told.text(id), unwound) == ("Hm. ", [True])

    on_stage(answer, play)


@pytest.mark.spec("P3")
def test_a_generator_that_is_left_early_is_unwound_also_where_somebody_else_holds_it() -> None:
    held: list[object] = []
    unwound: list[bool] = []

    async def answer() -> AsyncGenerator[Any, None]:
        try:
            yield 7
            yield "late"
        finally:
            unwound.append(True)

    def generate(prompt: Prompt) -> AsyncGenerator[Any, None]:
        held.append(generator := answer())
        return generator

    async def play(stage: Stage) -> None:
        await stage.failure(stage.submit())
        assert unwound == [True]

    on_stage(generate, play)


@pytest.mark.fault("C21")
@pytest.mark.spec("P3", "E1")
@pytest.mark.parametrize("chunks", [(), ("",), ("", ""), (Finish(finish="stop"),)], ids=repr)
def test_an_empty_answer_is_a_failure_that_says_so(chunks: tuple[str | Finish, ...]) -> None:
    async def answer(prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        for chunk in chunks:
            yield chunk

    async def play(stage: Stage) -> None:
        assert (await stage.failure(stage.submit())).error.detail.reason == "empty"

    on_stage(answer, play)


def raises(prompt: Prompt) -> AsyncGenerator[str, None]:
    raise RuntimeError("it broke")


def gives_nothing(prompt: Prompt) -> None:
    return None


def gives_a_list(prompt: Prompt) -> list[str]:
    return ["Halt!"]


@pytest.mark.spec("P3", "S14")
@pytest.mark.parametrize("generate", [None, "speak", 7])
def test_what_cannot_be_called_is_refused_when_the_provider_is_made(generate: Any) -> None:
    with pytest.raises(TypeError, match="must be an async generator function"):
        StreamProvider("test.provider", generate)


async def answers(prompt: Prompt) -> str:
    return "Halt!"


@pytest.mark.spec("P3", "S14")
@pytest.mark.parametrize("generate", [raises, gives_nothing, gives_a_list, answers])
def test_what_is_no_generator_is_a_refusal_or_one_failure(generate: object) -> None:
    async def play(stage: Stage) -> None:
        result = stage.runtime.submit("x")
        codes: list[str] = [result.error.code] if isinstance(result, Err) else []
        codes += [event.error.code for event in stage.runtime.poll() if isinstance(event, Failed)]
        await settle()
        codes += [event.error.code for event in stage.runtime.poll() if isinstance(event, Failed)]
        assert codes == ["intelligence-provider-failed"]

    on_stage(generate, play)


@pytest.mark.spec("P3", "S14")
def test_a_stream_provider_outside_an_event_loop_refuses() -> None:
    runtime = create_intelligence_runtime(StreamProvider("test.provider", speak))
    result = runtime.submit("x")
    assert isinstance(result, Err)
    assert result.error.code == "intelligence-provider-failed"


@pytest.mark.spec("P3", "S10")
def test_a_generator_that_says_too_much_is_stopped() -> None:
    notes = Notes()

    async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
        yield "far too much"
        async for chunk in notes.wait(prompt):
            yield chunk

    async def play(stage: Stage) -> None:
        failed = await stage.failure(stage.submit())
        assert failed.error.code == "intelligence-output-overflow"
        assert notes.cancelled or not notes.begun

    on_stage(answer, play, max_output_chars=5)


@pytest.mark.spec("P3", "S15")
def test_a_generator_that_was_given_up_is_unwound() -> None:
    notes = Notes()

    async def play(stage: Stage) -> None:
        id = stage.submit()
        await stage.drain()
        stage.clock.advance(30)
        assert (await stage.failure(id)).error.detail.reason == "stalled"
        assert notes.unwound

    on_stage(notes.wait, play)


@pytest.mark.spec("P3")
def test_a_close_unwinds_what_is_running() -> None:
    notes = Notes()

    async def play(stage: Stage) -> None:
        stage.submit()
        await settle()

    on_stage(notes.wait, play)
    assert (notes.cancelled, notes.unwound) == (True, True)


@pytest.mark.spec("P3")
def test_no_task_is_left_when_the_service_is_closed() -> None:
    async def run() -> None:
        runtime = create_intelligence_runtime(StreamProvider("test.provider", Notes().wait))
        for _ in range(3):
            runtime.submit("x")
        await settle()
        await runtime.close()
        await settle()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


@pytest.mark.spec("P3")
def test_what_belongs_to_a_provider_is_released_with_it() -> None:
    released: list[bool] = []

    async def release() -> None:
        await asyncio.sleep(0)
        released.append(True)

    async def run() -> None:
        provider = StreamProvider("test.provider", speak, on_close=release)
        await create_intelligence_runtime(provider).close()

    asyncio.run(run())
    assert released == [True]


@pytest.mark.spec("P3")
def test_generators_run_beside_each_other() -> None:
    async def play(stage: Stage) -> None:
        ids = [stage.submit() for _ in range(4)]
        await stage.drain()
        assert [stage.told.text(id) for id in ids] == ["Hm. "] * 4

    on_stage(Notes().wait, play)


@pytest.mark.spec("P3")
def test_cancelling_what_a_provider_does_not_know_raises_nothing() -> None:
    async def run() -> None:
        StreamProvider("test.provider", speak).cancel("a-9")

    asyncio.run(run())
