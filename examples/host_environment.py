"""What is in the Host's environment is for the game to say: here a key that the game itself does not keep.

Run it from anywhere: `python examples/host_environment.py`.
"""

import os
import time
from collections.abc import AsyncGenerator

from engine_intelligence import Completed, IntelligencePortClient, Ok, Prompt, StreamProvider, spawn_host

KEY = "GATEKEEPER_API_KEY"


async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
    """In the Host. Here an SDK would be handed the key."""
    yield "I have my key." if KEY in os.environ else "I have no key."


def gatekeeper() -> StreamProvider:
    return StreamProvider("gatekeeper", answer)


def ask(client: IntelligencePortClient) -> str:
    """In the game: one question, and its answer."""
    assert isinstance(client.submit("Have you got your key?"), Ok)
    give_up_at = time.monotonic() + 20
    while not client.closed and time.monotonic() < give_up_at:
        for event in client.poll():
            if isinstance(event, Completed):
                return event.output
        time.sleep(1 / 60)
    raise AssertionError(client.close_reason or "no terminal came")


def main() -> None:
    os.environ[KEY] = "as-if-it-had-been-set-before-the-game-was-started"
    # --8<-- [start:environment]
    key = os.environ.pop(KEY, "")  # what the game starts from here on does not inherit it
    with spawn_host("host_environment:gatekeeper", environment={**os.environ, KEY: key}) as host:
        answered = ask(host.client("gatekeeper"))
    # --8<-- [end:environment]
    assert answered == "I have my key."
    with spawn_host("host_environment:gatekeeper") as host:
        assert ask(host.client("gatekeeper")) == "I have no key."
    print("one Host had the key, and the other did not")


if __name__ == "__main__":
    main()
