"""A game that goes on for minutes while a hundredth of its Activities fail.

python -m campaign.soak_realm SECONDS SEED TRANSPORT
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter, deque
from typing import Any

from support.process_marks import PATIENCE_S, Mark
from support.process_minds import MIND

from campaign.census import census, surplus
from campaign.killing import LastOf
from campaign.soaking import FAULTY_SHARE, LONGEST_STOP_S, SOAK_DEADLINES, Ongoing, choose
from campaign.streams import Watched
from campaign.trend import Trend
from engine_intelligence import HostConnection, IntelligenceEvent, Ok, SessionRef, TextDelta, spawn_host
from engine_intelligence.realm.spawning import Transport

PAUSE_S = 0.004
"""Between two polls: four times as often as a game of 60 frames, for more Activities in the time."""

PLACES = 8
SESSIONS = 16
"""So many of the conversations that ended well are gone on with."""

# Whatever becomes of an Activity, it ends by its deadline and the graces; and a busy machine is given time.
END_BY_S = SOAK_DEADLINES.activity_s + SOAK_DEADLINES.close_grace_s + 10.0

WRONG_SHOWN = 20


class Soak:
    """The game: it keeps its places full, and checks whatever comes."""

    def __init__(self, transport: Transport, seed: int, *, faulty_share: float = FAULTY_SHARE) -> None:
        self._transport: Transport = transport
        self._moments = random.Random(f"soak {seed}")
        self._faulty_share = faulty_share
        self._mark = Mark()
        self._ongoing: dict[str, Ongoing] = {}
        self._said_to_have_ended: list[str] = []
        self._sessions: deque[SessionRef] = deque(maxlen=SESSIONS)
        self._go_on_at: float | None = None  # when a Host that is stopped goes on
        self.kinds: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.events = 0
        self.hosts = 0
        self.wrong: list[str] = []
        self.trend = Trend()
        self._connect()

    def play(self, seconds: float) -> None:
        """Go on for so long, and then until everything has ended."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            self._fill(now)
            self._frame(now)
            self.trend.sample(now, self.connection.pid)
        end = time.monotonic() + END_BY_S
        while self._ongoing and (now := time.monotonic()) < end:
            self._frame(now)

    def close(self) -> int:
        """End the Host; how many processes are left."""
        self._resume()
        self._check_all()
        last = LastOf(self._mark)
        self.connection.close().wait(PATIENCE_S)
        return last.wait()[1]

    def _connect(self) -> None:
        self.hosts += 1
        self.connection: HostConnection = spawn_host(
            "campaign.minds:mind",
            transport=self._transport,
            environment=self._mark.environment,
            deadlines=SOAK_DEADLINES,
        )
        self._watched = Watched(self.connection.client(MIND))

    def _frame(self, now: float) -> None:
        self._cancel_due(now)
        if self._go_on_at is not None and now >= self._go_on_at:
            self._resume()
        for event in self._watched.poll():
            self._came(event)
        # Whatever cancel does not find has ended: its terminal has arrived, and the next poll has to hand it out (rule S13).
        for activity_id in self._said_to_have_ended:
            if activity_id in self._ongoing and not self._watched.client.closed:
                self._note(f"{self._ongoing[activity_id].kind}: cancel did not find it, and it has not ended")
        self._said_to_have_ended.clear()
        if self._watched.client.closed:
            self._lost()
        elif self._watched.client.held_activities != len(self._ongoing):
            self._note(f"{self._watched.client.held_activities} places held for {len(self._ongoing)}")
        for activity_id in [i for i, each in self._ongoing.items() if now > each.accepted_at + END_BY_S]:
            self._note(f"{self._ongoing.pop(activity_id).kind}: it never ended")
        time.sleep(PAUSE_S)

    def _fill(self, now: float) -> None:
        while len(self._ongoing) < PLACES:
            kind, fault = choose(self._moments, self._faulty_share)
            self.kinds[kind] += 1
            input = f"{fault.temper} {self.kinds.total()}"
            started = self._watched.submit(input, self._some_session())
            if started is None:
                return  # which `Watched` has noted, or the Host is gone, which the next frame sees
            within_s = fault.cancels_within_s
            self._ongoing[started.id] = Ongoing(
                kind=kind,
                fault=fault,
                input=input,
                session=started.session,
                accepted_at=now,
                cancel_at=None if within_s is None else now + self._moments.uniform(0, within_s),
            )
            self._strike(fault.signal, now)

    def _some_session(self) -> SessionRef | None:
        """That of a conversation that is not going on, now and then."""
        return self._sessions.popleft() if self._sessions and self._moments.random() < 0.3 else None

    def _strike(self, what: str, now: float) -> None:
        if what == "stop" and self._go_on_at is None:
            os.kill(self.connection.pid, signal.SIGSTOP)
            self._go_on_at = now + self._moments.uniform(0.02, LONGEST_STOP_S)
        elif what == "kill":
            os.kill(self.connection.pid, signal.SIGKILL)
            self._go_on_at = None
            self._until_lost()

    def _resume(self) -> None:
        if self._go_on_at is not None:
            os.kill(self.connection.pid, signal.SIGCONT)
            self._go_on_at = None

    def _cancel_due(self, now: float) -> None:
        for activity_id, each in self._ongoing.items():
            if each.cancel_at is not None and now >= each.cancel_at:
                each.cancel_at = None
                result = self._watched.client.cancel(activity_id)
                if isinstance(result, Ok):
                    self._watched.ledger.cancelled[activity_id] = now
                elif result.error.code == "intelligence-activity-not-found":
                    self._said_to_have_ended.append(activity_id)
                elif not self._watched.client.closed:
                    self._note(f"{each.kind}: cancel was refused: {result.error.code}")

    def _came(self, event: IntelligenceEvent) -> None:
        self.events += 1
        if isinstance(event, TextDelta):
            return
        self.ends[event.type] += 1
        each = self._ongoing.pop(event.activity_id, None)
        self._watched.forget(event.activity_id)
        if each is None:
            self._note(f"{event.type} of what had ended")
        elif wrong := each.wrong(event):
            self._note(wrong)
        elif event.type == "completed":
            self._sessions.append(each.session)

    def _until_lost(self) -> None:
        """Poll until the end of a Host that was killed is seen (rule C5)."""
        end = time.monotonic() + PATIENCE_S
        while not self._watched.client.closed:
            for event in self._watched.poll():
                self._came(event)
            if time.monotonic() > end:
                self._note("the end of a Host was never noticed")
                break
        if self._watched.client.poll() or isinstance(self._watched.client.submit("anyone?"), Ok):
            self._note("a closed client went on")
        self._again()

    def _lost(self) -> None:
        self._note(f"a Host was lost: {self._watched.client.close_reason}")
        self._again()

    def _again(self) -> None:
        self._check_all()
        self._ongoing.clear()
        self.connection.close().wait(PATIENCE_S)
        self._connect()

    def _check_all(self) -> None:
        for what in self._watched.wrong:
            self._note(what)
        self._watched.wrong.clear()

    def _note(self, what: str) -> None:
        self.wrong.append(what)


def main(seconds: float, seed: int, transport: Transport) -> dict[str, Any]:
    """Soak for so long; what was found."""
    before = census()
    soak = Soak(transport, seed)
    soak.play(seconds)
    left = soak.close()
    after = census()
    return {
        "activities": soak.kinds.total(),
        "faults": {kind: count for kind, count in sorted(soak.kinds.items()) if kind != "whole"},
        "ends": dict(soak.ends),
        "events": soak.events,
        "hosts": soak.hosts,
        "processes_left": left,
        "before": before,
        "after": after,
        "left": surplus(before, after),
        "wrong_count": len(soak.wrong),
        "wrong": soak.wrong[:WRONG_SHOWN],
        **soak.trend.record(),
    }


if __name__ == "__main__":
    way: Transport = "loopback" if sys.argv[3] == "loopback" else "socket"
    print(json.dumps(main(float(sys.argv[1]), int(sys.argv[2]), way)))
