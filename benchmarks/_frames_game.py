"""One game of the benchmark `frames`, as a program: a contender, a loop, and a block for each line of standard input.

Each contender has a game process of its own, so that one which loads an SDK into its game slows no other.
It is told `STREAMSxTOKENS`, and answers with what the block found, as a line of JSON.
"""

from __future__ import annotations

import json
import sys

from _frames_contenders import Detached, Ours, Silence
from _frames_local import LocalDetached, LocalOurs
from _frames_loop import Block, Frames, play
from _frames_rivals import BareSdk, InLoop, InThread
from _frames_server import TOKENS_A_SECOND, sizes_of

CONTENDERS: dict[str, type[Silence]] = {
    "no intelligence": Silence,
    "detached": Detached,
    "ours": Ours,
    "SDK in a thread": InThread,
    "SDK in the frames' loop": InLoop,
    "SDK alone in a process": BareSdk,
    "local, detached": LocalDetached,
    "local, ours": LocalOurs,
}


def block(contender: Silence, plan: str, turns: int, server_pid: int | None) -> Block:
    """Play one block of a plan."""
    contender.start(plan)
    seconds = sizes_of(plan)[1] / TOKENS_A_SECOND
    frames = Frames(contender, turns, seconds=seconds, server_pid=server_pid)
    if isinstance(contender, InLoop):
        return contender.play(plan, frames)
    return play(frames)


def main() -> None:
    """Be the game until standard input ends."""
    name, turns, server_pid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    contender = CONTENDERS[name]()
    try:
        print("ready", flush=True)
        for line in sys.stdin:
            print(json.dumps(block(contender, line.strip(), turns, server_pid)), flush=True)
    finally:
        contender.close()


if __name__ == "__main__":
    main()
