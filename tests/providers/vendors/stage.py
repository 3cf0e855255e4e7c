"""One Activity against a double of a vendor, through the real runtime, and what everybody saw of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from providers.vendors.columns import Column
from support.conversations import MemoryConversations
from support.vendor_behaviours import says
from support.vendor_double import Behaviour, VendorDouble
from support.vendor_speech import told_so_far

from engine_intelligence import (
    Deadlines,
    IntelligenceEvent,
    IntelligenceRuntime,
    Ok,
    SessionRef,
    create_intelligence_runtime,
)
from engine_intelligence.activity import Terminal
from engine_intelligence.conversation import Turn
from engine_intelligence.providers.backend import provider_over
from engine_intelligence.testing import ManualClock, Transcript

KEY = "sk-proj-Zk81Qm4TtX9bWvR2nLpY"
"""What must be seen in no event, log line or `repr`."""
SAID_BEFORE = Turn("Who are you?", "The gatekeeper.")
INPUT, NEXT_INPUT = "May I pass?", "And now?"
EARLIER_INPUT = "Is it open?"
NEXT_OUTPUT = "You may."

# By a clock that the game moves on, so that only what is meant to passes; except that retries wait by the real one.
DEADLINES = Deadlines(
    first_text_s=60.0, stall_s=30.0, activity_s=600.0, cancel_grace_s=60.0, close_grace_s=30.0
)
HANG_S = 40.0
"""After it a test gives up."""
FRAME_S = 0.002

ATTEMPTS = 3


@dataclass
class Stage:
    """What a case plays on."""

    double: VendorDouble
    runtime: IntelligenceRuntime
    clock: ManualClock
    session: SessionRef
    store: MemoryConversations
    told: Transcript = field(default_factory=Transcript)
    events: list[IntelligenceEvent] = field(default_factory=list[IntelligenceEvent])

    def submit(self, text: str) -> str:
        """Submit in the session what has to be accepted."""
        result = self.runtime.submit(text, self.session)
        assert isinstance(result, Ok), result
        return result.value.id

    async def frames(self, until: Callable[[], bool]) -> None:
        """Play frames of a game until that is so."""
        async with asyncio.timeout(HANG_S):
            while not until():
                self.events += self.told.take(self.runtime.poll())
                await asyncio.sleep(FRAME_S)

    async def terminal(self, activity_id: str) -> Terminal:
        """Play until an Activity has ended."""
        await self.frames(lambda: self.told.terminal(activity_id) is not None)
        terminal = self.told.terminal(activity_id)
        assert terminal is not None
        return terminal


Play: TypeAlias = Callable[[Stage], Awaitable[str]]
"""What the game does; returns the id of the Activity that it is about, which has ended."""


@dataclass(frozen=True)
class Seen:
    """What was seen of a case."""

    terminal: Terminal
    text: str
    """The deltas, joined."""
    said: str
    """The text that the double said."""
    requests: int
    next_terminal: Terminal
    """That of the next Activity of the session, to which the double gave a good answer."""
    next_messages: list[tuple[str, str]]
    """The conversation that was sent with it."""
    turns: list[Turn]
    """The session's turns in the store before that."""
    keys: set[str]
    """The keys that the double was sent, in both Activities."""
    elsewhere: int
    """How many requests came to another server with a key in them."""
    generated_for_nobody: int
    abandoned: int
    """How many Activities the provider has counted as abandoned."""
    public: list[str]
    """All texts that anybody got to see: events, their `repr`, log records, the provider's `repr`."""


async def play(
    column: Column,
    behaviours: tuple[Behaviour, ...],
    game: Play,
    *,
    listening: bool = True,
) -> Seen:
    """Play a case in a session that has one turn, and then one good turn more in that session."""
    async with VendorDouble(listening=listening) as double, VendorDouble() as elsewhere:
        double.elsewhere = elsewhere.address.replace("127.0.0.1", "localhost")
        elsewhere.will(says("Elsewhere."))
        double.will(*behaviours)
        with logged() as records, column.backend(double.address, KEY, ATTEMPTS, DEADLINES) as backend:
            store = MemoryConversations()
            provider = provider_over(backend, "gatekeeper", store=store)
            session = SessionRef("gatekeeper", "s-1")
            store.turns[session] = [SAID_BEFORE]
            clock = ManualClock()
            runtime = create_intelligence_runtime(provider, deadlines=DEADLINES, clock=clock)
            stage = Stage(double, runtime, clock, session, store)
            try:
                activity_id = await game(stage)
                # The connection of what is over was closed, by its own end or by the Host: no behaviour waits for it.
                await stage.frames(lambda: double.idle)
                asked = list(double.exchanges)
                turns = list(store.turns[session])
                await double.listen()
                double.will(says(NEXT_OUTPUT))
                next_terminal = await stage.terminal(stage.submit(NEXT_INPUT))
            finally:
                task = runtime.close()
                async with asyncio.timeout(HANG_S):
                    await task
            async with asyncio.timeout(HANG_S):
                await double.deserted.wait()
        assert double.raised == [], double.raised
        terminal = stage.told.terminal(activity_id)
        assert terminal is not None
        return Seen(
            terminal=terminal,
            text=stage.told.text(activity_id),
            said=asked[-1].said if asked else "",
            requests=len(asked),
            next_terminal=next_terminal,
            next_messages=told_so_far(double.exchanges[-1].request.json),
            turns=turns,
            keys={exchange.request.key for exchange in double.exchanges},
            elsewhere=sum(bool(exchange.request.key) for exchange in elsewhere.exchanges),
            abandoned=provider.abandoned,
            generated_for_nobody=sum(exchange.generated_for_nobody for exchange in double.exchanges),
            public=[*shown(stage.events), *printed(records), repr(backend), repr(provider)],
        )


def shown(events: list[IntelligenceEvent]) -> Iterator[str]:
    for event in events:
        yield repr(event)
        yield str(event)


def printed(records: list[logging.LogRecord]) -> Iterator[str]:
    for record in records:
        yield repr(record.args)
        yield logging.Formatter().format(record)


@contextmanager
def logged() -> Generator[list[logging.LogRecord]]:
    """All that is logged while somebody has asked for the most, as `logging.basicConfig(level=logging.DEBUG)` does."""
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    root, keep = logging.getLogger(), Keep(level=logging.DEBUG)
    level, levels = root.level, _levels()
    root.setLevel(logging.DEBUG)
    root.addHandler(keep)
    try:
        yield records
    finally:
        root.removeHandler(keep)
        root.setLevel(level)
        # What a provider has set, so that the next one has to set it again.
        for name in _levels():
            logging.getLogger(name).setLevel(levels.get(name, logging.NOTSET))


def _levels() -> Mapping[str, int]:
    loggers = logging.root.manager.loggerDict.items()
    return {name: logger.level for name, logger in loggers if isinstance(logger, logging.Logger)}


def conversation_of(*turns: Turn) -> list[tuple[str, str]]:
    """What is sent of these turns."""
    return [pair for turn in turns for pair in (("user", turn.input), ("assistant", turn.output))]
