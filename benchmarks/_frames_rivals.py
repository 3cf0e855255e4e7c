"""The contenders that use the SDK without this package: in a thread, in the frames' event loop, and in a process alone."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Empty, Queue

from _frames_contenders import Counted, Listener
from _frames_loop import Block, Frames, play_in_loop
from _frames_sdk import client, tokens

SDK_PROGRAM = Path(__file__).with_name("_frames_sdk.py")


class InThread(Listener):
    """`AsyncOpenAI` in an event loop in a thread; texts go through a `queue.Queue`, which each frame drains."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: Queue[str | None] = Queue()
        self._thread: threading.Thread | None = None

    def start(self, plan: str) -> None:
        """Start the thread, which ends with the block."""
        super().start(plan)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._streams(plan)))
        self._thread.start()

    def look(self, measured: bool) -> bool:
        """Drain the queue."""
        texts: list[str] = []
        get = self._queue.get_nowait
        while True:
            try:
                text = get()
            except Empty:
                break
            if text is None:
                self._open -= 1
            else:
                texts.append(text)
        if texts:
            self._seen.append((time.monotonic(), texts))
        if self._open == 0 and self._thread is not None:
            self._thread.join()
            self._thread = None
        return self._open == 0

    async def _streams(self, plan: str) -> None:
        async with client() as sdk:

            async def one() -> None:
                async for text in tokens(sdk, plan):
                    self._queue.put(text)
                self._queue.put(None)

            await asyncio.gather(*(one() for _ in range(self._open)))


class InLoop(Listener):
    """`AsyncOpenAI` in the event loop that also runs the frames."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: list[str] = []

    def look(self, measured: bool) -> bool:
        """Take what the tasks have put there since the last frame."""
        if self._texts:
            self._seen.append((time.monotonic(), self._texts))
            self._texts = []
        return self._open == 0

    def play(self, plan: str, frames: Frames) -> Block:
        """A block: this contender brings its own loop."""
        return asyncio.run(self._play(plan, frames))

    async def _play(self, plan: str, frames: Frames) -> Block:
        async with client() as sdk:

            async def one() -> None:
                async for text in tokens(sdk, plan):
                    self._texts.append(text)
                self._open -= 1

            tasks = [asyncio.create_task(one()) for _ in range(self._open)]
            found = await play_in_loop(frames)
            await asyncio.gather(*tasks)
            return found


class BareSdk(Counted):
    """A process with the SDK's own loop, which does nothing with a chunk: what the tokens cost at the least."""

    def __init__(self) -> None:
        super().__init__()
        self._process = subprocess.Popen(
            [sys.executable, str(SDK_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.pid = self._process.pid
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        assert self._stdout.readline() == b"ready\n"
        os.set_blocking(self._stdout.fileno(), False)

    def start(self, plan: str) -> None:
        """Tell it the plan."""
        super().start(plan)
        self._stdin.write(plan.encode() + b"\n")
        self._stdin.flush()

    def look(self, measured: bool) -> bool:
        """See whether it has answered, but not in the frames that count."""
        if not measured and (line := self._stdout.readline()):
            self._counted = int(line)
            self._open = 0
        return self._open == 0

    def close(self) -> None:
        """End it."""
        self._stdin.close()
        self._process.wait()
        self._stdout.close()
