"""The line that the player types."""

from __future__ import annotations

from engine_intelligence.cli.dialogue import MAX_LINE_CHARS
from engine_intelligence.cli.text import clean


class LineEditor:
    """One line of text with a cursor, of at most `limit` characters."""

    def __init__(self, limit: int = MAX_LINE_CHARS) -> None:
        self._limit = limit
        self.text = ""
        self.cursor = 0
        """Between 0 and the length of the text."""

    def insert(self, text: str) -> None:
        """Put text in at the cursor, as much as there is room for."""
        text = clean(text).replace("\n", " ")[: self._limit - len(self.text)]
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def backspace(self) -> None:
        """Take out the character before the cursor."""
        if self.cursor:
            self.text = self.text[: self.cursor - 1] + self.text[self.cursor :]
            self.cursor -= 1

    def delete(self) -> None:
        """Take out the character after the cursor."""
        self.text = self.text[: self.cursor] + self.text[self.cursor + 1 :]

    def move(self, by: int) -> None:
        """Move the cursor."""
        self.cursor = min(len(self.text), max(0, self.cursor + by))

    def clear(self) -> None:
        """Begin a new line."""
        self.text, self.cursor = "", 0
