"""Breaking a growing text into lines of a given width, whatever measures the width."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Measure = Callable[[str], int]


class WrappedText:
    """The lines of a text that mostly grows at its end: an update costs what is new, not the whole text.

    Lines are broken at spaces, and words that are wider than a line within themselves. Only the last `kept_lines` are kept.
    """

    def __init__(self, width: int, measure: Measure, kept_lines: int = 64) -> None:
        self._width = width
        self._measure = measure
        self._text = ""
        self._done: deque[str] = deque(maxlen=kept_lines)
        self._last = ""
        self._last_start = 0  # where the last line begins in the text
        self._last_after_space = False  # whether the spaces there belong to the break before it

    def update(self, text: str) -> None:
        """Make these the lines of `text`."""
        if text == self._text:
            return
        if not text.startswith(self._text):
            self._done.clear()
            self._last, self._last_start, self._last_after_space = "", 0, False
        self._text = text
        # All lines but the last are final: a line is broken by what is before the break.
        position, after_space = self._last_start, self._last_after_space
        while True:
            start = position
            if after_space:
                while text.startswith(" ", start):
                    start += 1
                if text.startswith(
                    "\n", start
                ):  # the paragraph ends in spaces, which make no line of their own
                    position, after_space = start + 1, False
                    continue
            line, following, broken_at_space = self._break(start)
            if following is None:
                self._last, self._last_start, self._last_after_space = line, position, after_space
                return
            self._done.append(line)
            position, after_space = following, broken_at_space

    def lines(self, most: int | None = None) -> list[str]:
        """The lines, or the last `most` of them."""
        lines = [*self._done, self._last] if self._last else list(self._done)
        return lines if most is None else lines[-most:]

    def _break(self, start: int) -> tuple[str, int | None, bool]:
        """The line that begins at `start`, where the next one begins (`None`: nowhere), and if it begins with spaces."""
        text = self._text
        end = text.find("\n", start)
        paragraph_end = len(text) if end < 0 else end
        fits = start  # the line may end here
        while fits < paragraph_end:
            space = text.find(" ", fits + 1, paragraph_end)
            candidate = paragraph_end if space < 0 else space
            # A word of megabytes is not measured whole.
            if candidate - start > self._width or self._measure(text[start:candidate]) > self._width:
                break
            fits = candidate
        if fits == paragraph_end:
            return text[start:paragraph_end], None if end < 0 else end + 1, False
        if fits > start:
            return text[start:fits], fits, True
        cut = self._longest(start, min(paragraph_end, start + self._width))
        return text[start:cut], cut, False

    def _longest(self, start: int, end: int) -> int:
        """The end of the longest piece from `start` that fits; at least one character, or nothing would ever fit."""
        least, most = start + 1, end
        while least < most:
            middle = (least + most + 1) // 2
            if self._measure(self._text[start:middle]) <= self._width:
                least = middle
            else:
                most = middle - 1
        return least
