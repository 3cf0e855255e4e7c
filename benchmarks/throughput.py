"""Events a second: 8 Activities of thirty deltas and a completion, polled after each round.

The prototype and the runtime do it in this process; across the socket a Host does the speaking, and this process submits
and polls without a pause.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable

from _chorus import DELTAS, INPUT, VOICES, WORD, Kept
from _prototype import Prototype
from _record import record
from _turns import in_turns, ratio

from engine_intelligence import (
    IntelligencePortClient,
    TextDelta,
    create_intelligence_runtime,
    spawn_host,
)
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import encode_frame
from engine_intelligence.protocol.messages import Events

BLOCKS = 200
ROUNDS, ROUNDS_ACROSS = 20, 8  # a few milliseconds, less than a turn of the scheduler
EVENTS = VOICES * (DELTAS + 1)
OUTPUT = WORD * DELTAS

Work = Callable[[list[object]], None]


def of_prototype(runtime: Prototype) -> Work:
    """One round of the prototype."""

    def work(events: list[object]) -> None:
        voices = [runtime.submit(INPUT) for _ in range(VOICES)]
        for _ in range(DELTAS):
            for voice in voices:
                voice.text(WORD)
            events += runtime.poll()
        for voice in voices:
            voice.complete(OUTPUT)
        events += runtime.poll()

    return work


def of_runtime() -> Work:
    """One round of a runtime."""
    provider = Kept()
    runtime = create_intelligence_runtime(provider)

    def work(events: list[object]) -> None:
        provider.sinks = []
        for _ in range(VOICES):
            runtime.submit(INPUT)
        for _ in range(DELTAS):
            for sink in provider.sinks:
                sink.text(WORD)
            events += runtime.poll()
        for sink in provider.sinks:
            sink.complete(OUTPUT)
        events += runtime.poll()

    return work


def of_client(client: IntelligencePortClient) -> Work:
    """One round across a port."""

    def work(events: list[object]) -> None:
        for _ in range(VOICES):
            assert client.submit(INPUT).ok
        running = VOICES
        while running:
            came = client.poll()
            events += came
            for event in came:
                if type(event) is not TextDelta:
                    running -= 1

    return work


def events_a_second(work: Work, rounds: int) -> Callable[[], float]:
    """A block of so many rounds, whose events are dropped after each."""

    def block() -> float:
        came = 0
        began = time.perf_counter()
        for _ in range(rounds):
            events: list[object] = []
            work(events)
            came += len(events)
        took = time.perf_counter() - began
        assert came == rounds * EVENTS
        return came / took

    return block


def kept_an_event(work: Work, rounds: int = 40) -> tuple[float, float]:
    """Bytes and blocks of memory that an event takes while a game keeps it, with its share of all else."""
    work([])
    events: list[object] = []
    tracemalloc.start()
    try:
        before, blocks = tracemalloc.get_traced_memory()[0], sys.getallocatedblocks()
        for _ in range(rounds):
            work(events)
        bytes_kept, blocks_kept = (
            tracemalloc.get_traced_memory()[0] - before,
            sys.getallocatedblocks() - blocks,
        )
    finally:
        tracemalloc.stop()
    return bytes_kept / len(events), blocks_kept / len(events)


def wire_bytes_an_event() -> float:
    """Bytes on the socket for a delta, in a frame of one round."""
    ids = [f"activity-{number:032x}" for number in range(VOICES)]
    events = tuple(TextDelta(id, number, WORD) for number, id in enumerate(ids, 1))
    return len(encode_frame(1, encode_msgpack(Events(events)))) / VOICES


def main() -> None:
    """Run it."""
    with spawn_host("_chorus:Chorus") as host:
        samples = in_turns(
            {
                "prototype": events_a_second(of_prototype(Prototype()), ROUNDS),
                "in process": events_a_second(of_runtime(), ROUNDS),
                "across the socket": events_a_second(of_client(host.client("chorus")), ROUNDS_ACROSS),
            },
            BLOCKS,
        )
    single = {"bytes on the wire for a delta of 6 characters": wire_bytes_an_event()}
    for name, work in (("prototype", of_prototype(Prototype())), ("in process", of_runtime())):
        kept_bytes, blocks = kept_an_event(work)
        single[f"bytes of memory for a kept event, {name}"] = kept_bytes
        single[f"blocks of memory for a kept event, {name}"] = blocks
    ratios = [
        ratio(samples, "in process", "prototype", at_least=0.5),
        ratio(samples, "across the socket", "prototype", at_least=0.15),
    ]
    record("throughput", "events a second", samples, ratios, single=single)


if __name__ == "__main__":
    main()
