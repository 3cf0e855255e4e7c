"""One game that runs in three ways, and is the same game in each.

    python examples/any_way.py                                                     # it starts its Host
    engine-intelligence run --provider scripted -- python examples/any_way.py      # a Host starts it
    python examples/any_way.py --alone                                             # one process, for tests

Run it from anywhere.
"""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

from engine_intelligence import (
    ActivitySink,
    ActivitySubmission,
    Completed,
    IntelligenceError,
    IntelligencePortClient,
    IntelligenceService,
    Ok,
    Result,
    SessionRef,
    SetupError,
    TextDelta,
    connect,
    create_intelligence_runtime,
    freeze_support,
    spawn_host,
)

LINE = "The script says this and no more."  # what the provider `scripted` says without options


# --8<-- [start:alone]
class Alone:
    """A provider beside the game. It may be there because it can neither block nor crash."""

    id = "scripted"

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        sink.text(LINE)
        sink.complete(LINE)
        return Ok(None)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        return Ok(None)

    async def close(self) -> None:
        pass


# --8<-- [end:alone]


# --8<-- [start:choose]
@contextmanager
def someone_to_talk_to(*, alone: bool) -> Generator[IntelligenceService]:
    """The one place that knows where the answers come from."""
    if alone:
        print("in one process")
        service = create_intelligence_runtime(Alone())
        try:
            yield service
        finally:
            service.close()
        return
    try:
        host = connect()
        print("a Host started this game")
    except SetupError as error:
        if error.reason != "no-host":
            raise
        print("this game starts a Host")
        host = spawn_host("scripted")
    with host:
        yield host.client("scripted")


# --8<-- [end:choose]


# --8<-- [start:loop]
def is_over(service: IntelligenceService) -> bool:
    """Only a service across a port can be closed by the other side."""
    return isinstance(service, IntelligencePortClient) and service.closed


def play(service: IntelligenceService) -> tuple[str, SessionRef | None]:
    """The frame loop. It is the same in all three ways."""
    bubble, saved = "", None
    started = service.submit("May I pass?")
    assert started.ok, started
    give_up_at = time.monotonic() + 20
    while saved is None and not is_over(service) and time.monotonic() < give_up_at:
        for event in service.poll():
            match event:
                case TextDelta(text=text):
                    bubble += text
                case Completed(session=session):
                    saved = session
                case _:
                    raise AssertionError(event)
        time.sleep(1 / 60)
    return bubble, saved


# --8<-- [end:loop]


def main() -> None:
    with someone_to_talk_to(alone="--alone" in sys.argv[1:]) as service:
        bubble, saved = play(service)
    assert bubble == LINE, bubble
    assert saved is not None
    assert saved.provider_id == "scripted"
    print(bubble)


# --8<-- [start:main]
if __name__ == "__main__":
    freeze_support()  # a frozen game is its own Host; in every other process this does nothing
    main()
# --8<-- [end:main]
