"""A runtime over a provider and a clock that the test drives, with identities that it can foretell."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from engine_intelligence import (
    ActivityRef,
    ActivitySink,
    Deadlines,
    Failed,
    IntelligenceEvent,
    IntelligenceLimits,
    IntelligenceRuntime,
    Ok,
    SessionRef,
    create_intelligence_runtime,
)
from engine_intelligence.activity import Terminal
from engine_intelligence.testing import ManualClock, ManualProvider, Transcript


def numbered(prefix: str) -> Callable[[], str]:
    """A maker of identities: `a-1`, `a-2` and so on."""
    numbers = count(1)
    return lambda: f"{prefix}-{next(numbers)}"


@dataclass
class Scene:
    """A runtime, what stands around it, and what was polled of it."""

    runtime: IntelligenceRuntime
    provider: ManualProvider
    clock: ManualClock
    told: Transcript = field(default_factory=Transcript)

    def submit(self, input: str = "May I pass?", session: SessionRef | None = None) -> ActivityRef:
        """Submit what has to be accepted."""
        result = self.runtime.submit(input, session)
        assert isinstance(result, Ok), result
        return result.value

    def begin(
        self, input: str = "May I pass?", session: SessionRef | None = None
    ) -> tuple[str, ActivitySink]:
        """Submit what has to be accepted and started; the id and the sink of it."""
        started = self.submit(input, session)
        return started.id, self.provider.sinks[started.id]

    def poll(self, max_events: int | None = None) -> list[IntelligenceEvent]:
        """Poll once, with the order of events checked."""
        return self.told.take(self.runtime.poll(max_events))

    def drain(self) -> Transcript:
        """Poll until nothing more comes."""
        while self.poll():
            pass
        return self.told

    def terminal(self, activity_id: str) -> Terminal | None:
        """Poll until nothing more comes; the terminal of one Activity."""
        return self.drain().terminal(activity_id)

    def failure(self, activity_id: str) -> Failed:
        """Poll until nothing more comes; the failure that one Activity has to have ended with."""
        terminal = self.terminal(activity_id)
        assert isinstance(terminal, Failed), terminal
        return terminal


def make_scene(
    *,
    provider: ManualProvider | None = None,
    deadlines: Deadlines | None = None,
    create_activity_id: Callable[[], str] | None = None,
    create_session_id: Callable[[], str] | None = None,
    **limits: int,
) -> Scene:
    """A scene; `limits` are fields of `IntelligenceLimits`."""
    provider = provider or ManualProvider()
    clock = ManualClock()
    runtime = create_intelligence_runtime(
        provider,
        limits=IntelligenceLimits(**limits),
        deadlines=deadlines,
        clock=clock,
        create_activity_id=create_activity_id or numbered("a"),
        create_session_id=create_session_id or numbered("s"),
    )
    return Scene(runtime, provider, clock)
