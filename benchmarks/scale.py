"""What an event, an idle poll and an idle Activity cost while more and more Activities are held, in process; and what a Host
costs with one client and with fifty.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial

from _channels import MANY, Town
from _chorus import INPUT, VOICES, WORD, Kept
from _prototype import Prototype
from _record import record
from _turns import Samples, in_turns, ns_a_call, ratio

from engine_intelligence import IntelligenceLimits, IntelligenceRuntime, create_intelligence_runtime

HELD = (8, 100, 1000, 10_000)
BLOCKS = 100
ROUNDS = 100
CALLS = 1000
# So that the bound of output is never reached, however many rounds there are.
LIMITS = IntelligenceLimits(
    max_concurrent_activities=2 * HELD[-1], max_poll_events=2 * HELD[-1], max_output_chars=1_000_000_000
)


class Crowd:
    """A runtime that holds so many Activities, of which 8 speak."""

    def __init__(self, held: int) -> None:
        self.provider = Kept()
        self.runtime = create_intelligence_runtime(self.provider, limits=LIMITS)
        for _ in range(held):
            assert self.runtime.submit(INPUT).ok
        step = held // VOICES
        self.speakers = self.provider.sinks[::step][:VOICES]

    def ns_an_event(self) -> float:
        """Rounds in which the speakers say something and all is polled."""
        came = 0
        began = time.perf_counter_ns()
        for _ in range(ROUNDS):
            for sink in self.speakers:
                sink.text(WORD)
            came += len(self.runtime.poll())
        took = time.perf_counter_ns() - began
        assert came == ROUNDS * VOICES
        return took / came

    def ns_an_event_of_all(self) -> float:
        """One round or more in which every Activity says something and all is polled."""
        sinks, runtime = self.provider.sinks, self.runtime
        rounds = max(1, HELD[-1] // len(sinks) // 10)
        came = 0
        began = time.perf_counter_ns()
        for _ in range(rounds):
            for sink in sinks:
                sink.text(WORD)
            came += len(runtime.poll())
        took = time.perf_counter_ns() - began
        assert came == rounds * len(sinks)
        return took / came


class BareCrowd:
    """The same of the prototype, to tell what the processor's caches take from what the package does."""

    def __init__(self, held: int) -> None:
        self.runtime = Prototype()
        self.voices = [self.runtime.submit(INPUT) for _ in range(held)]

    def ns_an_event_of_all(self) -> float:
        """One round or more in which every Activity says something and all is polled."""
        voices, runtime = self.voices, self.runtime
        rounds = max(1, HELD[-1] // len(voices) // 10)
        came = 0
        began = time.perf_counter_ns()
        for _ in range(rounds):
            for voice in voices:
                voice.text(WORD)
            came += len(runtime.poll(LIMITS.max_poll_events))
        took = time.perf_counter_ns() - began
        assert came == rounds * len(voices)
        return took / came


def bytes_an_activity(held: int = HELD[-1]) -> float:
    """Memory of an Activity that has been submitted and says nothing, with what the provider keeps of it."""
    provider = Kept()
    runtime: IntelligenceRuntime = create_intelligence_runtime(provider, limits=LIMITS)
    assert runtime.submit(INPUT).ok
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(held):
            assert runtime.submit(f"{INPUT} {number}").ok
        return (tracemalloc.get_traced_memory()[0] - before) / held
    finally:
        tracemalloc.stop()


def main() -> None:
    """Run it."""
    crowds = {held: Crowd(held) for held in HELD}
    contenders: dict[str, Callable[[], float]] = {}
    for held, crowd in crowds.items():
        contenders[f"an event, {held:,} held, 8 speak"] = crowd.ns_an_event
    for held, crowd in crowds.items():
        contenders[f"an event, {held:,} held, all speak"] = crowd.ns_an_event_of_all
    for held in (HELD[0], HELD[-1]):
        contenders[f"of the prototype, {held:,} held, all speak"] = BareCrowd(held).ns_an_event_of_all
    for held, crowd in crowds.items():
        contenders[f"an idle poll, {held:,} held"] = partial(ns_a_call, crowd.runtime.poll, CALLS)
    towns = {clients: Town(clients) for clients in (1, MANY)}
    for clients, town in towns.items():
        contenders[across(clients)] = partial(town.ns_an_idle_poll, CALLS)
    samples: Samples = in_turns(contenders, BLOCKS)
    single = {"bytes of an idle Activity": bytes_an_activity()}
    limits = dict.fromkeys(single, 3072.0)
    for clients, town in towns.items():
        if sys.platform == "linux":
            single[f"MiB of a Host's process, clients: {clients}"] = town.resident_mib()
        town.close()
    few, many = f"{HELD[0]:,}", f"{HELD[-1]:,}"
    growth = f"of the prototype, {many} held, all speak", f"of the prototype, {few} held, all speak"
    ratios = [
        ratio(samples, f"{what}, {many} held{who}", f"{what}, {few} held{who}", at_most=1.3)
        for what, who in (("an event", ", 8 speak"), ("an event", ", all speak"), ("an idle poll", ""))
    ]
    ratios.append(ratio(samples, *growth))
    ratios.append(ratio(samples, across(MANY), across(1), at_most=1.3))
    record("scale", "nanoseconds", samples, ratios, single=single, limits=limits)


def across(clients: int) -> str:
    """The name of a poll across a socket."""
    return f"an idle poll across the socket, clients open: {clients}"


if __name__ == "__main__":
    main()
