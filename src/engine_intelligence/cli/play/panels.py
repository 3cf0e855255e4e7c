"""What is drawn over the scene: the speech bubble, the frame times, the notice and the line that the player types."""

from __future__ import annotations

import io
import re
from importlib import resources

import pygame

from engine_intelligence.cli.dialogue import Answer, Dialogue
from engine_intelligence.cli.frames import FRAME_NS, GRAPH_FRAMES, FrameMeter
from engine_intelligence.cli.play.editor import LineEditor
from engine_intelligence.cli.play.layout import BUBBLE, BUBBLE_TAIL, HELP, INPUT, METRICS, NOTICE, Box
from engine_intelligence.cli.play.wrap import WrappedText

Colour = tuple[int, int, int]

_PARCHMENT: Colour = (243, 234, 212)
_INK: Colour = (44, 34, 28)
_FADED: Colour = (128, 116, 100)
_LIGHT: Colour = (226, 228, 236)
_DIM: Colour = (150, 156, 176)
_AMBER: Colour = (255, 206, 120)
_GREEN: Colour = (96, 200, 140)
_RED: Colour = (240, 96, 84)

BUBBLE_PADDING = 16
BUBBLE_LINES = 5
_LINE_HEIGHT = 26
_HEADER_HEIGHT = 24

# There is no room for them in a bubble.
_EMPTY_LINES = re.compile(r"\n\s*\n")

# The graph shows 0 to 25 ms, so that the 16.7 ms line is at two thirds of its height.
_GRAPH_TOP_NS = FRAME_NS * 3 // 2
_GRAPH_HEIGHT = 66

# Numbers that change 60 times a second cannot be read.
_REFRESH_FRAMES = 15

# Texts that stand still are rendered once; those that change are few, and the oldest go first.
_CACHED_TEXTS = 256


def _bundled_font() -> io.BytesIO:
    """The font that comes with pygame, in memory: a font over a file holds its descriptor even after `pygame.quit`."""
    return io.BytesIO((resources.files(pygame) / pygame.font.get_default_font()).read_bytes())


class Type:
    """One size of the bundled font. It is rendered at twice the size and scaled down: its spacing is uneven at small sizes."""

    def __init__(self, size: int) -> None:
        self._font = pygame.font.Font(_bundled_font(), 2 * size)
        self.height = self._font.get_height() // 2
        self._cache: dict[tuple[str, Colour], pygame.Surface] = {}

    def width(self, text: str) -> int:
        """The width of `text` in pixels."""
        return (self._font.size(text)[0] + 1) // 2

    def draw(self, surface: pygame.Surface, text: str, colour: Colour, left: int, top: int) -> int:
        """Draw one line and return its width."""
        key = (text, colour)
        image = self._cache.pop(key, None)
        if image is None:
            large = self._font.render(text, True, colour)
            image = pygame.transform.smoothscale(large, (self.width(text), self.height))
        self._cache[key] = image
        if len(self._cache) > _CACHED_TEXTS:
            del self._cache[next(iter(self._cache))]
        surface.blit(image, (left, top))
        return image.get_width()

    def fitted(self, text: str, width: int) -> str:
        """As much of `text` as fits, with an ellipsis where something was left out."""
        if self.width(text) <= width:
            return text
        least, most = 0, len(text)
        while least < most:
            middle = (least + most + 1) // 2
            if self.width(text[:middle] + "…") <= width:
                least = middle
            else:
                most = middle - 1
        return text[:least] + "…"


class Bubble:
    """What the gatekeeper says. A long speech shows its last lines."""

    def __init__(self) -> None:
        self._text = Type(21)
        self._header = Type(15)
        self.wrapped = WrappedText(BUBBLE.width - 2 * BUBBLE_PADDING, self._text.width)
        """The lines that the bubble is made of."""

    def draw(self, surface: pygame.Surface, dialogue: Dialogue, now: float) -> Box | None:
        """Draw the bubble, if something was asked, and return where it is."""
        answer = dialogue.answer
        if answer is None:
            return None
        lines = self._lines(answer, now)
        height = 2 * BUBBLE_PADDING - 6 + _HEADER_HEIGHT + _LINE_HEIGHT * max(1, len(lines))
        box = Box(BUBBLE.left, BUBBLE.bottom - height, BUBBLE.width, height)
        tail = [(BUBBLE_TAIL[0] - 44, box.bottom - 2), (BUBBLE_TAIL[0] - 8, box.bottom - 2), BUBBLE_TAIL]
        pygame.draw.rect(surface, _PARCHMENT, box, border_radius=14)
        pygame.draw.polygon(surface, _PARCHMENT, tail)
        left, top, width, _ = box.inset(BUBBLE_PADDING)
        header = f"{dialogue.words.name}, asked “{answer.question}”"
        earlier = "…" if len(self.wrapped.lines()) > BUBBLE_LINES else ""
        self._header.draw(surface, earlier, _FADED, left + width - self._header.width(earlier), top - 4)
        self._header.draw(surface, self._header.fitted(header, width - 24), _FADED, left, top - 4)
        colour = _INK if answer.outcome is None or answer.outcome.startswith("completed") else _FADED
        for number, line in enumerate(lines):
            self._text.draw(surface, line, colour, left, top + _HEADER_HEIGHT - 4 + number * _LINE_HEIGHT)
        return box

    def _lines(self, answer: Answer, now: float) -> list[str]:
        if not answer.text:
            return (
                ["." * (1 + int(now * 3) % 3)]
                if answer.outcome is None
                else [f"({answer.outcome.partition(':')[0]})"]
            )
        self.wrapped.update(_EMPTY_LINES.sub("\n", answer.text.lstrip()))
        return self.wrapped.lines(BUBBLE_LINES)


class Metrics:
    """The frame times, and how the Activity does."""

    def __init__(self) -> None:
        self._small = Type(15)
        self._rows: list[tuple[str, str, Colour]] = []
        self._drawn = 0

    def draw(self, surface: pygame.Surface, dialogue: Dialogue, meter: FrameMeter) -> None:
        """Draw the graph and the numbers below it."""
        _draw_panel(surface, METRICS)
        inner = METRICS.inset(12)
        graph = Box(inner.left + (inner.width - GRAPH_FRAMES) // 2, inner.top, GRAPH_FRAMES, _GRAPH_HEIGHT)
        self._draw_graph(surface, graph, meter)
        if self._drawn % _REFRESH_FRAMES == 0 or not self._rows:
            self._rows = _metric_rows(dialogue, meter)
        self._drawn += 1
        state = _state(dialogue)
        top = graph.bottom + 8
        for label, value, colour in [*self._rows, ("Activity", *state)]:
            labelled = self._small.draw(surface, label, _DIM, inner.left, top)
            value = self._small.fitted(value, inner.width - labelled - 12)
            self._small.draw(surface, value, colour, inner.right - self._small.width(value), top)
            top += 22

    def _draw_graph(self, surface: pygame.Surface, graph: Box, meter: FrameMeter) -> None:
        pygame.draw.rect(surface, (14, 16, 30), graph)
        left = graph.right - len(meter.recent_ns)
        for number, work_ns in enumerate(meter.recent_ns):
            height = max(1, min(graph.height, work_ns * graph.height // _GRAPH_TOP_NS))
            colour = _GREEN if work_ns <= FRAME_NS else _RED
            x = left + number
            pygame.draw.line(surface, colour, (x, graph.bottom - 1), (x, graph.bottom - height))
        limit = graph.bottom - FRAME_NS * graph.height // _GRAPH_TOP_NS
        pygame.draw.line(surface, _AMBER, (graph.left, limit), (graph.right - 1, limit))
        self._small.draw(surface, "16.7 ms", _AMBER, graph.left + 4, limit - 18)
        label = "last 240 frames"
        self._small.draw(surface, label, _DIM, graph.right - 4 - self._small.width(label), limit - 18)


class Lines:
    """The notice, the line that is typed, and which keys do what."""

    def __init__(self) -> None:
        self._text = Type(20)
        self._small = Type(17)
        self._help = Type(15)
        self._notice = WrappedText(NOTICE.width - 8, self._small.width)

    def draw(self, surface: pygame.Surface, dialogue: Dialogue, editor: LineEditor, now: float) -> None:
        """Draw them."""
        self._draw_notice(surface, dialogue.notice)
        self._draw_input(surface, editor, now)
        keys = "Enter: say it   ·   Esc: interrupt   ·   Esc twice, or close the window: quit"
        self._help.draw(surface, keys, _DIM, HELP.left + 4, HELP.top + 2)

    def _draw_notice(self, surface: pygame.Surface, notice: str) -> None:
        self._notice.update(notice)
        lines = self._notice.lines()
        if len(lines) > 2:
            lines = [lines[0], self._small.fitted(f"{lines[1]} {lines[2]}", NOTICE.width - 8)]
        top = NOTICE.bottom - 22 * len(lines)
        for number, line in enumerate(lines):
            shadowed = (NOTICE.left + 4, top + 22 * number)
            self._small.draw(surface, line, (12, 12, 18), shadowed[0] + 1, shadowed[1] + 1)
            self._small.draw(surface, line, _AMBER, *shadowed)

    def _draw_input(self, surface: pygame.Surface, editor: LineEditor, now: float) -> None:
        _draw_panel(surface, INPUT)
        inner = INPUT.inset(10)
        top = inner.top + (inner.height - self._text.height) // 2 + 1
        left = inner.left + self._text.draw(surface, "You:", _DIM, inner.left, top) + 10
        width = inner.right - left
        before, after = editor.text[: editor.cursor], editor.text[editor.cursor :]
        # What is left of the cursor scrolls out, so that the cursor is always seen.
        while before and self._text.width(before) > width - 12:
            before = before[1:]
        drawn = self._text.draw(surface, before, _LIGHT, left, top) if before else 0
        while after and drawn + self._text.width(after) > width - 4:
            after = after[:-1]
        if after:
            self._text.draw(surface, after, _LIGHT, left + drawn + 2, top)
        if not editor.text:
            self._text.draw(surface, "type here", (92, 98, 120), left + 8, top)
        if now % 1 < 0.6:
            pygame.draw.line(surface, _AMBER, (left + drawn, inner.top), (left + drawn, inner.bottom - 1), 2)


def _metric_rows(dialogue: Dialogue, meter: FrameMeter) -> list[tuple[str, str, Colour]]:
    recent = sorted(meter.recent_ns)
    worst = (
        f"{recent[len(recent) // 2] / 1e6:.1f} ms, max {recent[-1] / 1e6:.1f} ms" if recent else "none yet"
    )
    answer = dialogue.answer
    first = None if answer is None else answer.time_to_first_text_s
    rate = None if answer is None else answer.deltas_per_s
    return [
        ("frame work", worst, _LIGHT),
        ("frames missed", f"{meter.missed or 'none'} of {meter.frames}", _RED if meter.missed else _GREEN),
        ("time to first text", "–" if first is None else f"{first:.2f} s", _LIGHT),
        ("tokens a second", "–" if rate is None else f"{rate:.0f}", _LIGHT),
    ]


def _state(dialogue: Dialogue) -> tuple[str, Colour]:
    answer = dialogue.answer
    if answer is not None and answer.outcome is not None:
        return f"ended with {answer.outcome.partition(',')[0]}", _RED if answer.failed else _LIGHT
    return dialogue.phase, _AMBER if dialogue.busy else _LIGHT


def _draw_panel(surface: pygame.Surface, box: Box) -> None:
    pygame.draw.rect(surface, (22, 25, 44), box, border_radius=10)
    pygame.draw.rect(surface, (66, 72, 104), box, width=1, border_radius=10)
