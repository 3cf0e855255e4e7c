"""One schedule: a realm, a Host and the wire between them, moved step by step as a seed decides.

The realm's code and the Host's code are the real ones, from the client down to the frames and from the frames up to
the runtime. Only the clock, the wire and the provider are made up.
"""

import asyncio
import hashlib
from collections.abc import Callable
from random import Random
from typing import Any

from simulation.clockwork import ClockworkLoop
from simulation.ledger import RealmLedger, Violation, WireTap, require
from simulation.mind import Mind
from simulation.wire import Wire

from engine_intelligence import (
    Deadlines,
    IntelligenceLimits,
    IntelligencePortClient,
    Ok,
    SessionRef,
    create_intelligence_port_client,
)
from engine_intelligence.host.config import HostPlan, ProviderPlan
from engine_intelligence.host.server import HostServer
from engine_intelligence.ports.realm_link import SocketLink
from engine_intelligence.ports.realm_stream import RealmStream

# Small, so that every bound is met within a schedule.
LIMITS = IntelligenceLimits(
    max_input_chars=8,
    max_output_chars=24,
    max_concurrent_activities=3,
    max_pending_events_per_activity=3,
    max_poll_events=4,
)
DEADLINES = Deadlines(
    first_text_s=5, stall_s=3, activity_s=20, cancel_grace_s=1, close_grace_s=2, unresponsive_s=4
)
PROVIDERS = ("mind-0", "mind-1")

START_S = 1000.0

# How much later than a bound something may be seen: two looks of the healing phase.
SLACK_S = 1.0


class World:
    """One schedule in the making. `trace` is what was done, in order, and what came of it."""

    def __init__(self, seed: int, loop: ClockworkLoop) -> None:
        self.random = Random(seed)
        self.loop = loop
        self.trace: list[str] = []
        self.minds = {name: Mind(name, self.random) for name in PROVIDERS}
        plans = {name: ProviderPlan(mind.itself, LIMITS) for name, mind in self.minds.items()}
        plan = HostPlan(plans, DEADLINES)
        self.server = HostServer(plan, None)
        self.serving = loop.create_task(self.server.run())
        self.tap = WireTap(LIMITS)
        self.wire = Wire(self.random, self.server.stream, self.tap)
        self.stream = RealmStream(SocketLink(self.wire.realm_end))
        self.clients: dict[str, IntelligencePortClient] = {}
        self.ledgers: dict[str, RealmLedger] = {}
        self.sessions: dict[str, list[SessionRef]] = {name: [] for name in PROVIDERS}
        self._made = 0
        for name in PROVIDERS:
            self.clients[name] = create_intelligence_port_client(
                name,
                self.stream.open(name),
                limits=LIMITS,
                deadlines=DEADLINES,
                clock=loop.time,
                create_activity_id=lambda: self._make("a"),
                create_session_id=lambda: self._make("s"),
            )
            self.ledgers[name] = RealmLedger(LIMITS)
        self.connection_faults = 0
        self.realm_closed: set[str] = set()

    def _make(self, prefix: str) -> str:
        self._made += 1
        return f"{prefix}-{self._made}"

    # What a schedule may do

    async def run(self) -> None:
        """Between 20 and 80 steps with one to four faults among them, then healing, then the end."""
        steps = self.random.randint(20, 80)
        faults = {
            self.random.randrange(steps): self.random.choice(FAULTS) for _ in range(self.random.randint(1, 4))
        }
        for number in range(steps):
            fault = faults.get(number)
            if fault is not None:
                self.note("fault " + fault.__name__.strip("_"))
                fault(self)
            await self._step()
            self._check()
        await self._heal()
        await self._end()

    def note(self, what: str) -> None:
        self.trace.append(what)

    def trace_hash(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()

    async def _step(self) -> None:
        act = self.random.choices(ACTS, WEIGHTS)[0]
        await act(self)

    async def _tick(self) -> None:
        """One iteration of the Host's event loop."""
        await asyncio.sleep(0)

    async def host_runs(self) -> None:
        self.note("host runs")
        for _ in range(self.random.randint(1, 3)):
            await self._tick()

    async def to_host(self) -> None:
        self.note("to host")
        self.wire.carry_to_host()

    async def to_realm(self) -> None:
        self.note("to realm")
        self.wire.carry_to_realm()

    async def minds_act(self) -> None:
        mind = self.minds[self.random.choice(PROVIDERS)]
        self.note(f"{mind.id}: " + (mind.act() if self.random.random() < 0.95 else mind.act_late()))

    async def time_passes(self) -> None:
        self.loop.now += self.random.choice((0.001, 0.016, 0.1))
        self.note("time passes")

    async def submit(self) -> None:
        name = self.random.choice(PROVIDERS)
        known = self.sessions[name]
        session = self.random.choice(known) if known and self.random.random() < 0.5 else None
        before = self.clients[name].closed
        match self.clients[name].submit(self.random.choice(("hi", "pass?", "x" * 8, "", "x" * 9)), session):
            case Ok(ref):
                require(not before, "C4", "a closed client accepted a submit")
                self.ledgers[name].accept(ref.id, self.loop.now)
                known.append(ref.session)
                self.note(f"submit {ref.id} in {ref.session.id}")
            case refused:
                self.note(f"submit refused: {refused.error.code}")

    async def poll(self) -> None:
        for name in PROVIDERS:
            self._poll_client(name, self.random.choice((None, 1, 2, 100)))

    def _poll_client(self, name: str, size: int | None) -> None:
        client = self.clients[name]
        was_closed = name in self.realm_closed
        events = client.poll(size)
        require(not (was_closed and events), "C4", "a closed client handed out events")
        self.ledgers[name].polled(events, min(size or LIMITS.max_poll_events, LIMITS.max_poll_events))
        self.note(f"poll {name}: " + " ".join(f"{event.activity_id}.{event.sequence}" for event in events))

    async def cancel(self) -> None:
        name = self.random.choice(PROVIDERS)
        ids = list(self.ledgers[name].accepted)
        if ids:
            activity_id = self.random.choice(ids)
            result = self.clients[name].cancel(activity_id)
            if result.ok:
                self.ledgers[name].cancelled.setdefault(activity_id, self.loop.now)
            self.note(f"cancel {activity_id}: {result.ok}")

    async def close_client(self) -> None:
        name = self.random.choice(PROVIDERS)
        self.clients[name].close()
        self.realm_closed.add(name)
        self.note(f"close {name}")

    # What must hold

    def _check(self) -> None:
        if self.tap.violation is not None:
            raise self.tap.violation
        for name, client in self.clients.items():
            self._check_bounds(client)
            self._check_provider(self.minds[name])
            if self._is_undisturbed(name):
                self._check_time(self.ledgers[name])

    def _is_undisturbed(self, name: str) -> bool:
        """Whether nothing has happened to a port that excuses a Host."""
        return self.connection_faults == 0 and name not in self.realm_closed

    def _check_bounds(self, client: IntelligencePortClient) -> None:
        held = client.held_activities
        require(held <= LIMITS.max_concurrent_activities, "S8", f"{held} Activities are held")
        most = LIMITS.max_concurrent_activities * LIMITS.max_pending_events_per_activity
        for pending in (client.pending_events, *self._pending_at_host()):
            require(pending <= most, "I5", f"{pending} events are pending")

    def _pending_at_host(self) -> list[int]:
        # Not public: nobody but a simulation needs to look into a Host at work.
        server: Any = self.server
        return [binding._runtime.pending_events for binding in server._bindings.values()]

    def _check_provider(self, mind: Mind) -> None:
        if self.tap.garbled:
            return  # an id that was changed on the wire may be another Activity's
        require(len(set(mind.starts)) == len(mind.starts), "I12", "an Activity was started twice")
        require(
            set(self.tap.submitted) >= set(mind.starts),
            "I12",
            "something was started unasked",
        )
        running: set[str] = set()
        for work in mind.open_works:
            story = self.tap.stories.get(work.submission.id)
            over = work.abandoned or (story is not None and story.terminal is not None)
            if not over:
                session = work.submission.session.id
                require(session not in running, "P6", f"two Activities of {session} run at once")
                running.add(session)

    def _check_time(self, ledger: RealmLedger) -> None:
        now = self.loop.now
        for activity_id in ledger.open_ids:
            age = now - ledger.accepted_at[activity_id]
            require(age <= DEADLINES.activity_s + SLACK_S, "I13", f"{activity_id} runs for {age:.1f} s")
            if activity_id in ledger.cancelled:
                late = now - ledger.cancelled[activity_id]
                require(
                    late <= DEADLINES.cancel_grace_s + 2 * SLACK_S,
                    "S12",
                    f"{activity_id} was cancelled {late:.1f} s ago",
                )

    async def _heal(self) -> None:
        """No further faults: everything that was accepted comes to its end, or the connection to its."""
        self.note("heal")
        self.wire.frozen = False
        for _ in range(80):
            for _ in range(4):
                self.wire.carry_to_host()
                await self._tick()
                self.wire.carry_to_realm()
            for name in PROVIDERS:
                self.minds[name].act()
                self._poll_client(name, None)
            self._check()
            self.loop.now += 0.5
            if not any(client.held_activities for client in self.clients.values()):
                break
        for name, client in self.clients.items():
            if not client.closed:
                require(not self.ledgers[name].open_ids, "I1", f"{self.ledgers[name].open_ids} never ended")
                require(client.held_activities == 0, "S8", "a place was not freed")
            elif name not in self.realm_closed:
                require(self.connection_faults > 0, "C5", f"{name} closed by itself: {client.close_reason}")
        for name, mind in self.minds.items():
            if self._is_undisturbed(name):
                self._check_outcomes(mind, self.ledgers[name])
                kept = [activity_id for activity_id in self.tap.completed if activity_id in mind.starts]
                require(sorted(mind.turns) == sorted(kept), "P5", f"kept {mind.turns}, completed {kept}")
            elif not self.tap.garbled:
                completed = set(self.tap.completed)
                lost = [id for id in completed if id in mind.starts and id not in mind.turns]
                require(not lost, "P5", f"{lost} completed without being kept")

    def _check_outcomes(self, mind: Mind, ledger: RealmLedger) -> None:
        """What the Host made of everything that an undisturbed realm asked of it."""
        for activity_id in ledger.accepted:
            code = self.tap.rejected.get(activity_id)
            require(
                code != "intelligence-capacity-exceeded", "S8", f"the Host had no place for {activity_id}"
            )
            if code is None:
                story = self.tap.stories.get(activity_id)
                require(
                    story is not None and story.terminal is not None,
                    "I1",
                    f"the Host did not end {activity_id}",
                )
                asked = activity_id in mind.starts or activity_id in ledger.cancelled
                require(asked, "P6", f"{activity_id} was never started")

    async def _end(self) -> None:
        """Close from the realm, or by its death, and see that nothing is left."""
        self.note("end")
        tasks = [client.close() for client in self.clients.values()]
        begun = self.loop.now
        while [task for task in tasks if not task.done]:  # each is looked at, and so moved on
            require(
                self.loop.now <= begun + DEADLINES.close_grace_s + SLACK_S,
                "I7",
                "a close did not end in time",
            )
            self.wire.carry_to_host()
            await self._tick()
            self.wire.carry_to_realm()
            self.loop.now += 0.25
        for client in self.clients.values():
            require(client.poll() == [], "C4", "a closed client handed out events")
            require(not client.submit("hi").ok, "C4", "a closed client accepted a submit")
        self.wire.close()
        begun = self.loop.now
        while not self.serving.done():
            require(
                self.loop.now <= begun + 2 * DEADLINES.close_grace_s + SLACK_S + 1,
                "I7",
                "the Host did not end",
            )
            await self._tick()
            self.loop.now += 0.1
        error = None if self.serving.cancelled() else self.serving.exception()
        require(error is None, "I14", f"the Host ended with {error!r}")
        left = asyncio.all_tasks() - {asyncio.current_task()}
        require(not left, "I11", f"tasks are left: {left}")
        for name, mind in self.minds.items():
            require(mind.closes <= 1, "B1", f"{name} was closed {mind.closes} times")
            require(mind.closes == 1 or not mind.starts, "B6", f"{name} was left open")
            said = len(self.tap.stories)
            mind.act_late()
            require(len(self.tap.stories) == said, "I8", "a callback of a closed provider reached the wire")


def _cut_kindly(world: World) -> None:
    world.connection_faults += 1
    world.wire.cut(lose=False)


def _cut_hard(world: World) -> None:
    world.connection_faults += 1
    world.wire.cut(lose=True)


def _garble(world: World) -> None:
    world.connection_faults += 1
    world.tap.garbled = True
    for ledger in world.ledgers.values():
        ledger.garbled = True
    world.wire.garble()


def _freeze_wire(world: World) -> None:
    world.connection_faults += 1
    world.wire.frozen = True


def _thaw_wire(world: World) -> None:
    world.wire.frozen = False


def _jump(world: World) -> None:
    world.connection_faults += 1
    world.loop.now += world.random.choice((2.0, 6.0, 30.0))


def _ignore_cancel(world: World) -> None:
    world.minds[world.random.choice(PROVIDERS)].ignores_cancel = True


def _fall_silent(world: World) -> None:
    world.minds[world.random.choice(PROVIDERS)].silent = True


def _raise_in_start(world: World) -> None:
    mind = world.minds[world.random.choice(PROVIDERS)]
    mind.raises_in_start = not mind.raises_in_start


def _raise_in_cancel(world: World) -> None:
    world.minds[world.random.choice(PROVIDERS)].raises_in_cancel = True


def _fail_to_close(world: World) -> None:
    world.minds[world.random.choice(PROVIDERS)].close_fault = world.random.choice(("raises", "hangs"))


FAULTS: tuple[Callable[[World], None], ...] = (
    _cut_kindly,
    _cut_hard,
    _garble,
    _freeze_wire,
    _thaw_wire,
    _jump,
    _ignore_cancel,
    _ignore_cancel,
    _fall_silent,
    _fall_silent,
    _raise_in_start,
    _raise_in_cancel,
    _fail_to_close,
)
ACTS = (
    World.host_runs,
    World.to_host,
    World.to_realm,
    World.minds_act,
    World.time_passes,
    World.submit,
    World.poll,
    World.cancel,
    World.close_client,
)
WEIGHTS = (20, 14, 14, 22, 6, 12, 10, 4, 0.3)


async def run_schedule(seed: int, loop: ClockworkLoop) -> World:
    """Run one schedule. Raises `Violation` with the trace of what was done."""
    # The same time for each: at another one, sums are rounded otherwise, and a deadline may be seen a step later.
    loop.now = START_S
    world = World(seed, loop)
    try:
        await world.run()
    except Violation as violation:
        violation.add_note(f"seed {seed}:\n  " + "\n  ".join(world.trace))
        raise
    finally:
        world.wire.close()
        await _leave_nothing()
    left = [handle for handle in _timers(loop) if not handle.cancelled()]
    require(not left, "I11", f"timers are left: {left}")
    return world


async def _leave_nothing() -> None:
    """End what a schedule left running, as the process would end it."""
    for _ in range(20):
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if not left:
            return
        for task in left:
            task.cancel()
        await asyncio.sleep(0)


def _timers(loop: Any) -> list[asyncio.TimerHandle]:
    timers: list[asyncio.TimerHandle] = loop._scheduled
    return timers
