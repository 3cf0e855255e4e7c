"""Kind `openai` with a real SDK, a real server and a real model, by both interfaces."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from providers.answering import PATIENCE_S
from support.conversations import MemoryConversations

from engine_intelligence import (
    Cancelled,
    Completed,
    Deadlines,
    Failed,
    IntelligenceLimits,
    SessionRef,
    TextDelta,
    spawn_host,
)
from engine_intelligence.activity import Terminal
from engine_intelligence.providers.backend import provider_over
from engine_intelligence.providers.openai import Options, create
from engine_intelligence.providers.stream import StreamProvider
from engine_intelligence.providers.vendor import Access
from engine_intelligence.realm.connection import HostConnection
from engine_intelligence.result import Ok
from engine_intelligence.runtime import IntelligenceRuntime, create_intelligence_runtime
from engine_intelligence.testing import check_provider

Server = tuple[str, str]
INTERFACES = pytest.mark.parametrize("interface", ["chat", "responses"])
LONG = "Tell me a very long story about a knight, a castle and a dragon."
FRAME_S = 0.005


def provider_at(server: Server, options: Options) -> StreamProvider:
    address, key = server
    backend = create(options, Access(key, f"{address}/v1"))
    return provider_over(backend, "gatekeeper", store=MemoryConversations())


@asynccontextmanager
async def runtime_at(server: Server, options: Options) -> AsyncGenerator[IntelligenceRuntime]:
    runtime = create_intelligence_runtime(provider_at(server, options))
    try:
        yield runtime
    finally:
        await runtime.close()


async def turn(
    runtime: IntelligenceRuntime, input: str, session: SessionRef | None = None, *, cancel: bool = False
) -> tuple[list[str], Terminal]:
    """The texts that were polled, and the end; with `cancel` it is cancelled at its first text."""
    started = runtime.submit(input, session)
    assert isinstance(started, Ok), started
    texts: list[str] = []
    async with asyncio.timeout(PATIENCE_S):
        while True:
            for event in runtime.poll():
                if isinstance(event, TextDelta):
                    texts.append(event.text)
                    if cancel:
                        runtime.cancel(started.value.id)
                else:
                    return texts, event
            await asyncio.sleep(FRAME_S)


async def busy_slots(server: Server) -> int:
    address, key = server
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(base_url=address, headers=headers, trust_env=False) as client:
        return sum(slot["is_processing"] for slot in (await client.get("/slots")).json())


async def slots_are_free(server: Server) -> bool:
    async with asyncio.timeout(PATIENCE_S):
        while await busy_slots(server):  # noqa: ASYNC110 - another process tells no event
            await asyncio.sleep(FRAME_S)
    return True


@INTERFACES
@pytest.mark.spec("P5", "P7")
def test_a_conversation_streams_and_goes_on(model_server: Server, interface: Any) -> None:
    options = Options(interface=interface, instructions="You keep a gate.", max_tokens=24)

    async def scenario() -> None:
        async with runtime_at(model_server, options) as runtime:
            texts, one = await turn(runtime, "May I pass?")
            assert isinstance(one, Completed), one
            assert one.output == "".join(texts)
            assert one.usage is not None
            _, two = await turn(runtime, "Why?", one.session)
            assert isinstance(two, Completed), two
            assert two.usage is not None
            assert two.usage.input_tokens > one.usage.input_tokens  # it was told what was said before

    asyncio.run(scenario())


@INTERFACES
def test_an_answer_that_reaches_its_bound_says_so(model_server: Server, interface: Any) -> None:
    async def scenario() -> None:
        async with runtime_at(model_server, Options(interface=interface, max_tokens=4)) as runtime:
            _, end = await turn(runtime, LONG)
            assert isinstance(end, Completed), end
            assert end.finish == "length"
            assert end.usage is not None
            assert end.usage.output_tokens == 4

    asyncio.run(scenario())


@INTERFACES
@pytest.mark.spec("P5", "S12")
@pytest.mark.fault("C9")
def test_a_cancel_frees_the_slot_and_the_session_goes_on(model_server: Server, interface: Any) -> None:
    options = Options(interface=interface, max_tokens=1500)

    async def scenario() -> None:
        async with runtime_at(model_server, options) as runtime:
            _, one = await turn(runtime, "Hello. Answer with one word.")
            assert isinstance(one, Completed), one
            _, end = await turn(runtime, LONG, one.session, cancel=True)
            assert isinstance(end, Cancelled), end
            assert await slots_are_free(model_server)
            _, next_ = await turn(runtime, "Are you there? Answer with one word.", one.session)
            assert isinstance(next_, Completed), next_

    asyncio.run(scenario())


@INTERFACES
def test_what_the_model_cannot_read_is_refused(model_server: Server, interface: Any) -> None:
    async def scenario() -> None:
        async with runtime_at(model_server, Options(interface=interface, max_tokens=8)) as runtime:
            _, end = await turn(runtime, "word " * 3000)
            assert isinstance(end, Failed), end
            assert end.error.detail.reason == "refused"

    asyncio.run(scenario())


@INTERFACES
def test_a_wrong_key_is_told_as_one(model_server: Server, interface: Any) -> None:
    async def scenario() -> None:
        options = Options(interface=interface, model="any")
        async with runtime_at((model_server[0], "sk-wrong"), options) as runtime:
            _, end = await turn(runtime, "Hello")
            assert isinstance(end, Failed), end
            assert end.error.detail.reason == "auth"
            assert end.error.detail.cause == "the service does not let this account in (status 401)"

    asyncio.run(scenario())


@INTERFACES
@pytest.mark.spec("D1", "P2", "P3", "P5", "P6", "P7", "S12", "S13")
def test_it_keeps_the_contract_of_a_provider(model_server: Server, interface: Any) -> None:
    check_provider(
        lambda: provider_at(model_server, Options(interface=interface, max_tokens=12)),
        limits=IntelligenceLimits(max_input_chars=500),
        deadlines=Deadlines(first_text_s=60, stall_s=60, activity_s=120, cancel_grace_s=10, close_grace_s=20),
        blocked_s=30,
    )


def ask(host: HostConnection, text: str, session: SessionRef | None = None) -> Completed | Failed:
    client = host.client("gatekeeper")
    assert client.submit(text, session).ok
    give_up_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_s:
        for event in client.poll():
            if isinstance(event, Completed | Failed):
                return event
        time.sleep(FRAME_S)
    raise AssertionError(client.close_reason or "no end")


@INTERFACES
@pytest.mark.spec("H1", "P7")
def test_a_conversation_goes_on_after_a_restart_of_the_host(
    model_server: Server, interface: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_INTELLIGENCE_DATA_DIR", str(tmp_path))
    address, key = model_server
    file = tmp_path / "key"
    file.write_text(f"{key}\n")
    options = {
        "base_url": f"{address}/v1",
        "key": {"file": str(file)},
        "interface": interface,
        "max_tokens": 24,
    }

    def start() -> HostConnection:
        return spawn_host("openai", provider_id="gatekeeper", options=options)

    with start() as host:
        first = ask(host, "May I pass?")
    assert isinstance(first, Completed), first
    with start() as host:
        second = ask(host, "Why?", first.session)
    assert isinstance(second, Completed), second
    assert first.usage is not None
    assert second.usage is not None
    assert second.session == first.session
    assert second.usage.input_tokens > first.usage.input_tokens  # the first turn was sent along


@pytest.mark.spec("H4", "E2")
def test_a_host_finds_the_vendors_variables(model_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    address, key = model_server
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with spawn_host("openai", provider_id="gatekeeper", options={"max_tokens": 8}) as host:
        end = ask(host, "Hello")
    assert isinstance(end, Completed), end
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    with spawn_host("openai", provider_id="gatekeeper") as host, pytest.raises(AssertionError, match="key"):
        ask(host, "Hello")
