"""A deterministic provider: each Activity follows a script, one event for each step (tests, demonstrations,
round trips).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import TypeAlias

import msgspec

from engine_intelligence.activity import ActivitySubmission, FinishReason, Usage
from engine_intelligence.contracts import ActivitySink
from engine_intelligence.errors import IntelligenceError, ProviderError
from engine_intelligence.providers.options import check_number
from engine_intelligence.providers.stream import Finish, Prompt
from engine_intelligence.result import Ok, Result


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """What one Activity does: its deltas in order, and then its end.

    It fails with `failure` if there is one, and otherwise completes with `output`, by default the deltas
    joined.
    """

    deltas: tuple[str, ...] = ()
    output: str | None = None
    failure: str | ProviderError | None = None
    usage: Usage | None = None
    finish: FinishReason | None = None


Scripts: TypeAlias = Iterable[Script] | Callable[[ActivitySubmission], Script]


class _Performance:
    """One running Activity: its sink, and what is left of its script."""

    __slots__ = ("next_delta", "script", "sink")

    def __init__(self, script: Script, sink: ActivitySink) -> None:
        self.script = script
        self.sink = sink
        self.next_delta = 0

    def step(self) -> bool:
        """Emit the next event, and return whether it was the last."""
        script = self.script
        if self.next_delta < len(script.deltas):
            self.sink.text(script.deltas[self.next_delta])
            self.next_delta += 1
            return False
        if script.failure is not None:
            self.sink.fail(script.failure)
        else:
            output = "".join(script.deltas) if script.output is None else script.output
            self.sink.complete(output, script.usage, script.finish)
        return True


class ScriptedProvider:
    """An `IntelligenceProvider` without a clock: `advance()` emits one event for each Activity that is
    running.

    `scripts` are used in order, one for each Activity, or are made by a function of the submission. An
    Activity for which no script is left is refused.
    """

    def __init__(self, id: str, scripts: Scripts) -> None:
        self._id = id
        self._make = scripts if callable(scripts) else None
        self._scripts = iter(()) if callable(scripts) else iter(scripts)
        self._running: dict[str, _Performance] = {}
        self.calls: list[tuple[str, ...]] = []
        """What was asked of this provider, in order: `("start", id)`, `("cancel", id)`, `("close",)`."""

    @property
    def id(self) -> str:
        """The name of this provider."""
        return self._id

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        """Begin a script. Raises `ProviderError`, which refuses the Activity, if there is none left."""
        self.calls.append(("start", submission.id))
        script = next(self._scripts, None) if self._make is None else self._make(submission)
        if script is None:
            raise ProviderError("there is no script left", reason="unavailable")
        self._running[submission.id] = _Performance(script, sink)
        return Ok(None)

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        """Stop a script; its Activity is cancelled at once."""
        self.calls.append(("cancel", activity_id))
        performance = self._running.pop(activity_id, None)
        if performance is not None:
            performance.sink.cancelled()
        return Ok(None)

    async def close(self) -> None:
        """Stop everything without a further event."""
        self.calls.append(("close",))
        self._running.clear()

    def advance(self) -> int:
        """Emit the next event of each running Activity, in the order of their start, and return how many
        there were.
        """
        running = list(self._running.items())
        for activity_id, performance in running:
            if performance.step():
                self._running.pop(activity_id, None)
        return len(running)


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of the kind `scripted`: every Activity says the same, a word at a time."""

    text: str = "The script says this and no more."
    """What is said each time, not empty."""
    interval_s: float = 0.02
    """Seconds between two words, 0 to 60."""

    def __post_init__(self) -> None:
        if not self.text:
            raise ValueError("text must not be empty")
        check_number("interval_s", self.interval_s, least=0.0, most=60.0)


class ScriptedBackend:
    """Says the text of its options by the clock of the event loop, as a Host runs it."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def warm(self) -> None:
        """Nothing: the text is there."""

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
        """The text, a word at a time, whatever the prompt."""
        for number, word in enumerate(self._options.text.split(" ")):
            await asyncio.sleep(self._options.interval_s)
            yield word if number == 0 else " " + word

    async def close(self) -> None:
        """Nothing: it holds nothing."""


def create(options: Options) -> ScriptedBackend:
    """A backend that says the same every time."""
    return ScriptedBackend(options)
