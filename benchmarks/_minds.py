"""What the Hosts of the benchmarks run."""

from __future__ import annotations

import asyncio

from engine_intelligence import ActivitySink, ActivitySubmission, IntelligenceError, Ok, Result

VOICES = 8
DELTAS = 30
WORD = "token "


class Chorus:
    """A provider whose Activities speak in rounds: one delta of each, as fast as the event loop goes, and then the ends."""

    id = "chorus"

    def __init__(self) -> None:
        self._sinks: list[ActivitySink] = []
        self._said = 0

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        """Have an Activity join in. The chorus begins when `VOICES` have."""
        self._sinks.append(sink)
        if len(self._sinks) == VOICES:
            self._said = 0
            asyncio.get_running_loop().call_soon(self._round)
        return Ok(None)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        """Ignored: an Activity is over in a moment."""
        return Ok(None)

    async def close(self) -> None:
        """Fall silent."""
        self._sinks.clear()

    def _round(self) -> None:
        if self._said < DELTAS:
            self._said += 1
            for sink in self._sinks:
                sink.text(WORD)
            asyncio.get_running_loop().call_soon(self._round)
            return
        sinks, self._sinks = self._sinks, []
        for sink in sinks:
            sink.complete(WORD * DELTAS)
