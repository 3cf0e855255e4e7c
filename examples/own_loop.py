"""A frame loop of your own that talks to a character. It needs no model, no key and no network.

Run it from anywhere: `python examples/own_loop.py`.
"""

import time

from engine_intelligence import Cancelled, Completed, Err, Failed, Ok, SessionRef, TextDelta, spawn_host


class Game:
    """What stands for your game: a speech bubble, a gate, a save-game, and a frame that takes its time."""

    def __init__(self) -> None:
        self.bubble = ""
        self.gate_open = False
        self.saved_session: SessionRef | None = None
        self.talking = True
        self.frames = 0

    def frame(self) -> None:
        self.frames += 1
        time.sleep(1 / 60)


def main() -> None:
    game = Game()
    # --8<-- [start:loop]
    with spawn_host("scripted", options={"text": "Well then, you may pass."}) as host:  # returns at once
        gatekeeper = host.client("scripted")
        match gatekeeper.submit("May I pass?", session=game.saved_session):
            case Ok(value=activity):
                print("accepted:", activity.id)
            case Err(error=error):  # refused; nothing was sent
                game.bubble, game.talking = error.hint, False

        while game.talking and not gatekeeper.closed:
            for event in gatekeeper.poll():  # once a frame; never waits
                match event:
                    case TextDelta(text=text):
                        game.bubble += text
                    case Completed(output=line, session=session):
                        game.saved_session, game.talking = session, False
                        game.gate_open = "may pass" in line  # the game decides what a finished line means
                    case Failed() | Cancelled():
                        game.bubble, game.talking = "...", False
            game.frame()
    # --8<-- [end:loop]
    print(f"{game.bubble!r} after {game.frames} frames; the gate is {'open' if game.gate_open else 'shut'}")
    assert game.bubble == "Well then, you may pass."
    assert game.gate_open
    assert game.saved_session is not None
    assert host.closed


if __name__ == "__main__":
    main()
