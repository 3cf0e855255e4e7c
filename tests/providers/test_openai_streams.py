"""What is made of the streams of both interfaces: text as it comes, one end, and the right failure for each wrong one."""

import asyncio
from typing import Any

import pytest
from providers.answering import (
    PATIENCE_S,
    Answer,
    Asked,
    Service,
    answering,
    event,
    silence_after,
    status,
    stream,
)
from providers.openai_talk import (
    CHAT,
    DONE,
    RESPONSE,
    SESSION,
    TOOK,
    ask,
    backend_at,
    delta,
    response,
    said,
)

from engine_intelligence.activity import Usage
from engine_intelligence.errors import ProviderError
from engine_intelligence.providers import lines, vendor
from engine_intelligence.providers.openai import Options
from engine_intelligence.providers.stream import Finish, Prompt

CHAT_OPTIONS, RESPONSES_OPTIONS = Options(model="m"), Options(model="m", interface="responses")
STOPPED = Finish(Usage(7, 2), "stop")


def pieces_of(*answers: Answer, options: Options = CHAT_OPTIONS) -> list[str | Finish]:
    """What a backend makes of an answer."""

    async def scenario() -> list[str | Finish]:
        async with answering(*answers) as service, backend_at(service.address, options) as backend:
            return await ask(backend)

    return asyncio.run(scenario())


def failure_of(*answers: Answer, options: Options = CHAT_OPTIONS) -> ProviderError:
    with pytest.raises(ProviderError) as error:
        pieces_of(*answers, options=options)
    return error.value


BOTH = pytest.mark.parametrize(
    ("options", "first", "rest"),
    [
        (CHAT_OPTIONS, said("Go "), CHAT[1:]),
        (RESPONSES_OPTIONS, delta("Go "), RESPONSE[3:]),
    ],
    ids=["chat", "responses"],
)


@BOTH
def test_each_piece_is_there_before_the_next_is_sent(
    options: Options, first: object, rest: tuple[object, ...]
) -> None:
    async def scenario() -> None:
        heard = asyncio.Event()

        async def answer(asked: Asked) -> None:
            await asked.head()
            await asked.send(event(first))
            await heard.wait()
            for data in rest:
                await asked.send(event(data))
            await asked.end()

        async with answering(answer) as service, backend_at(service.address, options) as backend:
            pieces: list[str | Finish] = []
            async for piece in backend.answer(Prompt("And now?", SESSION, "activity")):
                pieces.append(piece)
                heard.set()
        assert pieces == ["Go ", "on.", STOPPED]

    asyncio.run(scenario())


@BOTH
@pytest.mark.fault("C22")
def test_text_that_comes_a_byte_at_a_time_arrives_whole(
    options: Options, first: object, rest: tuple[object, ...]
) -> None:
    text = "👋🏽🏰日本語é"
    events = [said(text) if options is CHAT_OPTIONS else delta(text), *rest]

    async def answer(asked: Asked) -> None:
        await asked.head()
        for byte in "".join(event(data) for data in events).encode():
            await asked.send(bytes([byte]))
        await asked.end()

    pieces = pieces_of(answer, options=options)
    assert pieces[0] == text
    assert pieces[-1] == STOPPED


@pytest.mark.fault("C23")
def test_two_ends_and_a_late_usage_are_one_end_with_the_usage() -> None:
    finish = said(finish="stop")
    pieces = pieces_of(
        stream(said("Go on."), finish, said("", "stop"), finish, TOOK, finish, DONE, DONE, TOOK)
    )
    assert [piece for piece in pieces if piece] == ["Go on.", STOPPED]


@pytest.mark.fault("C23")
def test_two_completed_responses_are_one_end() -> None:
    end = response("completed")
    pieces = pieces_of(
        stream(delta("Go on."), end, end, response("incomplete"), DONE, DONE), options=RESPONSES_OPTIONS
    )
    assert pieces == ["Go on.", STOPPED]


@BOTH
def test_a_connection_that_stays_open_after_the_end_is_not_waited_for(
    options: Options, first: object, rest: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendor, "LINGER_S", 0.01)
    without_mark = [each for each in (first, *rest) if each != DONE]
    pieces = pieces_of(silence_after(*without_mark), options=options)
    assert pieces[-1] == STOPPED


@BOTH
@pytest.mark.parametrize(("is_here", "connections"), [(True, 3), (False, 1)])
def test_a_connection_is_used_again_where_a_new_one_costs_time(
    options: Options,
    first: object,
    rest: tuple[object, ...],
    is_here: bool,
    connections: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> Service:
        answer = stream(first, *rest)
        async with (
            answering(answer, answer, answer) as service,
            backend_at(service.address, options) as backend,
        ):
            for _ in range(3):
                await ask(backend)
            return service

    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(vendor, "is_loopback", lambda address: is_here)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert asyncio.run(scenario()).connections == connections


@pytest.mark.fault("C24")
@pytest.mark.parametrize(
    ("ending", "finish"), [("stop", "stop"), ("length", "length"), ("eos", None), ("end_turn", None)]
)
def test_an_answer_ends_with_the_finish_that_the_server_tells(ending: str, finish: Any) -> None:
    pieces = pieces_of(stream(said("Go on."), said(finish=ending), TOOK, DONE))
    assert pieces == ["Go on.", Finish(Usage(7, 2), finish)]


@pytest.mark.fault("C24")
@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        ("content_filter", "refused"),
        ("tool_calls", "protocol"),
        ("function_call", "protocol"),
        ("error", "other"),
        ("abort", "other"),
        ("insufficient_system_resource", "other"),
        (None, "truncated"),
        ("", "truncated"),
    ],
)
def test_an_answer_that_did_not_end_by_itself_is_a_failure(ending: str | None, reason: str) -> None:
    assert failure_of(stream(said("Go on."), said(finish=ending), TOOK, DONE)).reason == reason


@pytest.mark.fault("C24")
@pytest.mark.parametrize("more", [{}, {"content": "I can"}])
def test_a_refusal_is_no_answer(more: dict[str, object]) -> None:
    refusal = said(None, None, refusal="I can't say that.", **more)
    failure = failure_of(stream(said(""), refusal, said(finish="stop"), TOOK, DONE))
    assert failure.reason == "refused"
    assert "I can't" not in str(failure)


@pytest.mark.fault("C24")
@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ((response("failed", error={"code": "server_error", "message": "x"}),), "unavailable"),
        ((response("failed", error={"code": "rate_limit_exceeded", "message": "x"}),), "rate-limited"),
        ((response("failed", error=None),), "other"),
        ((response("incomplete", incomplete_details={"reason": "content_filter"}),), "refused"),
        ((response("incomplete", incomplete_details={"reason": "steered"}),), "truncated"),
        ((response("incomplete"),), "truncated"),
        (({"type": "response.completed"},), "protocol"),
        (({"type": "response.refusal.delta", "delta": "I can't"},), "refused"),
        (({"type": "response.refusal.done", "refusal": "I can't"},), "refused"),
        (({"type": "error", "code": "server_error", "message": "x", "param": None},), "unavailable"),
        (({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "x"}},), "rate-limited"),
        (({"type": "error", "code": "bio_policy", "message": "x"},), "refused"),
        (({"type": "error", "code": None, "message": "x"},), "other"),
        (({"type": "response.output_text.delta"},), "protocol"),
        (({"type": "response.output_text.delta", "delta": 5},), "protocol"),
        ((), "truncated"),
    ],
)
def test_a_response_that_did_not_complete_is_a_failure(events: tuple[object, ...], reason: str) -> None:
    failure = failure_of(stream(delta("Go on."), *events), options=RESPONSES_OPTIONS)
    assert failure.reason == reason


@pytest.mark.fault("C24")
def test_a_response_that_reached_its_bound_says_so() -> None:
    cut = response("incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert pieces_of(stream(delta("Go"), cut), options=RESPONSES_OPTIONS)[-1] == Finish(Usage(7, 2), "length")
    bound = Options(model="m", interface="responses", max_tokens=2)
    assert pieces_of(stream(*RESPONSE), options=bound)[-1] == Finish(Usage(7, 2), "length")


@pytest.mark.parametrize("options", [CHAT_OPTIONS, RESPONSES_OPTIONS], ids=["chat", "responses"])
@pytest.mark.fault("C21")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (stream(), "truncated"),
        (stream(headers={"content-type": "text/html; charset=utf-8"}), "protocol"),
        (status(200, {"choices": [{"message": {"content": "Go on."}}]}), "protocol"),
        (stream({"hello": "world"}), "protocol"),
        (stream([1, 2]), "protocol"),
        (stream("7"), "protocol"),
        (stream("null"), "protocol"),
        (stream('"text"'), "protocol"),
        (stream("not json"), "protocol"),
        (stream('{"choices": ['), "protocol"),
        (stream("[" * 100_000), "protocol"),
        (stream({"type": 5, "choices": "x"}), "protocol"),
        (stream({"type": "response.completed", "response": "x", "choices": [None]}), "protocol"),
        (stream({"type": "response.output_text.delta", "delta": None, "choices": [{"delta": {"content": 1}}]}), "protocol"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_answer_is_one_failure(options: Options, answer: Answer, reason: str) -> None:
    assert failure_of(answer, options=options).reason == reason


@pytest.mark.parametrize("options", [CHAT_OPTIONS, RESPONSES_OPTIONS], ids=["chat", "responses"])
@pytest.mark.parametrize(
    ("code", "reason"), [(401, "auth"), (404, "unavailable"), (429, "rate-limited"), (500, "unavailable")]
)
def test_a_status_is_one_failure_and_the_sdk_does_not_ask_again(
    options: Options, code: int, reason: str
) -> None:
    assert failure_of(status(code, {"error": {"message": "x"}}), options=options).reason == reason


@pytest.mark.fault("C17")
@pytest.mark.parametrize("options", [CHAT_OPTIONS, RESPONSES_OPTIONS], ids=["chat", "responses"])
@pytest.mark.parametrize(
    "error", [{"code": "rate_limit_exceeded"}, {"code": 429}, {"type": "rate_limit_error"}]
)
@pytest.mark.parametrize("before", [0, 3])
def test_a_limit_within_a_stream_is_the_same_as_one_before_it(
    options: Options, error: dict[str, object], before: int
) -> None:
    text = said("Go ") if options is CHAT_OPTIONS else delta("Go ")
    failure = failure_of(
        stream(*[text] * before, {"error": {"message": "slow down", **error}}), options=options
    )
    assert (failure.reason, failure.transient) == ("rate-limited", True)


@pytest.mark.fault("C25")
def test_a_line_without_an_end_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100_000)

    async def answer(asked: Asked) -> None:
        await asked.head()
        while not asked.gone.is_set():
            await asked.send(b"x" * 10_000)

    assert failure_of(answer).reason == "protocol"


@pytest.mark.fault("C25")
def test_many_lines_of_bounded_length_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1_000)
    pieces = pieces_of(stream(*[said("Go on. ")] * 100, said(finish="stop"), TOOK, DONE))
    assert len(pieces) == 101


@BOTH
@pytest.mark.fault("C6", "C7")
@pytest.mark.parametrize("with_text", [True, False])
def test_an_answer_that_is_left_closes_its_connection_at_once(
    options: Options, first: object, rest: tuple[object, ...], with_text: bool
) -> None:
    async def scenario() -> None:
        async with (
            answering(silence_after(*[first] * with_text)) as service,
            backend_at(service.address, options) as backend,
        ):
            heard = asyncio.Event()

            async def listen() -> None:
                async for _ in backend.answer(Prompt("And now?", SESSION, "activity")):
                    heard.set()

            task = asyncio.ensure_future(listen())
            await service.arrived.wait()
            if with_text:
                await heard.wait()
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            await asyncio.wait_for(service.asked[0].gone.wait(), PATIENCE_S)

    asyncio.run(scenario())


def test_a_backend_that_is_closed_answers_no_more() -> None:
    async def scenario() -> None:
        async with backend_at("http://127.0.0.1:9/v1") as backend:
            await backend.close()
            with pytest.raises(ProviderError, match="closed") as error:
                await ask(backend)
            assert error.value.reason == "unavailable"

    asyncio.run(scenario())


def test_a_backend_can_be_closed_while_it_warms_up() -> None:
    async def scenario() -> None:
        async with (
            answering(silence_after()) as service,
            backend_at(service.address, Options()) as backend,
        ):
            backend.warm()
            await service.arrived.wait()
            await backend.close()
            await asyncio.wait_for(service.asked[0].gone.wait(), PATIENCE_S)

    asyncio.run(scenario())
