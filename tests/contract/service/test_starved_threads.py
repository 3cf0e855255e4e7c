"""A processor that other threads take, and an interpreter that switches between threads all the time (rules S1, S6)."""

import os
import sys
import threading
from collections.abc import Iterator

import pytest
from support.process_play import NothingWaits
from support.scene import make_scene

from engine_intelligence import Completed, TextDelta

SPEAKERS = 4
WORDS = [f"{n} " for n in range(400)]


@pytest.fixture
def starved() -> Iterator[None]:
    """Eight threads that compute without end, on one processor, and a switch after every few steps."""
    before, over = sys.getswitchinterval(), threading.Event()
    processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()

    def spin() -> None:
        while not over.is_set():
            pass

    threads = [threading.Thread(target=spin) for _ in range(8)]
    sys.setswitchinterval(1e-6)
    if processors:
        os.sched_setaffinity(0, {min(processors)})
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
        if processors:
            os.sched_setaffinity(0, processors)


@pytest.mark.fault("R65")
@pytest.mark.spec("S1", "S6", "P2")
@pytest.mark.skipif(os.name != "posix", reason="ends a wait by a signal")
def test_threads_that_starve_lose_no_text_and_hold_no_poll_up(starved: None) -> None:
    scene = make_scene()
    begun = [scene.begin() for _ in range(SPEAKERS)]

    def speak(number: int) -> None:
        sink = begun[number][1]
        for word in WORDS:
            sink.text(word)
        sink.complete("".join(WORDS))

    speakers = [threading.Thread(target=speak, args=(number,)) for number in range(SPEAKERS)]
    for speaker in speakers:
        speaker.start()
    texts, ends = dict.fromkeys((id for id, _ in begun), ""), 0
    with NothingWaits():
        while ends < SPEAKERS:
            for event in scene.poll():
                if isinstance(event, TextDelta):
                    texts[event.activity_id] += event.text
                else:
                    assert isinstance(event, Completed)
                    ends += 1
    for speaker in speakers:
        speaker.join()
    assert set(texts.values()) == {"".join(WORDS)}
