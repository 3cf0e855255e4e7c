"""One `kill -9` of a game or of a Host, and a look at what it leaves."""

import os
import random
import select
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from support.process_games import Game
from support.process_marks import PATIENCE_S, Mark
from support.process_minds import MIND
from support.process_plans import Plan
from support.process_play import MINDS, QUICK

from campaign.census import census, surplus
from campaign.streams import Watched
from engine_intelligence import IntelligencePortClient, Ok, spawn_host
from engine_intelligence.realm.spawning import Transport

HOST_EYES: Mapping[str, float] = {"a loop of 60 Hz": 1 / 60, "a tight loop": 0.0}
"""How a game looks for the end of its Host, and how many seconds apart."""

LONGEST_BEFORE_S = 0.05
"""A kill comes up to so long after the first text."""

REASONS = ("host-ended", "frame-truncated")


@dataclass(frozen=True, kw_only=True)
class Killed:
    """What came of one kill: processes left, and the time from it until the last process was gone or the game noticed."""

    left: int
    ms: float
    wrong: str


class LastOf:
    """Tells when the last of the processes that carry a mark is gone, to the microsecond where they are known before."""

    def __init__(self, mark: Mark) -> None:
        self._mark = mark
        self._descriptors: list[int] = []
        for process in mark.alive():
            try:
                self._descriptors.append(os.pidfd_open(process.pid))
            except ProcessLookupError:
                continue

    def wait(self, patience_s: float = PATIENCE_S) -> tuple[float, int]:
        """The moment at which the last one was gone, and how many were left when patience ended; those are killed."""
        end = time.monotonic() + patience_s
        poll = select.poll()
        for descriptor in self._descriptors:
            poll.register(descriptor, select.POLLIN)
        waiting = set(self._descriptors)
        while waiting and time.monotonic() < end:
            for descriptor, _ in poll.poll(max(0.0, end - time.monotonic()) * 1000):
                poll.unregister(descriptor)
                waiting.discard(descriptor)
        moment = time.monotonic()
        for descriptor in self._descriptors:
            os.close(descriptor)
        while left := self._mark.alive():  # such as one that was started after the look
            moment = time.monotonic()
            if moment > end:
                self._mark.kill()
                return moment, len(left)
            time.sleep(0.001)
        return moment, 0


def kill_game(transport: Transport, number: int, *, agents: bool = False) -> Killed:
    """Kill a game whose Host streams two texts, with `agents` beside processes that nothing but a kill ends."""
    mark = Mark()
    wait_s = random.Random(f"game {transport} {number}").uniform(0, LONGEST_BEFORE_S)
    before = census()
    try:
        inputs = ("agents", "talk", "flood") if agents else ("talk", "flood")
        with Game(Plan(transport=transport, inputs=inputs), mark.environment) as game:
            game.report()
            last = LastOf(mark)
            time.sleep(wait_s)
            killed_at = time.monotonic()
            os.kill(game.process.pid, signal.SIGKILL)
            gone_at, left = last.wait()
            game.process.wait(PATIENCE_S)
    finally:
        mark.kill()
    return Killed(left=left, ms=(gone_at - killed_at) * 1000, wrong=unlike(before, f"game {number}"))


def kill_host(transport: Transport, number: int, eye: str, *, agents: bool = False) -> Killed:
    """Kill the Host of a game, which is this process, in the middle of a text and at any point of a frame.

    With `agents` a provider of it has started processes that nothing but a kill ends.
    """
    mark = Mark()
    moments = random.Random(f"host {transport} {number}")
    before = census()
    try:
        with spawn_host(
            f"{MINDS}:mind", transport=transport, environment=mark.environment, deadlines=QUICK
        ) as connection:
            client = connection.client(MIND)
            watched = Watched(client)
            if agents:
                watched.submit("agents")
                watched.play(0.0, pause_s=0.001)  # until they are there
            watched.submit("talk")
            watched.play(moments.uniform(0, LONGEST_BEFORE_S), pause_s=0.001)
            last = LastOf(mark)
            interval_s = HOST_EYES[eye]
            into_frame_s = moments.uniform(0, interval_s)
            time.sleep(into_frame_s)
            killed_at = time.monotonic()
            os.kill(connection.pid, signal.SIGKILL)
            time.sleep(interval_s - into_frame_s)
            noticed_at = until_closed(watched, interval_s)
            _, left = last.wait()
            wrong = [*watched.wrong, *wrong_end(client)]
            connection.close().wait()
    finally:
        mark.kill()
    wrong += filter(None, [unlike(before, f"host {number}")])
    return Killed(left=left, ms=(noticed_at - killed_at) * 1000, wrong="; ".join(wrong))


def until_closed(watched: Watched, interval_s: float) -> float:
    """Poll as a game does until the client is closed; when that was."""
    end = time.monotonic() + PATIENCE_S
    while True:
        watched.poll()
        if watched.client.closed or time.monotonic() > end:
            return time.monotonic()
        if interval_s:
            time.sleep(interval_s)


def wrong_end(client: IntelligencePortClient) -> Iterable[str]:
    """What is not as it has to be after the end of a Host (rules C4 and C5)."""
    if not client.closed:
        return ["the client was never closed"]
    refused = client.submit("anyone?")
    if isinstance(refused, Ok):
        return ["a closed client accepted a submit"]
    reason = refused.error.detail.reason
    return [] if reason in REASONS else [f"closed for the reason {reason}"]


def unlike(before: dict[str, int], what: str) -> str:
    """What this process holds more of than before the kill."""
    after = census()
    return f"{what} left {after} after {before}" if surplus(before, after) else ""
