"""A game that times each of its calls: `python -m campaign.costs_realm STATE TRANSPORT CALLS [marked]`.

Marked, it names each call to a tracer of its system calls by a look for a file that does not exist.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from support.process_marks import PATIENCE_S
from support.process_minds import MIND
from support.process_play import MINDS

from campaign.summary import spread
from engine_intelligence import (
    ActivityRef,
    Deadlines,
    HostConnection,
    IntelligenceError,
    IntelligenceLimits,
    IntelligencePortClient,
    Ok,
    Result,
    TextDelta,
    spawn_host,
)
from engine_intelligence.realm.spawning import Transport

T = TypeVar("T")

MARK = "/campaign-of-engine-intelligence/"
CALLS = ("submit", "poll", "cancel")
BACKGROUND = 4
"""So many Activities stream or flood while the calls are timed."""

# More than is submitted to a Host that takes nothing, and nearly as much output as may be.
ROOMY = IntelligenceLimits(max_concurrent_activities=100_000, max_output_chars=1_000_000)
PATIENT = Deadlines(close_grace_s=0.3, unresponsive_s=3600.0)


class Clocked:
    """A client whose calls are timed, in nanoseconds."""

    def __init__(self, client: IntelligencePortClient, marked: bool, took: dict[str, list[int]]) -> None:
        self.client = client
        self._marked = marked
        self._took = took

    def submit(self, input: str) -> Result[ActivityRef, IntelligenceError]:
        return self._call("submit", lambda: self.client.submit(input))

    def poll(self) -> list[Any]:
        return self._call("poll", self.client.poll)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        return self._call("cancel", lambda: self.client.cancel(activity_id))

    def _call(self, name: str, call: Callable[[], T]) -> T:
        if self._marked:
            os.access(MARK + name, 0)
        began = time.perf_counter_ns()
        value = call()
        self._took[name].append(time.perf_counter_ns() - began)
        if self._marked:
            os.access(MARK + "end", 0)
        return value


class Realm:
    """The scenarios, and what they found."""

    def __init__(self, transport: Transport, calls: int, marked: bool) -> None:
        self._transport: Transport = transport
        self._calls = calls
        self._marked = marked
        self.took: dict[str, list[int]] = {name: [] for name in CALLS}
        self.noticing: list[int] = []
        self.wrong: list[str] = []

    def streaming(self) -> None:
        self._against_a_host_that_says("talk")

    def flooding(self) -> None:
        self._against_a_host_that_says("flood")

    def frozen(self) -> None:
        """SIGSTOP: nothing comes, and what is sent is kept by the system and then by this process."""
        with self._host() as connection:
            clocked = self._clocked(connection)
            until_text(clocked.client, "talk")
            os.kill(connection.pid, signal.SIGSTOP)
            for _ in range(self._calls):
                submitted = clocked.submit("talk")
                clocked.poll()
                if isinstance(submitted, Ok):
                    clocked.cancel(submitted.value.id)
                else:
                    self.wrong.append(f"refused: {submitted.error.code}")
            self._must_be(clocked.client, closed=False)

    def dead(self) -> None:
        """SIGKILL, and the client has noticed."""
        with self._host() as connection:
            clocked = self._clocked(connection)
            activity_id = until_text(clocked.client, "talk")
            os.kill(connection.pid, signal.SIGKILL)
            until(lambda: clocked.client.closed)
            for _ in range(self._calls):
                clocked.submit("talk")
                clocked.poll()
                clocked.cancel(activity_id)
            self._must_be(clocked.client, closed=True)

    def dying(self) -> None:
        """SIGKILL, and the same call again and again until one has noticed; new Hosts until there were enough calls."""
        for name in CALLS:
            kills = 0
            while len(self.took[name]) < self._calls or kills < self._calls / 400:
                self._die(name)
                kills += 1

    def starting(self) -> None:
        """Every call from `spawn_host` on until the Host speaks, again and again until there were so many."""
        while min(map(len, self.took.values())) < self._calls:
            with self._host() as connection:
                clocked = self._clocked(connection)
                spoke = False
                end = time.monotonic() + PATIENCE_S
                while not spoke and time.monotonic() < end:
                    submitted = clocked.submit("talk")
                    spoke = bool(clocked.poll())
                    if isinstance(submitted, Ok):
                        clocked.cancel(submitted.value.id)
                self._must_be(clocked.client, closed=False)

    def _against_a_host_that_says(self, what: str) -> None:
        with self._host() as connection:
            clocked = self._clocked(connection)
            for _ in range(BACKGROUND):
                until_text(clocked.client, what)
            for _ in range(self._calls):
                submitted = clocked.submit(what)
                clocked.poll()
                if isinstance(submitted, Ok):
                    clocked.cancel(submitted.value.id)
                until(lambda: self._settled(clocked))
                while clocked.client.held_activities < BACKGROUND:
                    clocked.submit(what)  # one of the others has said as much as it may
            self._must_be(clocked.client, closed=False)

    @staticmethod
    def _settled(clocked: Clocked) -> bool:
        clocked.poll()
        return clocked.client.held_activities <= BACKGROUND

    def _die(self, name: str) -> None:
        with self._host() as connection:
            clocked = self._clocked(connection)
            until_text(clocked.client, "talk")
            ids = [until_text(clocked.client, "talk") for _ in range(BACKGROUND)]
            os.kill(connection.pid, signal.SIGKILL)
            end = time.monotonic() + PATIENCE_S
            number = 0
            # A client that has closed holds nothing; asking for it does not look, and so does not notice.
            while clocked.client.held_activities and time.monotonic() < end:
                number += 1
                match name:
                    case "submit":
                        clocked.submit("talk")
                    case "poll":
                        clocked.poll()
                    case _:
                        clocked.cancel(ids[number % len(ids)])
            self.noticing.append(self.took[name][-1])
            self._must_be(clocked.client, closed=True)

    def _host(self) -> HostConnection:
        return spawn_host(f"{MINDS}:mind", transport=self._transport, limits=ROOMY, deadlines=PATIENT)

    def _clocked(self, connection: HostConnection) -> Clocked:
        return Clocked(connection.client(MIND), self._marked, self.took)

    def _must_be(self, client: IntelligencePortClient, *, closed: bool) -> None:
        if client.closed is not closed:
            self.wrong.append(f"closed: {client.close_reason}" if client.closed else "not closed")
        if threading.active_count() != 1 or len(os.listdir("/proc/self/task")) != 1:
            self.wrong.append("there is a second thread")


def until(condition: Callable[[], bool]) -> None:
    """As a game that does nothing else, without a pause; raises `TimeoutError` after long."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("what was waited for never came")


def until_text(client: IntelligencePortClient, input: str) -> str:
    """Submit, and poll until there is text of it; its id."""
    submitted = client.submit(input)
    assert isinstance(submitted, Ok)
    activity_id = submitted.value.id

    def came() -> bool:
        assert not client.closed, client.close_reason
        return any(isinstance(e, TextDelta) and e.activity_id == activity_id for e in client.poll())

    until(came)
    return activity_id


STATES = ("starting", "streaming", "flooding", "frozen", "dying", "dead")


def main(state: str, transport: Transport, calls: int, marked: bool) -> dict[str, Any]:
    realm = Realm(transport, calls, marked)
    scenario: Callable[[], None] = getattr(realm, state)
    scenario()
    found: dict[str, Any] = {
        "ns": {name: spread(took, digits=0) for name, took in realm.took.items()},
        "wrong": realm.wrong[:20],
    }
    if realm.noticing:
        found["noticing_ns"] = spread(realm.noticing, digits=0)
    return found


if __name__ == "__main__":
    assert sys.argv[1] in STATES
    way: Transport = "loopback" if sys.argv[2] == "loopback" else "socket"
    print(json.dumps(main(sys.argv[1], way, int(sys.argv[3]), "marked" in sys.argv[4:])))
