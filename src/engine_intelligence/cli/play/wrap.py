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

    def update(self, text: str) -> None:
        """Make these the lines of `text`."""
        if text == self._text:
            return
        if not text.startswith(self._text):
            self._done.clear()
            self._last, self._last_start = "", 0
        self._text = text
        # All lines but the last are final: a line is broken by what is before the break.
        position = self._last_start
        while True:
            line, following = self._break(position)
            if following is None:
                self._last, self._last_start = line, position
                return
            self._done.append(line)
            position = following

    def lines(self, most: int | None = None) -> list[str]:
        """The lines, or the last `most` of them."""
        lines = [*self._done, self._last] if self._last else list(self._done)
        return lines if most is None else lines[-most:]

    def _break(self, start: int) -> tuple[str, int | None]:
        """The line that begins at `start`, and where the next one begins; `None` if this is the last."""
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
            return text[start:paragraph_end], None if end < 0 else end + 1
        if fits > start:
            following = fits
            while following < paragraph_end and text[following] == " ":
                following += 1
            if following == paragraph_end and end >= 0:
                following += 1  # what was left of the paragraph was spaces: they make no line of their own
            return text[start:fits], following
        cut = self._longest(start, min(paragraph_end, start + self._width))
        return text[start:cut], cut

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
