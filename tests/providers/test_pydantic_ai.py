"""An agent of Pydantic AI over a real server of a real model, through the runtime and through a Host."""

import asyncio
import sys
from pathlib import Path

import pytest
from providers.agent_minds import KEY, WHERE, Verdict, make_gatekeeper, make_judge, make_watchman
from support.conversations import MemoryConversations
from support.dialogue import ask, dialogue
from support.model_server import busy_slots, slots_are_free

from engine_intelligence import Completed, Deadlines, IntelligenceLimits, spawn_host
from engine_intelligence.providers.backend import provider_over
from engine_intelligence.providers.llama_server import Endpoint
from engine_intelligence.providers.pydantic_ai import Options, PydanticAIBackend, create
from engine_intelligence.providers.stream import StreamProvider
from engine_intelligence.testing import check_provider

LONG = "Tell me a very long story about a knight, a castle and a dragon."
PATIENT = Deadlines(first_text_s=60, stall_s=60, activity_s=120, cancel_grace_s=10, close_grace_s=20)


@pytest.fixture
def endpoint(model_server: tuple[str, str]) -> Endpoint:
    return Endpoint(*model_server)


def backend(endpoint: Endpoint, *, max_tokens: int = 24) -> PydanticAIBackend:
    agent = make_gatekeeper(endpoint.address, endpoint.key, max_tokens=max_tokens)
    return create(Options(agent="minds:gatekeeper"), agent)


@pytest.mark.spec("P3", "P5")
def test_an_answer_streams_is_counted_and_the_next_one_follows_from_it(endpoint: Endpoint) -> None:
    async def scenario() -> None:
        async with dialogue(backend(endpoint)) as talk:
            ref = talk.submit("May I pass?")
            one = await talk.completed(ref)
            assert one.output == talk.text(ref)
            assert len(talk.texts(ref)) > 1
            assert one.finish in ("stop", "length")
            two = await talk.completed(talk.submit("Why?", one.session))
            assert [turn.input for turn in talk.store.history(one.session)] == ["May I pass?", "Why?"]
            assert one.usage is not None
            assert two.usage is not None
            assert 0 < one.usage.output_tokens <= 24
            assert two.usage.input_tokens > one.usage.input_tokens + one.usage.output_tokens

    asyncio.run(scenario())


@pytest.mark.spec("P3", "P5")
def test_the_server_answers_with_what_a_tool_has_found(endpoint: Endpoint) -> None:
    async def scenario() -> None:
        looked: list[str] = []
        agent = make_watchman(endpoint.address, endpoint.key, looked)
        async with dialogue(create(Options(agent="minds:watchman"), agent)) as talk:
            ref = talk.submit("Look at the gate and tell me what you see.")
            end = await talk.completed(ref)
            assert looked == ["gate"]
            assert "glass" in end.output
            assert end.output == talk.text(ref) == end.output.strip()
            assert len(talk.texts(ref)) > 1
            assert [turn.output for turn in talk.store.history(ref.session)] == [end.output]

    asyncio.run(scenario())


def test_structured_output_of_the_server_is_told_as_json(endpoint: Endpoint) -> None:
    async def scenario() -> None:
        judge = make_judge(endpoint.address, endpoint.key)
        async with dialogue(create(Options(agent="minds:judge"), judge)) as talk:
            ref = talk.submit("May I pass?")
            end = await talk.completed(ref)
            Verdict.model_validate_json(end.output)  # or raises
            assert talk.texts(ref) == [end.output]

    asyncio.run(scenario())


@pytest.mark.spec("P5", "S12")
def test_a_cancel_frees_the_slot_and_leaves_the_session_as_it_was(endpoint: Endpoint) -> None:
    async def scenario() -> None:
        async with dialogue(backend(endpoint, max_tokens=1500)) as talk:
            begun = await talk.completed(talk.submit("Hello. Answer with one word."))
            before = talk.store.history(begun.session)
            ref = talk.submit(LONG, begun.session)
            await talk.first_text(ref)
            assert await busy_slots(endpoint) == 1
            await talk.cancelled(ref)
            assert await slots_are_free(endpoint)
            assert talk.store.history(begun.session) == before
            await talk.completed(talk.submit("Are you there? Answer with one word.", begun.session))
            assert len(talk.store.history(begun.session)) == len(before) + 1

    asyncio.run(scenario())


@pytest.mark.spec("P7")
def test_a_conversation_goes_on_after_a_restart_of_the_host(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    for name, value in {
        "ENGINE_INTELLIGENCE_DATA_DIR": str(tmp_path / "data"),
        WHERE: endpoint.address,
        KEY: endpoint.key,
    }.items():
        monkeypatch.setenv(name, value)
    config = tmp_path / "host.toml"
    config.write_text('[providers.gatekeeper]\nkind = "pydantic-ai"\nagent = "agent_minds:gatekeeper"\n')
    with spawn_host(config) as host:
        first = ask(host, "gatekeeper", "Who are you?")
    assert isinstance(first, Completed), first
    assert first.usage is not None
    with spawn_host(config) as host:
        second = ask(host, "gatekeeper", "And who am I?", first.session)
    assert isinstance(second, Completed), second
    assert second.session == first.session
    assert second.usage is not None
    assert second.usage.input_tokens > first.usage.input_tokens + first.usage.output_tokens


@pytest.mark.spec("D1", "P2", "P3", "P5", "P6", "P7", "S12", "S13")
def test_it_keeps_the_contract_of_a_provider(endpoint: Endpoint) -> None:
    def make() -> StreamProvider:
        return provider_over(backend(endpoint, max_tokens=12), "gatekeeper", store=MemoryConversations())

    check_provider(make, limits=IntelligenceLimits(max_input_chars=500), deadlines=PATIENT, blocked_s=30)
