"""The providers of the benchmarks, and the work that all contenders do."""

from __future__ import annotations

import asyncio

from engine_intelligence import ActivitySink, ActivitySubmission, IntelligenceError, Ok, Result

INPUT = "hello there, traveller"
WORD = "token "
VOICES = 8
"""Activities at a time: the default bound."""
DELTAS = 30
"""Deltas of each, before its completion."""


class Kept:
    """A provider that hands its sinks to the benchmark."""

    id = "kept"

    def __init__(self) -> None:
        self.sinks: list[ActivitySink] = []

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        """Keep the sink."""
        self.sinks.append(sink)
        return Ok(None)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        """Ignored: an Activity is over in a moment."""
        return Ok(None)

    async def close(self) -> None:
        """Forget the sinks."""
        self.sinks.clear()


class Chorus(Kept):
    """A provider for a Host: its Activities speak in rounds as fast as the event loop goes round, and then end."""

    id = "chorus"

    def __init__(self) -> None:
        super().__init__()
        self._said = 0

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        """Have an Activity join in. The chorus begins when it is complete."""
        self.sinks.append(sink)
        if len(self.sinks) == VOICES:
            self._said = 0
            asyncio.get_running_loop().call_soon(self._round)
        return Ok(None)

    def _round(self) -> None:
        if self._said < DELTAS:
            self._said += 1
            for sink in self.sinks:
                sink.text(WORD)
            asyncio.get_running_loop().call_soon(self._round)
            return
        sinks, self.sinks = self.sinks, []
        for sink in sinks:
            sink.complete(WORD * DELTAS)
