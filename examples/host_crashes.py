"""The Host crashes in the middle of a sentence. The game notices, starts another one and goes on.

Run it from anywhere: `python examples/host_crashes.py`.
"""

import os
import time
from collections.abc import AsyncGenerator

from engine_intelligence import Completed, HostConnection, Ok, Prompt, SessionRef, StreamProvider, spawn_host


async def answer(prompt: Prompt) -> AsyncGenerator[str, None]:
    """In the Host."""
    yield "Let me think. "
    if prompt.input == "What is one divided by nothing?":
        os._exit(7)  # stands for whatever takes a process down
    yield "Yes."


def gatekeeper() -> StreamProvider:
    return StreamProvider("gatekeeper", answer)


class Game:
    """What stands for your game: a connection that can be lost, a saved session, and a log."""

    def __init__(self) -> None:
        self.saved: SessionRef | None = None
        self.log: list[str] = []
        self.restarts = 0
        self.answers: list[str] = []
        self.host = self.start_host()

    def start_host(self) -> HostConnection:
        return spawn_host("host_crashes:gatekeeper")

    # --8<-- [start:frame]
    def frame(self) -> None:
        """Once a frame: take what has come, and start another Host where this one has gone."""
        gatekeeper = self.host.client("gatekeeper")
        for event in gatekeeper.poll():
            if isinstance(event, Completed):
                self.answers.append(event.output)
                self.saved = event.session
        if gatekeeper.closed and self.restarts < 3:  # bounded: a Host that cannot start closes too
            self.log.append(f"gatekeeper: {gatekeeper.close_reason}")
            self.restarts += 1
            self.host.close()  # at once done where the Host has gone
            self.host = self.start_host()

    # --8<-- [end:frame]

    def say(self, text: str) -> None:
        assert isinstance(self.host.client("gatekeeper").submit(text, session=self.saved), Ok)

    # --8<-- [start:leave]
    def leave(self) -> None:
        """Go on drawing until the Host has gone. It takes `close_grace_s` at most."""
        ending = self.host.close()
        while not ending.done:
            time.sleep(1 / 60)  # here the game draws its last frames

    # --8<-- [end:leave]

    def frames_until(self, answers: int, restarts: int) -> None:
        give_up_at = time.monotonic() + 20
        while (len(self.answers), self.restarts) != (answers, restarts):
            assert time.monotonic() < give_up_at, (self.answers, self.restarts, self.log)
            self.frame()
            time.sleep(1 / 60)


def main() -> None:
    game = Game()
    game.say("May I pass?")
    game.frames_until(answers=1, restarts=0)
    before = game.saved

    game.say("What is one divided by nothing?")
    game.frames_until(answers=1, restarts=1)

    game.say("May I pass all the same?")
    game.frames_until(answers=2, restarts=1)
    assert game.saved == before, "the same conversation"

    game.leave()
    assert game.host.closed
    print(*game.log, sep="\n")


if __name__ == "__main__":
    main()
