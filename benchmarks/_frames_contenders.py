"""The contenders whose tokens come from the double: what a game has beside its frames."""

from __future__ import annotations

import time

from _frames_server import sizes_of
from _frames_watch import Watch

from engine_intelligence import (
    Completed,
    IntelligenceLimits,
    IntelligencePortClient,
    TextDelta,
    spawn_host,
)

LIMITS = IntelligenceLimits(max_concurrent_activities=256)


class Silence:
    """No intelligence at all."""

    def __init__(self) -> None:
        self.tokens = 0
        self.ages_s: list[float] = []
        self.pid: int | None = None

    def start(self, plan: str) -> None:
        """Nothing."""

    def begun(self, now: float) -> float | None:
        """At once."""
        return now

    def look(self, measured: bool) -> bool:
        """Nothing."""
        return True

    def reckon(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Listener(Silence):
    """What all contenders with tokens share: the streams that are still open, and the texts with the time they were seen at."""

    def __init__(self) -> None:
        super().__init__()
        self._open: int = 0
        self._seen: list[tuple[float, list[str]]] = []
        self._watch: Watch | None = None

    def start(self, plan: str) -> None:
        """Forget the last block, and ask when this one begins."""
        self.tokens = 0
        self.ages_s = []
        self._seen = []
        self._open = sizes_of(plan)[0]
        self._watch = Watch() if self._open else None

    def begun(self, now: float) -> float | None:
        """What the double says; at once where there are no streams."""
        return self._watch.answer() if self._watch is not None else now

    def reckon(self) -> None:
        """Count the texts of the block and tell their ages, when no frame is measured any more."""
        for seen_at, texts in self._seen:
            for text in texts:
                self.ages_s += [seen_at - float(sent) for sent in text.split()]
        self.tokens = len(self.ages_s)


class Ours(Listener):
    """A Host with a provider around the SDK; an Activity is a stream."""

    def __init__(self) -> None:
        super().__init__()
        self._host = spawn_host("_frames_minds:voices", limits=LIMITS)
        self._client = self._host.client("voices")
        self.pid = self._host.pid

    def start(self, plan: str) -> None:
        """Submit."""
        super().start(plan)
        for _ in range(self._open):
            started = self._client.submit(plan)
            assert started.ok, started

    def look(self, measured: bool) -> bool:
        """Poll."""
        events = self._client.poll()
        if events:
            texts: list[str] = []
            for event in events:
                match event:
                    case TextDelta(text=text):
                        texts.append(text)
                    case Completed():
                        self._open -= 1
                    case _:
                        raise AssertionError(event)
            self._seen.append((time.monotonic(), texts))
        elif self._client.closed:
            raise AssertionError(self._client.close_reason)
        return self._open == 0

    def close(self) -> None:
        """End the Host."""
        self._host.close().wait()


class Counted(Listener):
    """One whose game sees no token, and is told their number at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._counted = 0

    def reckon(self) -> None:
        """What was told."""
        self.tokens = self._counted


def told(client: IntelligencePortClient) -> int | None:
    """The number of tokens, if a control's Host has told it by now."""
    for event in client.poll():
        match event:
            case TextDelta():
                pass
            case Completed(output=count):
                return int(count)
            case _:
                raise AssertionError(event)
    if client.closed:
        raise AssertionError(client.close_reason)
    return None


class Detached(Counted):
    """A Host that takes the same tokens by itself; the game looks at it when the measured frames are over."""

    def __init__(self) -> None:
        super().__init__()
        self._host = spawn_host("_frames_minds:alone", limits=LIMITS)
        self._client = self._host.client("alone")
        self.pid = self._host.pid

    def start(self, plan: str) -> None:
        """Start it."""
        super().start(plan)
        started = self._client.submit(plan)
        assert started.ok, started

    def look(self, measured: bool) -> bool:
        """Poll for the end, but not in the frames that count."""
        if not measured and self._open and (count := told(self._client)) is not None:
            self._counted = count
            self._open = 0
        return self._open == 0

    def close(self) -> None:
        """End the Host."""
        self._host.close().wait()
