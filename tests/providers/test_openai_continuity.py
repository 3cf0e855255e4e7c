"""A conversation that the vendor keeps is continued there, from the last turn that completed, and survives being forgotten."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from providers.answering import PATIENCE_S, Answer, Service, answering, silence_after, status, stream
from providers.openai_talk import HISTORY, KEY, SESSION, ask, backend_at, delta, response
from support.conversations import MemoryConversations

from engine_intelligence import Cancelled, Completed, Failed, SessionRef
from engine_intelligence.activity import Terminal
from engine_intelligence.conversation import Turn
from engine_intelligence.errors import ProviderError
from engine_intelligence.providers.backend import provider_over
from engine_intelligence.providers.openai import OpenAIBackend, Options
from engine_intelligence.providers.retries import Retrying
from engine_intelligence.providers.stream import Finish
from engine_intelligence.providers.vendor import Access
from engine_intelligence.result import Ok
from engine_intelligence.runtime import IntelligenceRuntime, create_intelligence_runtime

OPTIONS = Options(model="m", max_tokens=100)
FRAME_S = 0.002

FORGOTTEN = {
    "error": {
        "message": "Previous response with id 'resp_2' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }
}


def answer(id: str, text: str = "So be it.") -> Answer:
    return stream(response("created", id), delta(text), response("completed", id))


@dataclass
class Talk:
    """A conversation through the runtime with what stands for the vendor."""

    service: Service
    store: MemoryConversations
    runtime: IntelligenceRuntime

    async def turn(
        self, input: str, session: SessionRef | None = SESSION, *, cancel: bool = False
    ) -> Terminal:
        started = self.runtime.submit(input, session)
        assert isinstance(started, Ok)
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for event in self.runtime.poll():
                    if isinstance(event, Completed | Failed | Cancelled):
                        return event
                    if cancel:
                        self.runtime.cancel(started.value.id)
                await asyncio.sleep(FRAME_S)


@asynccontextmanager
async def talking(
    *answers: Answer, options: Options = OPTIONS, store: MemoryConversations | None = None
) -> AsyncGenerator[Talk]:
    store = MemoryConversations() if store is None else store
    async with answering(*answers) as service:
        backend = OpenAIBackend(options, Access(KEY, service.address), at_vendor=True)
        retrying = Retrying(backend, attempts=options.attempts, within_s=60.0)
        runtime = create_intelligence_runtime(provider_over(retrying, "gatekeeper", store=store))
        try:
            yield Talk(service, store, runtime)
        finally:
            await runtime.close()


@pytest.mark.spec("P7")
def test_each_turn_continues_the_response_of_the_one_before_also_after_a_restart() -> None:
    async def scenario() -> None:
        store = MemoryConversations()
        async with talking(answer("resp_a"), answer("resp_b"), store=store) as talk:
            for input in ("One?", "Two?"):
                assert isinstance(await talk.turn(input), Completed)
            bodies = talk.service.bodies
        async with talking(answer("resp_c"), store=store) as talk:
            assert isinstance(await talk.turn("Three?"), Completed)
            bodies += talk.service.bodies
        assert [body.get("previous_response_id") for body in bodies] == [None, "resp_a", "resp_b"]
        assert [len(body["input"]) for body in bodies] == [1, 1, 1]
        assert [turn.remote for turn in store.turns[SESSION]] == ["resp_a", "resp_b", "resp_c"]

    asyncio.run(scenario())


@pytest.mark.spec("P5")
@pytest.mark.fault("C9", "C12")
def test_a_turn_that_was_cancelled_is_not_continued() -> None:
    async def scenario() -> None:
        begun = silence_after(response("created", "resp_b"), delta("Half a sen"))
        async with talking(answer("resp_a"), begun, answer("resp_c")) as talk:
            await talk.turn("One?")
            assert isinstance(await talk.turn("Two?", cancel=True), Cancelled)
            assert isinstance(await talk.turn("Three?"), Completed)
            assert [body.get("previous_response_id") for body in talk.service.bodies] == [
                None,
                "resp_a",
                "resp_a",
            ]
            assert [turn.input for turn in talk.store.turns[SESSION]] == ["One?", "Three?"]

    asyncio.run(scenario())


@pytest.mark.spec("P5")
def test_a_turn_that_failed_is_not_continued() -> None:
    async def scenario() -> None:
        failed = stream(response("created", "resp_b"), delta("Half"), response("failed", "resp_b"))
        async with talking(answer("resp_a"), failed, answer("resp_c")) as talk:
            await talk.turn("One?")
            assert isinstance(await talk.turn("Two?"), Failed)
            await talk.turn("Three?")
            assert talk.service.bodies[-1]["previous_response_id"] == "resp_a"

    asyncio.run(scenario())


@pytest.mark.spec("P7")
@pytest.mark.parametrize(
    "forgets",
    [
        status(400, FORGOTTEN),
        status(404, {"error": {"message": "x", "param": "previous_response_id", "code": None}}),
        stream({"type": "error", "code": "previous_response_not_found", "message": "x"}),
        stream(FORGOTTEN),
    ],
    ids=["400", "404", "event", "error in the stream"],
)
def test_a_conversation_that_the_vendor_forgot_is_told_again_by_the_host(forgets: Answer) -> None:
    async def scenario() -> None:
        async with (
            answering(forgets, answer("resp_3")) as service,
            backend_at(service.address, OPTIONS, at_vendor=True) as backend,
        ):
            pieces = await ask(backend, "And now?", HISTORY)
            assert pieces[0] == "So be it."
            assert isinstance(pieces[-1], Finish)
            assert pieces[-1].remote == "resp_3"
            first, second = service.bodies
            assert first["previous_response_id"] == "resp_2"
            assert "previous_response_id" not in second
            assert [message["content"] for message in second["input"]] == [
                "May I pass?",
                "No.",
                "Why?",
                "It is late.",
                "And now?",
            ]

    asyncio.run(scenario())


@pytest.mark.spec("P7")
def test_a_conversation_that_the_vendor_forgot_and_the_host_may_not_tell_is_lost() -> None:
    async def scenario() -> None:
        options = Options(model="m", history_tokens=0)
        async with (
            answering(status(400, FORGOTTEN)) as service,
            backend_at(service.address, options, at_vendor=True) as backend,
        ):
            with pytest.raises(ProviderError) as error:
                await ask(backend, "And now?", HISTORY)
            assert error.value.reason == "session-lost"
            assert len(service.asked) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("fails", "reason"),
    [
        (status(400, {"error": {"message": "x", "code": "invalid_prompt"}}), "refused"),
        (status(401, {"error": {"message": "x", "code": "invalid_api_key"}}), "auth"),
        (stream(response("created"), response("failed", error={"code": "server_error"})), "unavailable"),
    ],
)
def test_what_fails_for_another_reason_is_not_told_again(fails: Answer, reason: str) -> None:
    async def scenario() -> None:
        async with (
            answering(fails) as service,
            backend_at(service.address, OPTIONS, at_vendor=True) as backend,
        ):
            with pytest.raises(ProviderError) as error:
                await ask(backend, "And now?", HISTORY)
            assert error.value.reason == reason
            assert len(service.asked) == 1

    asyncio.run(scenario())


def test_nothing_is_asked_twice_once_text_was_told() -> None:
    async def scenario() -> None:
        late = stream(delta("Half"), {"type": "error", "code": "previous_response_not_found", "message": "x"})
        async with (
            answering(late, answer("resp_3")) as service,
            backend_at(service.address, OPTIONS, at_vendor=True) as backend,
        ):
            with pytest.raises(ProviderError):
                await ask(backend, "And now?", HISTORY)
            assert len(service.asked) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("options", "at_vendor"),
    [(Options(model="m", store=False), True), (Options(model="m", interface="responses"), False)],
    ids=["not to be kept", "another server"],
)
def test_a_response_that_is_not_kept_there_leaves_no_id(options: Options, at_vendor: bool) -> None:
    async def scenario() -> None:
        async with (
            answering(answer("resp_3")) as service,
            backend_at(service.address, options, at_vendor=at_vendor) as backend,
        ):
            end = (await ask(backend, "And now?", (Turn("a", "b", "resp_1"),)))[-1]
            assert isinstance(end, Finish)
            assert end.remote is None
            assert "previous_response_id" not in service.bodies[0]

    asyncio.run(scenario())
