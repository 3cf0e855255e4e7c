"""What a game does with a service, in bounded time, for tests."""

import signal
import time
from types import FrameType

import pytest

from engine_intelligence import (
    ActivityRef,
    Cancelled,
    Completed,
    Deadlines,
    Err,
    Failed,
    HostConnection,
    IntelligenceError,
    IntelligenceEvent,
    IntelligencePortClient,
    Ok,
    Result,
    TextDelta,
)
from support.process_marks import PATIENCE_S, until

# Short, so that what has to be killed is killed soon.
QUICK = Deadlines(close_grace_s=0.3)

MINDS = "support.process_minds"


def submitted(client: IntelligencePortClient, input: str) -> ActivityRef:
    """Submit, and fail the test if that is refused."""
    match client.submit(input):
        case Ok(started):
            return started
        case Err(error):
            pytest.fail(f"refused: {error}")


def refusal(result: Result[object, IntelligenceError]) -> IntelligenceError:
    """The error of what must have been refused."""
    assert isinstance(result, Err)
    return result.error


def text_of(events: list[IntelligenceEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def until_text(client: IntelligencePortClient) -> list[IntelligenceEvent]:
    """Poll until there is text, and return what came."""
    events: list[IntelligenceEvent] = []

    def came() -> bool:
        events.extend(client.poll())
        return bool(text_of(events))

    until(came, f"text of {client.provider_id} (closed: {client.close_reason})")
    return events


def answer(client: IntelligencePortClient, input: str) -> str:
    """Submit, poll to the end, and return the output."""
    submitted(client, input)
    ends: list[Completed | Failed | Cancelled] = []

    def ended() -> bool:
        ends.extend(e for e in client.poll() if not isinstance(e, TextDelta))
        return bool(ends) or client.close_reason is not None

    until(ended, f"the end of an Activity of {client.provider_id}")
    if not ends or not isinstance(ends[0], Completed):
        pytest.fail(f"no answer but {ends}, closed: {client.close_reason}")
    return ends[0].output


def closed_because(client: IntelligencePortClient) -> str:
    """Wait until the client is closed, and return why."""
    until(lambda: client.closed, f"the end of {client.provider_id}")
    assert client.close_reason is not None
    return client.close_reason


def code_of_close(client: IntelligencePortClient) -> str | None:
    """The name of the reason for which a client is closed, as a refused submit tells it."""
    until(lambda: client.closed, f"the end of {client.provider_id}")
    return refusal(client.submit("anyone?")).detail.reason


def until_host_is_gone(connection: HostConnection) -> None:
    """Wait until the Host is dead, without a look at the connection, which would take what has arrived."""
    from psutil import STATUS_ZOMBIE, NoSuchProcess, Process

    def gone() -> bool:
        try:
            return Process(connection.pid).status() == STATUS_ZOMBIE
        except NoSuchProcess:
            return True

    until(gone, "the end of the Host's process")


class NothingWaits:
    """Ends the test by a signal if what is inside the block waits: the thread that it checks could not do so itself."""

    def __init__(self, seconds: float = PATIENCE_S) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGALRM, self._rang)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def _rang(self, number: int, frame: FrameType | None) -> None:
        raise TimeoutError("a call on the frame's path waited")


def frames(count: int) -> None:
    """Let that many frames of a game pass."""
    time.sleep(count / 60)
