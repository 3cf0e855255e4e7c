"""What a model says is untrusted text: it is cleaned here before a terminal or a font sees it."""

from __future__ import annotations

import re

# Sequences that command a terminal. One that is cut off at the end of the text is taken out too, so that cleaning a text that
# still grows never shows what it later takes back. A string to the terminal (OSC, DCS, APC) is bounded: an opening that is
# never closed must not hide the rest of an answer.
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*(?:[@-~]|\Z)"
    r"|\x1b[\]PX^_][^\x07\x1b]{0,256}(?:\x07|\x1b(?:\\|\Z)|\Z)"
    r"|\x1b[ -/]*(?:[0-~]|\Z)"
)

# Control characters but the newline, and the invisible ones that reorder, hide or tag text. The two joiners stay: scripts need
# them.
_INVISIBLE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` without what could command a terminal or break a renderer. Newlines stay, a tab becomes a space.

    The cleaned beginning of a text is the beginning of the cleaned text, so a stream can be cleaned as it grows.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCES.sub("", text)
    text = text.replace("\t", " ").replace("\u2028", "\n").replace("\u2029", "\n")
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", _INVISIBLE.sub("", text))


def one_line(text: str, limit: int = 300) -> str:
    """`text` cleaned and on one line of at most `limit` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
