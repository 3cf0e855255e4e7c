"""The table that a run ends with."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from engine_intelligence.cli.dialogue import Answer, Dialogue
from engine_intelligence.cli.frames import FrameMeter, Spread


def milliseconds(nanoseconds: int) -> str:
    """A duration in milliseconds, with as many places as tell something."""
    return f"{nanoseconds / 1e6:.2f} ms" if nanoseconds < 100_000_000 else f"{nanoseconds / 1e6:.0f} ms"


def microseconds(nanoseconds: int) -> str:
    """A duration in microseconds."""
    return f"{nanoseconds / 1e3:.0f} µs"


def counted(number: int) -> str:
    """A number of things that should not be there."""
    return str(number) if number else "none"


def run_table(meter: FrameMeter, dialogue: Dialogue) -> Table:
    """What the frames took and what the answers did."""
    table = Table(title="This run, at 60 frames a second", title_justify="left")
    table.add_column("measure", no_wrap=True)
    table.add_column("value", justify="right")
    work, between, poll, ours = meter.work(), meter.intervals(), meter.poll_cost(), meter.our_cost()
    rows = [
        ("frames", str(meter.frames)),
        ("frame time, work: p50", milliseconds(work.p50_ns)),
        ("frame time, work: p99", milliseconds(work.p99_ns)),
        ("frame time, work: max", milliseconds(work.max_ns)),
        ("from frame to frame: p50, p99, max", _three(between)),
        ("frames missed (work over 16.7 ms)", counted(meter.missed)),
        ("frames missed because of us", counted(meter.missed_by_us)),
        ("frames that the system began late", counted(meter.woken_late)),
        ("poll cost: p50", microseconds(poll.p50_ns)),
        ("poll cost: p99", microseconds(poll.p99_ns)),
        ("submit, poll and cancel in one frame: max", microseconds(ours.max_ns)),
        *(
            (
                f"time to first text, answer {number}" + (" (and the Host's start)" if number == 1 else ""),
                _first_text(answer),
            )
            for number, answer in enumerate(dialogue.answers, 1)
        ),
        *(
            (f"text deltas a second, answer {number}", f"{answer.deltas_per_s:.0f}")
            for number, answer in enumerate(dialogue.answers, 1)
            if answer.deltas_per_s is not None
        ),
        ("events", str(dialogue.events)),
    ]
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


def _three(spread: Spread) -> str:
    return ", ".join(map(milliseconds, spread))


def _first_text(answer: Answer) -> str:
    seconds = answer.time_to_first_text_s
    return "no text" if seconds is None else f"{seconds:.2f} s"
