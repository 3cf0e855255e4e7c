"""What is really sent to a service that speaks Anthropic's Messages, and what its events mean."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from providers.answering import Answer, Asked, answering, status

from engine_intelligence import ProviderError, SessionRef, Usage
from engine_intelligence.conversation import Turn
from engine_intelligence.providers.anthropic import ADDRESS, DEFAULT_MODEL, Options, create
from engine_intelligence.providers.stream import Finish, Prompt
from engine_intelligence.providers.vendor import Access

KEY = "sk-ant-api03-Zk81Qm4TtX9bWvR2nLpY"
HANG_S = 30.0


def prompt(*turns: Turn) -> Prompt:
    return Prompt("May I pass?", SessionRef("gatekeeper", "s"), "a", turns)


async def ask(
    options: Options, *answers: Answer, history: Sequence[Turn] = (), times: int = 1, path: str = "/v1"
) -> tuple[list[str | Finish], list[Asked]]:
    """The pieces of the last answer, and all that was asked."""
    pieces: list[str | Finish] = []
    async with asyncio.timeout(HANG_S), answering(*answers) as service:
        backend = create(options, Access(KEY, service.address.removesuffix("/v1") + path))
        try:
            for _ in range(times):
                pieces = [piece async for piece in backend.answer(prompt(*history))]
        finally:
            await backend.close()
        return pieces, service.asked


def stream(*events: dict[str, Any]) -> Answer:
    """A whole stream of these events, each under the name of its type."""

    async def answer(asked: Asked) -> None:
        await asked.head()
        for event in events:
            await asked.send(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n")
        await asked.end()

    return answer


def sent(options: Options, history: Sequence[Turn] = ()) -> Any:
    """The body of a request."""
    _, [asked] = asyncio.run(ask(options, YES, history=history))
    return asked.body


def message_start(**usage: int) -> dict[str, Any]:
    return {"type": "message_start", "message": {"content": [], "usage": usage}}


def delta(**content: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": content}


def text(said: str) -> dict[str, Any]:
    return delta(type="text_delta", text=said)


def message_delta(reason: str | None, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


STOP: dict[str, Any] = {"type": "message_stop"}
YES = stream(message_start(), text("Yes."), message_delta("end_turn"), STOP)


def answered(*events: dict[str, Any]) -> list[str | Finish]:
    pieces, _ = asyncio.run(ask(Options(model="m"), stream(*events)))
    return pieces


@pytest.mark.spec("P4")
def test_what_is_sent_is_the_configuration_the_turns_and_the_input_and_nothing_else() -> None:
    options = Options(model="m", instructions="You keep a gate.", max_tokens=99, temperature=0.5)
    assert sent(options, [Turn("Hello.", "Hi."), Turn("Who are you?", "The gatekeeper.")]) == {
        "model": "m",
        "system": "You keep a gate.",
        "messages": [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "Who are you?"},
            {"role": "assistant", "content": "The gatekeeper."},
            {"role": "user", "content": "May I pass?"},
        ],
        "max_tokens": 99,
        "temperature": 0.5,
        "stream": True,
    }


@pytest.mark.parametrize("instructions", ["", " \n"])
def test_without_instructions_or_temperature_none_is_sent(instructions: str) -> None:
    body = sent(Options(model="m", instructions=instructions))
    assert body.keys() == {"model", "messages", "max_tokens", "stream"}


def test_turns_that_hold_only_blanks_are_left_out_whole() -> None:
    turns = [Turn("a", "b"), Turn(" \n", "c"), Turn("d", " "), Turn("e", "f")]
    messages = sent(Options(model="m"), turns)["messages"]
    assert [message["content"] for message in messages] == ["a", "b", "e", "f", "May I pass?"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * 2 + ["user"]


def test_turns_beyond_the_bound_of_the_history_are_left_out_whole_and_oldest_first() -> None:
    turns = [Turn(f"question {number} " * 20, f"answer {number} " * 20) for number in range(10)]
    messages = sent(Options(model="m", instructions="Be brief.", history_tokens=500), turns)["messages"]
    kept = [message["content"] for message in messages[:-1]]
    assert 0 < len(kept) < 20
    assert kept == [text for turn in turns[-len(kept) // 2 :] for text in (turn.input, turn.output)]


def test_no_turn_is_sent_where_the_history_has_no_room() -> None:
    messages = sent(Options(model="m", history_tokens=0), [Turn("a", "b")])["messages"]
    assert messages == [{"role": "user", "content": "May I pass?"}]


@pytest.mark.spec("E2")
def test_nothing_of_the_environment_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {
        "ANTHROPIC_API_KEY": "sk-ant-api03-of-the-environment",
        "ANTHROPIC_AUTH_TOKEN": "token-of-the-environment",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Team: of-the-environment\nAuthorization: Bearer of-the-environment",
        "ANTHROPIC_PROFILE": "of-the-environment",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
    }
    for name, value in others.items():
        monkeypatch.setenv(name, value)
    _, [asked] = asyncio.run(ask(Options(model="m"), YES))
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert "of-the-environment" not in repr((asked.headers, asked.body, asked.path))


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/proxy"])
def test_the_address_may_end_as_that_of_other_services_does(path: str) -> None:
    _, [asked] = asyncio.run(ask(Options(model="m"), YES, path=path))
    assert asked.path == ("/proxy" if path == "/proxy" else "") + "/v1/messages"


@pytest.mark.fault("C18")
def test_the_sdk_tries_nothing_again() -> None:
    async def scenario() -> int:
        async with answering(*[status(503)] * 5) as service:
            backend = create(Options(model="m"), Access(KEY, service.address))
            with pytest.raises(ProviderError):
                _ = [piece async for piece in backend.answer(prompt())]
            await backend.close()
            return len(service.asked)

    assert asyncio.run(scenario()) == 1


def test_a_compatible_service_is_asked_once_for_its_first_model() -> None:
    listed = status(200, {"data": [{"id": "first"}, {"id": "second"}], "has_more": False})
    _, requests = asyncio.run(ask(Options(), listed, YES, YES, times=2))
    assert [asked.path for asked in requests] == ["/v1/models", "/v1/messages", "/v1/messages"]
    assert [asked.body["model"] for asked in requests[1:]] == ["first", "first"]


@pytest.mark.spec("E1")
@pytest.mark.parametrize(
    ("listed", "reason"), [({"data": []}, "unavailable"), ({"data": [{"name": "x"}]}, "protocol")]
)
def test_a_service_that_lists_no_model_fails_with_what_to_do(listed: object, reason: str) -> None:
    with pytest.raises(ProviderError) as failure:
        asyncio.run(ask(Options(), status(200, listed)))
    assert failure.value.reason == reason


def test_the_default_model_is_one_of_the_vendors() -> None:
    from anthropic.types import Model

    assert DEFAULT_MODEL in get_args(get_args(Model)[0])


def test_the_vendor_is_asked_by_its_default_model_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    for access in (Access(KEY), Access(KEY, ADDRESS), Access(KEY, f"{ADDRESS}/v1")):
        backend = create(Options(), access)
        client = asyncio.run(made_and_closed(backend))
        assert str(client.base_url).rstrip("/") == ADDRESS
        assert backend.model == DEFAULT_MODEL
        assert client.open_telemetry["traces"]["enabled"] is False


async def made_and_closed(backend: Any) -> Any:
    client = await backend._service.client()
    await backend.close()
    return client


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("a_later_reason", None),
    ],
)
def test_an_answer_ends_as_its_stop_reason_says(reason: str, finish: str | None) -> None:
    assert answered(message_start(), text("Yes."), message_delta(reason), STOP) == [
        "Yes.",
        Finish(None, finish),  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    ]


@pytest.mark.spec("E1")
@pytest.mark.fault("C24")
@pytest.mark.parametrize(
    ("reason", "failure"),
    [("refusal", "refused"), ("tool_use", "protocol"), ("pause_turn", "protocol"), (None, "truncated")],
)
def test_an_end_that_is_no_completion_is_a_failure(reason: str | None, failure: str) -> None:
    with pytest.raises(ProviderError) as error:
        answered(message_start(), text("Yes."), message_delta(reason), STOP)
    assert error.value.reason == failure
    assert str(error.value) == error.value.cause  # what keeps keys out of texts leaves it whole


@pytest.mark.parametrize(
    ("start", "end", "usage"),
    [
        ({"input_tokens": 7, "output_tokens": 1}, {"output_tokens": 3}, Usage(7, 3)),
        ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 7, "output_tokens": 3}, Usage(7, 3)),
        ({"input_tokens": 7, "output_tokens": 3}, {}, Usage(7, 3)),
        ({"input_tokens": 7, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": 3}, Usage(7, 3)),
        ({}, {"output_tokens": 3}, Usage(0, 3)),
        ({"input_tokens": 7, "cache_read_input_tokens": 90}, {"output_tokens": 3}, Usage(97, 3)),
        ({}, {}, None),
    ],
)
def test_what_an_answer_took_is_the_last_that_its_events_say(
    start: dict[str, int], end: dict[str, int], usage: Usage | None
) -> None:
    pieces = answered(message_start(**start), text("Yes."), message_delta("end_turn", **end), STOP)
    assert pieces[-1] == Finish(usage, "stop")


def test_thinking_and_what_is_not_known_are_no_text() -> None:
    pieces = answered(
        message_start(),
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "Hm"}},
        delta(type="thinking_delta", thinking="Let me see."),
        delta(type="signature_delta", signature="c2ln"),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Y"}},
        text("es."),
        {"type": "a_later_event", "delta": None},
        message_delta("end_turn"),
        STOP,
    )
    assert pieces == ["Y", "es.", Finish(None, "stop")]


@pytest.mark.spec("D2")
@pytest.mark.parametrize("temperature", [-0.1, 1.1, 2.0])
def test_a_temperature_beyond_that_of_the_interface_is_refused(temperature: float) -> None:
    with pytest.raises(ValueError, match=f"temperature .*{temperature}"):
        Options(temperature=temperature)
