"""Talking to a provider through the runtime, as a Host does, and to a Host, as a game does."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from engine_intelligence.activity import (
    ActivityRef,
    Cancelled,
    Completed,
    Failed,
    IntelligenceEvent,
    SessionRef,
    Terminal,
    TextDelta,
)
from engine_intelligence.conversation import ConversationStore
from engine_intelligence.limits import IntelligenceLimits
from engine_intelligence.providers.backend import Backend, provider_over
from engine_intelligence.providers.stream import StreamProvider
from engine_intelligence.realm.connection import HostConnection
from engine_intelligence.result import Ok
from engine_intelligence.runtime import IntelligenceRuntime, create_intelligence_runtime
from engine_intelligence.sessions.sqlite import SqliteConversationStore

FRAME_S = 0.005
PATIENCE_S = 60.0  # only a test that fails waits for it


@dataclass
class Dialogue:
    """A provider and its runtime, and the events that were polled, by Activity."""

    provider: StreamProvider
    runtime: IntelligenceRuntime
    store: ConversationStore
    events: dict[str, list[IntelligenceEvent]] = field(default_factory=dict[str, list[IntelligenceEvent]])

    def submit(self, input: str, session: SessionRef | None = None) -> ActivityRef:
        started = self.runtime.submit(input, session)
        assert isinstance(started, Ok), started
        self.events[started.value.id] = []
        return started.value

    async def frame(self) -> None:
        for event in self.runtime.poll():
            self.events[event.activity_id].append(event)
        await asyncio.sleep(FRAME_S)

    def texts(self, ref: ActivityRef) -> list[str]:
        return [event.text for event in self.events[ref.id] if isinstance(event, TextDelta)]

    def text(self, ref: ActivityRef) -> str:
        return "".join(self.texts(ref))

    async def first_text(self, ref: ActivityRef) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not self.text(ref):
                await self.frame()

    async def end(self, ref: ActivityRef) -> Terminal:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for event in self.events[ref.id]:
                    if isinstance(event, Completed | Failed | Cancelled):
                        return event
                await self.frame()

    async def completed(self, ref: ActivityRef) -> Completed:
        end = await self.end(ref)
        assert isinstance(end, Completed), end
        return end

    async def failed(self, ref: ActivityRef) -> Failed:
        end = await self.end(ref)
        assert isinstance(end, Failed), end
        return end

    async def cancelled(self, ref: ActivityRef) -> Cancelled:
        assert self.runtime.cancel(ref.id).ok
        end = await self.end(ref)
        assert isinstance(end, Cancelled), end
        return end


@asynccontextmanager
async def dialogue(
    backend: Backend, *, store: ConversationStore | None = None, limits: IntelligenceLimits | None = None
) -> AsyncGenerator[Dialogue]:
    """A dialogue with `backend`, in memory or in `store`; both are closed at its end."""
    store = SqliteConversationStore(None) if store is None else store
    provider = provider_over(backend, "gatekeeper", store=store)
    runtime = create_intelligence_runtime(provider, limits=limits)
    try:
        yield Dialogue(provider, runtime, store)
    finally:
        await runtime.close()


def ask(
    host: HostConnection, provider_id: str, text: str, session: SessionRef | None = None
) -> Completed | Failed:
    """How an Activity of a Host ends, by polling as a game does."""
    client = host.client(provider_id)
    assert client.submit(text, session).ok
    give_up_s = time.monotonic() + 2 * PATIENCE_S
    while time.monotonic() < give_up_s:
        for event in client.poll():
            if isinstance(event, Completed | Failed):
                return event
        time.sleep(FRAME_S)
    raise AssertionError(client.close_reason or "no end")
