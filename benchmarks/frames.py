"""What many streams do to the frames of a game: 60 frames a second beside 0 to 128 streams of 50 tokens a second each.

The tokens come from a double of an OpenAI-compatible server, through the `openai` SDK; the contenders differ in where that
runs. Then the same with the local model. Every contender has a game process of its own, and they take turns in short blocks.
Of Linux alone: it needs one clock for all processes, and the processor time of another process.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from _frames_crew import Crew
from _frames_figures import DETACHED, OURS, Figures, Goal, figures, goals, p99_ratio, ratios
from _frames_loop import Block, calibrated
from _frames_plot import draw
from _frames_server import TOKENS_A_SECOND, plan_of
from _local_model import missing_for_local_model
from _record import circumstances, keep
from _turns import Ratio

STREAMS = (8, 32, 128)
SILENCE = "no intelligence"
CROWD = (DETACHED, OURS, "SDK in a thread", "SDK in the frames' loop", "SDK alone in a process")
LOCAL = (SILENCE, "local, detached", "local, ours")
POLLING = (OURS, "local, ours")
# About six minutes in all.
SECONDS, TURNS = 3.5, 4
QUICK_SECONDS, QUICK_TURNS = 0.4, 2
WARM_UP_SECONDS = 1.0

Found = dict[str, list[Block]]


class Course:
    """The blocks of one run."""

    def __init__(self, crew: Crew, seconds: float, streams: tuple[int, ...], local: bool) -> None:
        self._crew = crew
        self._tokens = max(2, round(seconds * TOKENS_A_SECOND))
        self._warm_up = max(2, round(min(seconds, WARM_UP_SECONDS) * TOKENS_A_SECOND))
        self.silent: Found = {SILENCE: [], OURS: []}
        self.crowds: dict[int, Found] = {count: {name: [] for name in CROWD} for count in streams}
        self.local: Found = {name: [] for name in LOCAL} if local else {}

    def warm_up(self) -> None:
        """A short block of each contender, with as few streams as there are."""
        self._crew.wait()
        for name in CROWD:
            self._block(name, min(self.crowds), self._warm_up)
        for name in self.local:
            self._block(name, 1, self._warm_up)

    def turn(self, number: int) -> None:
        """A block of everybody, each time in another order."""
        for streams, found in ((0, self.silent), *self.crowds.items(), (1, self.local)):
            names = list(found)
            first = number % len(names) if names else 0
            for name in (*names[first:], *names[:first]):
                found[name].append(self._block(name, streams, self._tokens))

    def _block(self, name: str, streams: int, tokens: int) -> Block:
        block = self._crew.block(name, plan_of(streams, tokens))
        if name in CROWD and block["tokens"] != streams * tokens:
            raise AssertionError(f"{name}: {block['tokens']} of {streams * tokens} tokens")
        return block


def summary(course: Course, *, seconds: float, turns: int, skipped: str | None) -> dict[str, Any]:
    """The result of a run."""
    silent = {name: figures(blocks, polls=name in POLLING) for name, blocks in course.silent.items()}
    crowds: dict[str, dict[str, Figures]] = {"0": silent}
    all_ratios: list[Ratio] = []
    all_goals: list[Goal] = []
    for streams, found in course.crowds.items():
        crowd = {name: figures(blocks, polls=name in POLLING) for name, blocks in found.items()}
        crowds[str(streams)] = crowd
        all_ratios += ratios(found, streams)
        all_goals += goals(crowd, streams)
    if course.local:
        all_ratios.append(p99_ratio(course.local, "local, ours", "local, detached", "local model"))
    local = {name: figures(blocks, polls=name in POLLING) for name, blocks in course.local.items()}
    return {
        **circumstances("frames"),
        "seconds": seconds,
        "turns": turns,
        "crowds": crowds,
        "local": local,
        "local_skipped": skipped,
        "ratios": all_ratios,
        "goals": all_goals,
    }


def measure(
    *, seconds: float, turns: int, streams: tuple[int, ...] = STREAMS, local: bool = True
) -> dict[str, Any]:
    """Run it and return the result."""
    skipped = missing_for_local_model() if local else "it was left out"
    names = (SILENCE, *CROWD, *(() if skipped else LOCAL[1:]))
    with Crew(names, calibrated()) as crew:
        course = Course(crew, seconds, streams, local=skipped is None)
        course.warm_up()
        for number in range(turns):
            print(f"turn {number + 1} of {turns}", flush=True)
            course.turn(number)
    return summary(course, seconds=seconds, turns=turns, skipped=skipped)


def main() -> None:
    """Run it, and record what it found unless it was a quick one."""
    parser = argparse.ArgumentParser(prog="frames")
    parser.add_argument("--quick", action="store_true", help="a few seconds, of which nothing is recorded")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"of a block, default {SECONDS}")
    parser.add_argument("--turns", type=int, default=TURNS, help=f"at least 2, default {TURNS}")
    options = parser.parse_args()
    if sys.platform != "linux":
        raise SystemExit("this benchmark needs Linux")
    if options.quick:
        found = measure(seconds=QUICK_SECONDS, turns=QUICK_TURNS, streams=STREAMS[:1])
    else:
        found = measure(seconds=options.seconds, turns=options.turns)
        keep(found, draw)
    import performance  # in tools; the path is set by _record

    print(performance.tables(found))


if __name__ == "__main__":
    main()
