"""What `engine-intelligence doctor` looks at. Each check says what it found and, where something is wrong, what to do."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from engine_intelligence.cli.dialogue import Dialogue, Words
from engine_intelligence.cli.frames import FrameMeter
from engine_intelligence.cli.loop import Loop, Quit, Say, Wish
from engine_intelligence.cli.report import milliseconds
from engine_intelligence.cli.speaker import DEFAULT_MODEL, Speaker, model_cache, start_host
from engine_intelligence.errors import SetupError
from engine_intelligence.host.directories import (
    CACHE_VARIABLE,
    DATA_VARIABLE,
    cache_directory,
    data_directory,
)

# What each extra brings that is looked for, by the name that it is imported as.
_EXTRAS = {
    "local": ("xllamacpp", "openai", "platformdirs"),
    "cli": ("typer", "rich"),
    "play": ("pygame",),
}

# What a frame run asks again and again.
_QUESTION = "Tell me about this gate."


class Finding(NamedTuple):
    """What one check found. `advice` is what to do about it; where it is empty, nothing is wrong."""

    subject: str
    found: str
    advice: str = ""

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.advice


def check_python() -> Finding:
    """The version of Python."""
    found = f"{platform.python_implementation()} {platform.python_version()}"
    good = sys.version_info >= (3, 11)
    return Finding("Python", found, "" if good else "Install Python 3.11 or later from python.org.")


def check_extras() -> Iterator[Finding]:
    """The packages of each extra."""
    for extra, modules in _EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        if missing:
            advice = f'pip install "engine-intelligence[{extra}]"'
            yield Finding(f"packages for {extra}", f"missing: {', '.join(missing)}", advice)
        else:
            yield Finding(f"packages for {extra}", "all there")


def check_directories() -> Iterator[Finding]:
    """Whether the user's directories can be written to."""
    for name, directory, variable in (
        ("data directory", data_directory, DATA_VARIABLE),
        ("cache directory", cache_directory, CACHE_VARIABLE),
    ):
        try:
            path = directory()
        except ModuleNotFoundError:
            yield Finding(name, "not known", 'pip install "engine-intelligence[local]"')
            continue
        fault = _not_writable(path)
        advice = f"Make it writable, or set {variable} to another directory." if fault else ""
        yield Finding(name, f"{path}: {fault}" if fault else f"{path}: writable", advice)


def _not_writable(path: Path) -> str | None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return None
    except OSError as error:
        return error.strerror or type(error).__name__


def check_model() -> Finding:
    """Whether the weights of the default model are here and are what the catalogue says."""
    name = f"model {DEFAULT_MODEL}"
    try:
        path = model_cache().path(DEFAULT_MODEL)
    except SetupError as error:
        return Finding(name, "not known", error.message)
    if path is None:
        return Finding(name, "not here", f"engine-intelligence models pull {DEFAULT_MODEL}")
    return Finding(name, "here and verified")


def check_display() -> Finding:
    """Whether `play` has a window. It is no fault where there is none."""
    from engine_intelligence.cli.play.display import DisplayMissing, display_driver

    try:
        return Finding("display", display_driver())
    except DisplayMissing as missing:
        return Finding("display", f"{missing} `play` goes on in the terminal.")


def check_round_trip() -> Finding:
    """A question to a scripted provider in a real Host, and its answer."""
    speaker = Speaker("scripted", "scripted", {"text": "All is well.", "interval_s": 0})
    try:
        dialogue, _ = run_silently(speaker, seconds=0.0)
    except (SetupError, ValueError) as error:
        return Finding("Host round trip", "failed", str(error))
    answer = dialogue.answer
    if answer is None or answer.outcome != "completed" or answer.text != "All is well.":
        why = dialogue.closed_reason or (answer.outcome if answer is not None else None) or dialogue.notice
        advice = (
            f"{why} Run it in a terminal and read what the Host prints; is another program ending processes?"
        )
        return Finding("Host round trip", "failed", advice)
    first = answer.time_to_first_text_s or 0.0
    return Finding("Host round trip", f"answered {first:.2f} s after the Host was started")


def check_frames(seconds: float, *, local: bool) -> Finding:
    """A loop at 60 frames a second while a provider streams: the local model if `local`, else the scripted one."""
    options: dict[str, object] = {"max_tokens": 120} if local else {"text": "word " * 200, "interval_s": 0.01}
    kind = "llama" if local else "scripted"
    name = f"{seconds:g} s of frames, {'local model' if local else 'scripted'}"
    try:
        dialogue, meter = run_silently(Speaker(kind, kind, options), seconds=seconds)
    except (SetupError, ValueError) as error:
        return Finding(name, "did not run", str(error))
    work, poll = meter.work(), meter.poll_cost()
    found = (
        f"{meter.frames} frames, work p99 {milliseconds(work.p99_ns)}, missed {meter.missed} ({meter.missed_by_us} by us), "
        f"poll p99 {milliseconds(poll.p99_ns)}, {dialogue.events} events"
    )
    advice = ""
    if dialogue.any_failed:
        answer = dialogue.answer
        advice = dialogue.closed_reason or (answer.outcome if answer is not None else None) or dialogue.notice
    elif meter.missed_by_us:
        advice = "Close what else keeps this machine busy and run it again; if it persists, please report it with this table."
    return Finding(name, found, advice)


def run_silently(
    speaker: Speaker, *, seconds: float, question: str = _QUESTION
) -> tuple[Dialogue, FrameMeter]:
    """Ask again and again for so many seconds, at least once, and show nothing. Raises as `start_host` does."""
    dialogue = Dialogue(Words("Doctor", "", "", None, ""))
    meter = FrameMeter()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as data,
        # What is said here belongs in no conversation of the user's.
        start_host(speaker, environment={**os.environ, DATA_VARIABLE: data}) as host,
    ):
        client = host.client(speaker.provider_id)
        face = _SilentFace(dialogue, seconds, question)
        Loop(client, dialogue, face, closed_reason=lambda: client.close_reason, meter=meter).run()
    return dialogue, meter


class _SilentFace:
    """Asks, and leaves once the first answer has ended and the time is over."""

    def __init__(self, dialogue: Dialogue, seconds: float, question: str) -> None:
        self._dialogue = dialogue
        self._seconds = seconds
        self._question = question
        self._end: float | None = None

    def wishes(self, now: float) -> Iterable[Wish]:
        """See `Face`."""
        if self._end is None:
            self._end = now + self._seconds
        ended = self._dialogue.answers and self._dialogue.answers[0].outcome is not None
        if self._dialogue.closed_reason is not None or (ended and now >= self._end):
            yield Quit()
        elif not self._dialogue.busy:
            if self._dialogue.notice or (ended and self._dialogue.any_failed):
                yield Quit()  # it was refused or it failed: asking again would not help
            else:
                yield Say(self._question)

    def show(self, now: float) -> None:
        """See `Face`."""
