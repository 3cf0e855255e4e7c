"""What is sent to OpenAI and to compatible servers: exactly this, and to nobody else."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from providers.answering import Service, answering, status, stream
from providers.openai_talk import CHAT, HISTORY, KEY, RESPONSE, ask, backend_at

from engine_intelligence.conversation import Turn
from engine_intelligence.errors import ProviderError, SetupError
from engine_intelligence.providers import openai as kind
from engine_intelligence.providers.openai import DEFAULT_MODEL, Options, create
from engine_intelligence.providers.openai_client import is_vendor
from engine_intelligence.providers.vendor import Access

EVERYTHING: dict[str, Any] = {
    "model": "m",
    "instructions": "You keep a gate.",
    "max_tokens": 50,
    "temperature": 0.5,
    "reasoning_effort": "low",
}


def sent(options: Options, *, at_vendor: bool, history: tuple[Turn, ...] = HISTORY) -> tuple[Any, Service]:
    """The body of the one request of an answer, and the service that had it."""

    async def scenario() -> Service:
        events = RESPONSE if options.interface == "responses" else CHAT
        async with (
            answering(stream(*events)) as service,
            backend_at(service.address, options, at_vendor=at_vendor) as backend,
        ):
            await ask(backend, "And now?", history)
            return service

    service = asyncio.run(scenario())
    assert len(service.bodies) == 1
    return service.bodies[0], service


TURNS = [
    {"role": "user", "content": "May I pass?"},
    {"role": "assistant", "content": "No."},
    {"role": "user", "content": "Why?"},
    {"role": "assistant", "content": "It is late."},
    {"role": "user", "content": "And now?"},
]


@pytest.mark.spec("P4")
@pytest.mark.parametrize(
    ("at_vendor", "bound"), [(True, "max_completion_tokens"), (False, "max_tokens")], ids=["vendor", "other"]
)
def test_chat_completions_is_sent_the_options_and_the_conversation(at_vendor: bool, bound: str) -> None:
    body, service = sent(Options(interface="chat", seed=7, **EVERYTHING), at_vendor=at_vendor)
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "You keep a gate."}, *TURNS],
        bound: 50,
        "temperature": 0.5,
        "reasoning_effort": "low",
        "seed": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert (service.asked[0].method, service.asked[0].path) == ("POST", "/v1/chat/completions")


@pytest.mark.spec("P4")
def test_another_server_is_sent_the_whole_conversation_as_a_response_that_it_does_not_keep() -> None:
    body, service = sent(Options(interface="responses", **EVERYTHING), at_vendor=False)
    assert body == {
        "model": "m",
        "input": [{"type": "message", **turn} for turn in TURNS],
        "instructions": "You keep a gate.",
        "max_output_tokens": 50,
        "temperature": 0.5,
        "reasoning": {"effort": "low"},
        "store": False,
        "stream": True,
    }
    assert (service.asked[0].method, service.asked[0].path) == ("POST", "/v1/responses")


@pytest.mark.spec("P4", "P7")
def test_the_vendor_is_sent_what_is_new_and_the_response_that_it_continues() -> None:
    body, _ = sent(Options(interface="responses", **EVERYTHING), at_vendor=True)
    assert body == {
        "model": "m",
        "input": [{"type": "message", "role": "user", "content": "And now?"}],
        "previous_response_id": "resp_2",
        "instructions": "You keep a gate.",
        "max_output_tokens": 50,
        "temperature": 0.5,
        "reasoning": {"effort": "low"},
        "store": True,
        "truncation": "auto",
        "stream": True,
    }


@pytest.mark.parametrize(
    ("options", "history"),
    [
        (Options(model="m", interface="responses", store=False), HISTORY),
        (Options(model="m", interface="responses"), (*HISTORY[:1], Turn("Why?", "It is late."))),
        (Options(model="m", interface="responses"), (*HISTORY[:1], Turn("Why?", "It is late.", "msg_4"))),
    ],
    ids=["not to be kept", "a turn of which it does not know", "a turn of another vendor"],
)
def test_the_vendor_is_sent_the_whole_conversation_where_it_does_not_have_it(
    options: Options, history: tuple[Turn, ...]
) -> None:
    body, _ = sent(options, at_vendor=True, history=history)
    assert "previous_response_id" not in body
    assert body["input"] == [{"type": "message", **turn} for turn in TURNS]
    assert body["store"] is options.store


@pytest.mark.spec("P4")
@pytest.mark.parametrize("at_vendor", [True, False])
def test_options_that_are_absent_are_not_sent(at_vendor: bool) -> None:
    chat, _ = sent(Options(model="m", interface="chat"), at_vendor=at_vendor, history=())
    assert set(chat) - {"max_tokens", "max_completion_tokens"} == {
        "model",
        "messages",
        "stream",
        "stream_options",
    }
    assert chat["messages"] == [{"role": "user", "content": "And now?"}]
    responses, _ = sent(Options(model="m", interface="responses"), at_vendor=at_vendor, history=())
    assert set(responses) - {"truncation"} == {"model", "input", "max_output_tokens", "store", "stream"}


@pytest.mark.parametrize("interface", ["chat", "responses"])
def test_of_a_long_conversation_the_latest_whole_turns_are_sent_with_the_instructions(
    interface: Any,
) -> None:
    history = tuple(Turn(f"Question {n}. " * 5, f"Answer {n}. " * 5) for n in range(100))
    options = Options(model="m", interface=interface, instructions="Be brief.", history_tokens=500)
    body, _ = sent(options, at_vendor=False, history=history)
    messages = body["messages"][1:] if interface == "chat" else body["input"]
    assert body.get("instructions", body.get("messages", [{}])[0].get("content")) == "Be brief."
    assert 4 < len(messages) < 60
    assert [message["role"] for message in messages] == [
        "user" if place % 2 == 0 else "assistant" for place in range(len(messages))
    ]
    assert messages[-2]["content"] == history[-1].output


@pytest.mark.spec("E2")
def test_the_key_is_sent_in_its_header_alone_and_nothing_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-vendor")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-vendor")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-the-vendor")
    _, service = sent(Options(model="m", interface="chat"), at_vendor=False)
    headers = service.asked[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert [name for name, value in headers.items() if KEY in value] == ["authorization"]
    assert "of-the-vendor" not in str(headers)


def test_no_compressed_answer_is_asked_for() -> None:
    _, service = sent(Options(model="m", interface="chat"), at_vendor=False)
    assert service.asked[0].headers["accept-encoding"] == "identity"


MODELS = {"object": "list", "data": [{"id": "first", "object": "model"}, {"id": "second"}]}


def test_without_a_model_the_first_that_a_server_lists_is_asked_for_once() -> None:
    async def scenario() -> None:
        async with (
            answering(status(200, MODELS), *[stream(*CHAT)] * 3) as service,
            backend_at(service.address, Options()) as backend,
        ):
            backend.warm()
            await asyncio.gather(ask(backend), ask(backend))
            await ask(backend)
            assert [each.path for each in service.asked].count("/v1/models") == 1
            assert [body["model"] for body in service.bodies if body] == ["first"] * 3

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        ({"data": []}, "unavailable"),
        ({"data": None}, "protocol"),
        (["first"], "protocol"),
        ({"data": [{"name": "first"}]}, "protocol"),
    ],
)
def test_a_list_of_models_that_names_none_is_a_failure(models: object, reason: str) -> None:
    async def scenario() -> None:
        async with (
            answering(status(200, models)) as service,
            backend_at(service.address, Options()) as backend,
        ):
            with pytest.raises(ProviderError) as error:
                await ask(backend)
            assert error.value.reason == reason

    asyncio.run(scenario())


def test_without_a_model_the_vendor_is_asked_for_the_default_one() -> None:
    body, _ = sent(Options(interface="chat"), at_vendor=True)
    assert body["model"] == DEFAULT_MODEL


@pytest.mark.parametrize(
    ("address", "interface"),
    [
        (None, "responses"),
        ("https://api.openai.com/v1", "responses"),
        ("https://eu.api.openai.com/v1", "responses"),
        ("https://api.openai.com.example/v1", "chat"),
        ("https://example.org/api.openai.com/v1", "chat"),
        ("http://localhost:11434/v1", "chat"),
    ],
)
def test_the_interface_is_responses_with_the_vendor_and_chat_with_others(
    address: str | None, interface: str
) -> None:
    backend = create(Options(), Access(KEY, address))
    assert backend.interface == interface
    assert is_vendor(address) is (interface == "responses")


def test_a_seed_is_refused_where_it_could_not_be_sent() -> None:
    with pytest.raises(SetupError, match="seed is an option of interface") as error:
        create(Options(seed=1), Access(KEY))
    assert error.value.reason == "config-invalid"
    create(Options(seed=1, interface="chat"), Access(KEY))


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("seed", 2**63),
        ("seed", True),
        ("max_tokens", 0),
        ("temperature", 2.1),
        ("history_tokens", -1),
        ("attempts", 0),
        ("model", ""),
    ],
)
def test_a_bad_option_is_refused_by_name_and_value(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name} must be .*{value!r}"):
        Options(**{name: value})  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


@pytest.mark.spec("E2")
def test_a_backend_does_not_show_its_key() -> None:
    backend = create(Options(instructions="hush"), Access(KEY, "http://localhost/v1"))
    assert KEY not in repr(backend) + repr(vars(backend))


def test_no_module_of_the_provider_is_long() -> None:
    folder = Path(kind.__file__).parent
    lengths = {path.name: len(path.read_text().splitlines()) for path in folder.glob("*.py")}
    assert {name: length for name, length in lengths.items() if length > 250} == {}
