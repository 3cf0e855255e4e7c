"""The window: a face of the loop that draws the scene and takes the keyboard. Made by `open_window`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

import pygame

from engine_intelligence.cli.frames import FrameMeter
from engine_intelligence.cli.loop import Interrupt, Quit, Say, Wish
from engine_intelligence.cli.play.editor import LineEditor
from engine_intelligence.cli.play.layout import WINDOW
from engine_intelligence.cli.play.panels import Bubble, Lines, Metrics
from engine_intelligence.cli.play.scene import Scene
from engine_intelligence.cli.play.story import Story

# The gate has stopped moving by then.
_PICTURE_AFTER_S = 2.5

# A key that is held down repeats, as in any text field.
_REPEAT_DELAY_MS, _REPEAT_INTERVAL_MS = 400, 35


class Window:
    """The scene in a window. `lines` are said first; with a `screenshot`, the window then closes itself."""

    def __init__(
        self, story: Story, meter: FrameMeter, *, lines: Sequence[str] = (), screenshot: Path | None = None
    ) -> None:
        pygame.font.init()
        self.surface = pygame.display.set_mode((WINDOW.width, WINDOW.height))
        pygame.display.set_caption("The gatekeeper")
        pygame.key.set_repeat(_REPEAT_DELAY_MS, _REPEAT_INTERVAL_MS)
        pygame.key.start_text_input()
        self.editor = LineEditor()
        self.bubble = Bubble()
        self._story = story
        self._meter = meter
        self._lines = deque(lines)
        self._screenshot = screenshot
        self._done_at: float | None = None
        self._questions = story.questions
        self._scene = Scene()
        self._metrics = Metrics()
        self._bars = Lines()

    def wishes(self, now: float) -> Iterable[Wish]:
        """See `Face`."""
        wishes: list[Wish] = []
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                wishes.append(Quit())
            elif event.type == pygame.TEXTINPUT:
                self.editor.insert(event.text)
            elif event.type == pygame.KEYDOWN:
                wish = self._key(event.key)
                if wish is not None:
                    wishes.append(wish)
        if not self._story.busy:
            if self._lines and self._story.closed_reason is None:
                wishes.append(Say(self._lines.popleft()))
            elif self._screenshot is not None:
                self._take_picture(self._screenshot, now, wishes)
        return wishes

    def show(self, now: float) -> None:
        """See `Face`."""
        story = self._story
        if story.questions != self._questions:
            self._questions = story.questions
            self.editor.clear()  # it was accepted; what is refused stays to be sent again
        self._scene.draw(self.surface, now, story.gate_opened_at, story.phase == "speaking")
        self.bubble.draw(self.surface, story, now)
        self._metrics.draw(self.surface, story, self._meter)
        self._bars.draw(self.surface, story, self.editor, now)
        pygame.display.flip()

    def _key(self, key: int) -> Wish | None:
        editor = self.editor
        match key:
            case pygame.K_ESCAPE:
                return Interrupt()
            case pygame.K_RETURN | pygame.K_KP_ENTER:
                return Say(editor.text)
            case pygame.K_BACKSPACE:
                editor.backspace()
            case pygame.K_DELETE:
                editor.delete()
            case pygame.K_LEFT:
                editor.move(-1)
            case pygame.K_RIGHT:
                editor.move(1)
            case pygame.K_HOME:
                editor.move(-len(editor.text))
            case pygame.K_END:
                editor.move(len(editor.text))
            case _:
                pass
        return None

    def _take_picture(self, path: Path, now: float, wishes: list[Wish]) -> None:
        if self._done_at is None:
            self._done_at = now
        elif now - self._done_at >= _PICTURE_AFTER_S:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                pygame.image.save(self.surface, path)
            except (OSError, pygame.error) as error:
                self._story.notice = f"The picture cannot be saved in {path} ({error})."
                self._story.service_closed(self._story.notice)
            wishes.append(Quit())
