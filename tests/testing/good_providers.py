"""Providers that keep the contract, to break in one way each."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from engine_intelligence import ActivitySink, ActivitySubmission, Ok, ProviderError

CHUNKS = ("Who ", "goes ", "there?")
FAILS = "fail"


class Good:
    """Says three chunks, a turn of the loop each, in a task of its own. Nothing here is typed: providers are not, either."""

    id: Any = "p"

    def __init__(self) -> None:
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.sinks: dict[str, Any] = {}

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Any:
        self.sinks[submission.id] = sink
        task = asyncio.ensure_future(self.run(submission, sink))
        self.tasks[submission.id] = task
        task.add_done_callback(lambda done: self.ended(submission.id, done))
        return Ok(None)

    def ended(self, id: str, task: asyncio.Task[None]) -> None:
        self.tasks.pop(id, None)
        if task.cancelled():
            self.sinks[id].cancelled()

    async def run(self, submission: ActivitySubmission, sink: Any) -> None:
        if submission.input == FAILS:
            await self.fail(sink)
            return
        for chunk in CHUNKS:
            await asyncio.sleep(0.001)
            sink.text(chunk)
        await asyncio.sleep(0.001)
        self.complete(submission, sink)

    def complete(self, submission: ActivitySubmission, sink: Any) -> None:
        sink.complete("".join(CHUNKS))

    async def fail(self, sink: Any) -> None:
        sink.fail(ProviderError("it was asked to fail", reason="refused"))

    def cancel(self, activity_id: str) -> Any:
        task = self.tasks.get(activity_id)
        if task is not None:
            task.cancel()
        return Ok(None)

    async def close(self) -> None:
        tasks = list(self.tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


class TakesItsTime(Good):
    """Keeps the contract with a thread for each Activity, and a close that takes a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.stops: dict[str, threading.Event] = {}
        self.threads: list[threading.Thread] = []

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Any:
        stop = self.stops[submission.id] = threading.Event()
        thread = threading.Thread(target=self.work, args=(submission, sink, stop))
        self.threads.append(thread)
        thread.start()
        return Ok(None)

    def work(self, submission: ActivitySubmission, sink: Any, stop: threading.Event) -> None:
        if submission.input == FAILS:
            sink.fail("it was asked to fail")
            return
        for chunk in CHUNKS:
            if stop.wait(0.002):
                sink.cancelled()
            sink.text(chunk)  # also once it was cancelled: a thread is not stopped in the middle
        sink.complete("".join(CHUNKS))

    def cancel(self, activity_id: str) -> Any:
        if activity_id in self.stops:
            self.stops[activity_id].set()
        return Ok(None)

    async def close(self) -> None:
        for stop in self.stops.values():
            stop.set()
        for thread in self.threads:
            await asyncio.to_thread(thread.join)


class Released:
    """What lets go of a thread that a broken provider blocks, so that no test leaves one behind."""

    event = threading.Event()
