"""A provider of your own behind the same loop: an answer, a refusal by the provider, and a cancel.

Run it from anywhere: `python examples/own_provider.py`.
"""

import time

from engine_intelligence import (
    Cancelled,
    Completed,
    Err,
    Failed,
    IntelligenceService,
    TextDelta,
    spawn_host,
)


def ask(character: IntelligenceService, text: str, *, cancel: bool = False) -> Completed | Failed | Cancelled:
    """Submit, poll once a frame until the terminal has come, and return it. `cancel` stops it at the first text."""
    started = character.submit(text)
    if isinstance(started, Err):
        raise AssertionError(f"refused: {started.error}")
    give_up_at = time.monotonic() + 20
    while time.monotonic() < give_up_at:
        for event in character.poll():
            match event:
                case TextDelta() if cancel:
                    print("  cancel:", character.cancel(started.value.id))
                case TextDelta(text=part):
                    print("  said:", part)
                case Completed() | Failed() | Cancelled():
                    return event
        time.sleep(1 / 60)
    raise AssertionError("no terminal came")


def main() -> None:
    with spawn_host("minds:gatekeeper") as host:
        gatekeeper = host.client("gatekeeper")

        answered = ask(gatekeeper, "May I pass?")
        assert isinstance(answered, Completed)
        assert answered.output == "You ask me: May I pass? The answer is no. "

        refused = ask(gatekeeper, "Not even for gold?")
        assert isinstance(refused, Failed)
        assert refused.error.code == "intelligence-provider-failed"
        assert refused.error.detail.reason == "refused"
        assert refused.error.detail.cause == "the gatekeeper takes no bribes"

        silenced = ask(gatekeeper, "Then tell me all that you know.", cancel=True)
        assert isinstance(silenced, Cancelled)
    print("an answer, a refusal and a cancel: as expected")


if __name__ == "__main__":
    main()
