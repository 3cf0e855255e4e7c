"""A hundred Activities over ten sessions at once: nothing interleaves, and each conversation is in order (rule P6)."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from support.loop import settle
from support.process_marks import PATIENCE_S
from support.remembering_minds import MIND, a_mind
from support.remembering_play import check_turns, kept, session, start

from engine_intelligence import (
    Completed,
    IntelligenceEvent,
    IntelligenceLimits,
    IntelligenceService,
    Ok,
    TextDelta,
    create_intelligence_runtime,
)
from engine_intelligence.testing import Transcript

SESSIONS = [session(f"s{number}") for number in range(10)]
EACH = 10
LIMITS = IntelligenceLimits(max_concurrent_activities=len(SESSIONS) * EACH)


class Crowd:
    """Everything is said in one frame, now to one and now to the next, and then it is listened to."""

    def __init__(self, service: IntelligenceService) -> None:
        self._service = service
        self.told = Transcript()
        self.events: list[IntelligenceEvent] = []
        self.inputs: dict[str, list[str]] = {where.id: [] for where in SESSIONS}
        self.asked: dict[str, tuple[str, str]] = {}
        for number in range(EACH):
            for where in SESSIONS:
                input = f"{where.id}.{number}"
                started = service.submit(input, where)
                assert isinstance(started, Ok), started
                self.asked[started.value.id] = (where.id, input)
                self.inputs[where.id].append(input)

    def listen(self) -> bool:
        """Take what has come; whether something is to come."""
        self.events.extend(self.told.take(self._service.poll()))
        return len(self.told.ended) < len(self.asked)

    def check(self, path: Path) -> None:
        for where in SESSIONS:
            turns = kept(path, where)
            assert check_turns(turns, alone=True) == self.inputs[where.id]
            assert [(turn.input, turn.output) for turn in turns] == self._exchanges(where.id)
        self._check_order()

    def _exchanges(self, where: str) -> list[tuple[str, str]]:
        """What was asked and answered in a session as the game saw it, in the order of the answers."""
        found: list[tuple[str, str]] = []
        for activity_id in self.told.ended:
            terminal = self.told.terminal(activity_id)
            assert isinstance(terminal, Completed), terminal
            place, input = self.asked[activity_id]
            assert terminal.session == session(place)
            assert self.told.text(activity_id) == terminal.output
            if place == where:
                found.append((input, terminal.output))
        return found

    def _check_order(self) -> None:
        """In a session, no text of one Activity comes before the terminal of the one before it."""
        speaking: dict[str, str] = {}
        for event in self.events:
            place, input = self.asked[event.activity_id]
            assert speaking.setdefault(place, input) == input
            if not isinstance(event, TextDelta):
                del speaking[place]


Play = Callable[[Path], Awaitable[Crowd]]


async def on_a_runtime(path: Path) -> Crowd:
    runtime = create_intelligence_runtime(a_mind(str(path)), limits=LIMITS)
    crowd = Crowd(runtime)
    while crowd.listen():
        await settle(1)
    await runtime.close()
    return crowd


async def on_a_host(path: Path) -> Crowd:
    with start(path, limits=LIMITS) as host:
        client = host.client(MIND, limits=LIMITS)
        crowd = Crowd(client)
        gives_up_at = time.monotonic() + 3 * PATIENCE_S
        while crowd.listen():
            assert not client.closed, client.close_reason
            assert time.monotonic() < gives_up_at, "not all answers came"
            await asyncio.sleep(0.001)
    return crowd


@pytest.mark.spec("P6")
@pytest.mark.parametrize("play", [on_a_runtime, on_a_host])
def test_a_hundred_activities_over_ten_sessions_come_one_after_the_other_in_each(
    play: Play, tmp_path: Path
) -> None:
    path = tmp_path / "conversations.sqlite3"

    async def run() -> Crowd:
        return await play(path)

    asyncio.run(run()).check(path)
