"""Faces without a window: one that streams into a terminal, one that says given lines and nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TextIO

from engine_intelligence.cli.dialogue import MAX_LINE_CHARS, Answer, Dialogue
from engine_intelligence.cli.lines import Interrupts, LineSource
from engine_intelligence.cli.loop import Interrupt, Quit, Say, Wish
from engine_intelligence.cli.text import clean

_PROMPT = "You: "


class Printer:
    """Prints a dialogue as it grows. What it prints was cleaned before, and is never taken for markup."""

    def __init__(self, out: TextIO, dialogue: Dialogue) -> None:
        self._out = out
        self._dialogue = dialogue
        self._answer: Answer | None = None
        self._printed: str = ""
        self._finished = True
        self._notice = ""
        self._fresh_line = True

    def update(self) -> None:
        """Print what is new."""
        dialogue = self._dialogue
        answer = dialogue.answer
        if answer is not None and answer is not self._answer:
            self._answer, self._printed, self._finished = answer, "", False
        if answer is not None and not self._finished:
            self._print_answer(answer)
        if dialogue.notice != self._notice:
            self._notice = dialogue.notice
            if self._notice and not dialogue.notice_repeats_outcome:
                self.line(f"({self._notice})")
        self._out.flush()

    def line(self, text: str) -> None:
        """Print a line of its own."""
        self._end_line()
        self._write(text + "\n")

    def prompt(self) -> None:
        """Print what a player types after."""
        self._end_line()
        self._write(_PROMPT)
        self._out.flush()

    def typed(self) -> None:
        """The player ended a line: the terminal is at the beginning of the next."""
        self._fresh_line = True

    def _print_answer(self, answer: Answer) -> None:
        if answer.text != self._printed:
            if not answer.text.startswith(self._printed):
                self._end_line()  # a completed text that is another than what was streamed counts, and is said again
                self._printed = ""
            new = answer.text[len(self._printed) :]
            if not self._printed or self._fresh_line:
                self._end_line()
                self._write(f"{self._dialogue.words.name}: ")
                new = new.lstrip(" ")
            self._write(new)
            self._printed = answer.text
        if answer.outcome is not None:
            self._finished = True
            self._end_line()
            if answer.outcome != "completed":
                self._write(f"[{answer.outcome}]\n")

    def _end_line(self) -> None:
        if not self._fresh_line:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._fresh_line = text.endswith("\n")


class HeadlessFace:
    """Says given lines, each after the terminal of the one before, and then leaves."""

    def __init__(self, dialogue: Dialogue, lines: Sequence[str], out: TextIO) -> None:
        self._dialogue = dialogue
        self._lines = deque(lines)
        self._printer = Printer(out, dialogue)

    def wishes(self, now: float) -> Iterable[Wish]:
        """See `Face`."""
        if self._dialogue.busy:
            return
        self._printer.update()  # what there is to be told comes before what is said next
        if not self._lines or self._dialogue.closed_reason is not None:
            yield Quit()
        else:
            line = self._lines.popleft()
            self._printer.line(f"{_PROMPT}{clean(line)}")
            yield Say(line)

    def show(self, now: float) -> None:
        """See `Face`."""
        self._printer.update()


class TerminalFace:
    """A player at a terminal, or lines from a pipe, which are said one after the other."""

    def __init__(
        self,
        dialogue: Dialogue,
        lines: LineSource,
        interrupts: Interrupts,
        out: TextIO,
        *,
        first_lines: Sequence[str] = (),
    ) -> None:
        self._dialogue = dialogue
        self._first_lines = deque(first_lines)
        self._lines = lines
        self._interrupts = interrupts
        self._printer = Printer(out, dialogue)
        self._prompted = False

    def wishes(self, now: float) -> Iterable[Wish]:
        """See `Face`."""
        dialogue, lines = self._dialogue, self._lines
        self._printer.update()
        if dialogue.closed_reason is not None:
            yield Quit()
        while self._interrupts.take():
            yield Interrupt()
        if self._first_lines and not dialogue.busy:
            first = self._first_lines.popleft()
            self._printer.line(f"{_PROMPT}{clean(first)}")
            yield Say(first)
            return
        # A person is told that it is not their turn; a pipe has no eyes, so its lines wait.
        line = lines.read() if lines.interactive or not dialogue.busy else None
        if line is not None:
            self._prompted = False
            if lines.interactive:
                self._printer.typed()
            elif line.strip():
                self._printer.line(f"{_PROMPT}{clean(line)}")
            if line.strip():
                yield Say(line[:MAX_LINE_CHARS])
        elif lines.ended and not dialogue.busy:
            yield Quit()

    def show(self, now: float) -> None:
        """See `Face`."""
        self._printer.update()
        dialogue = self._dialogue
        if self._lines.interactive and not self._prompted and not dialogue.busy and not dialogue.quitting:
            self._prompted = True
            self._printer.prompt()
