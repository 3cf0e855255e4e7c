"""Time that passes when a test says so."""


class ManualClock:
    """A monotonic clock that stands still between two `advance`."""

    def __init__(self, start: float = 1000.0) -> None:
        self._now = start
        self.calls = 0

    def __call__(self) -> float:
        self.calls += 1
        return self._now

    def advance(self, seconds: float) -> None:
        assert seconds >= 0, "a monotonic clock does not go back"
        self._now += seconds
