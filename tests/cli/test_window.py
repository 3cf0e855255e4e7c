"""The window, drawn without a screen: what it shows does not overlap, and the keys do what it says they do."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pygame
import pytest
from cli.talking import Stage, says, stage

from engine_intelligence.cli.loop import Interrupt, Quit, Say
from engine_intelligence.cli.play import layout
from engine_intelligence.cli.play.display import DisplayMissing, open_window
from engine_intelligence.cli.play.editor import LineEditor
from engine_intelligence.cli.play.panels import BUBBLE_LINES, BUBBLE_PADDING, Type
from engine_intelligence.cli.play.window import Window

Setting = tuple[Stage, Window]


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.fixture
def setting() -> Iterator[Setting]:
    play = stage(says("You ", "may ", "pass."), says("Good night."))
    with open_window(play.story, play.meter) as window:
        yield play, window


def frame(setting: Setting, now: float = 1.0) -> None:
    play, window = setting
    play.frame(*window.wishes(now))
    window.show(now)


def press(key: int) -> None:
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key))


def type_in(text: str) -> None:
    pygame.event.post(pygame.event.Event(pygame.TEXTINPUT, text=text))


def test_panels_do_not_overlap() -> None:
    assert [pair for pair in itertools.combinations(layout.PANELS, 2) if pair[0].meets(pair[1])] == []


def test_panels_are_inside_the_window() -> None:
    for panel in layout.PANELS:
        assert pygame.Rect(layout.WINDOW).contains(pygame.Rect(panel))


def test_the_bubble_hides_neither_the_gate_nor_the_gatekeeper() -> None:
    assert not layout.BUBBLE.meets(layout.GATE)
    assert not layout.BUBBLE.meets(layout.GATEKEEPER)
    assert not layout.GATE.meets(layout.GATEKEEPER)


@pytest.mark.parametrize("words", [1, 12, 60, 400])
def test_the_bubble_stays_in_its_place_however_long_the_speech(words: int) -> None:
    play = stage(says(*["word "] * words))
    with open_window(play.story, play.meter) as window:
        play.frame(Say("May I pass?"))
        play.play_out()
        box = window.bubble.draw(window.surface, play.story, 1.0)
    assert box is not None
    assert pygame.Rect(layout.BUBBLE).contains(pygame.Rect(box))


def test_the_lines_of_a_speech_fit_the_bubble() -> None:
    play = stage(says("Hm. A traveller, at this hour, and in such weather. " * 8, "m" * 500))
    with open_window(play.story, play.meter) as window:
        play.frame(Say("May I pass?"))
        play.play_out()
        window.show(1.0)
        font = Type(21)
        widths = [font.width(line) for line in window.bubble.wrapped.lines()]
    assert len(widths) > BUBBLE_LINES
    assert max(widths) <= layout.BUBBLE.width - 2 * BUBBLE_PADDING


def test_enter_says_what_was_typed_and_empties_the_line(setting: Setting) -> None:
    type_in("May I pass?")
    press(pygame.K_RETURN)
    frame(setting)
    play, window = setting
    assert play.story.answer is not None
    assert play.story.answer.question == "May I pass?"
    assert window.editor.text == ""


def test_enter_while_he_speaks_is_refused_in_words_and_keeps_the_line(setting: Setting) -> None:
    play, window = setting
    play.frame(Say("May I pass?"))
    frame(setting)
    type_in("Well?")
    press(pygame.K_RETURN)
    frame(setting)
    assert play.story.notice == "He is still speaking. Press Esc to interrupt."
    assert window.editor.text == "Well?"


def test_escape_cancels_what_is_being_said(setting: Setting) -> None:
    play, _ = setting
    play.frame(Say("May I pass?"))
    press(pygame.K_ESCAPE)
    frame(setting)
    play.play_out()
    assert play.story.answer is not None
    assert play.story.answer.outcome == "cancelled"


def test_escape_twice_with_nothing_to_interrupt_quits(setting: Setting) -> None:
    press(pygame.K_ESCAPE)
    frame(setting)
    assert not setting[0].story.quitting
    press(pygame.K_ESCAPE)
    frame(setting)
    assert setting[0].story.quitting


def test_closing_the_window_quits(setting: Setting) -> None:
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert list(setting[1].wishes(1.0)) == [Quit()]


def test_escape_is_an_interrupt(setting: Setting) -> None:
    press(pygame.K_ESCAPE)
    assert list(setting[1].wishes(1.0)) == [Interrupt()]


def test_lines_that_were_given_are_said_first() -> None:
    play = stage(says("One."), says("Two."))
    with open_window(play.story, play.meter, lines=["First", "Second"]) as window:
        for _ in range(12):
            play.provider.advance()
            frame((play, window))
    assert [answer.question for answer in play.story.answers] == ["First", "Second"]


def test_a_picture_is_saved_when_all_was_said(tmp_path: Path) -> None:
    play = stage(says("One."))
    picture = tmp_path / "folder" / "play.png"
    with open_window(play.story, play.meter, lines=["First"], screenshot=picture) as window:
        now = 0.0
        while not play.story.quitting:
            play.provider.advance()
            frame((play, window), now)
            now += 0.5
        size = pygame.image.load(picture).get_size()
    assert size == (layout.WINDOW.width, layout.WINDOW.height)


def drawn(setting: Setting, box: layout.Box, now: float) -> bytes:
    setting[1].show(now)
    return pygame.image.tobytes(setting[1].surface.subsurface(pygame.Rect(box)), "RGB")


def test_the_gate_is_seen_to_open(setting: Setting) -> None:
    shut = drawn(setting, layout.GATE, 1.0)
    setting[0].story.gate_opened_at = 1.0
    half, full = drawn(setting, layout.GATE, 2.0), drawn(setting, layout.GATE, 3.5)
    assert len({shut, half, full}) == 3


def test_the_graph_shows_the_frames(setting: Setting) -> None:
    before = drawn(setting, layout.METRICS, 1.0)
    for _ in range(100):
        setting[0].meter.recent_ns.append(20_000_000)
    assert drawn(setting, layout.METRICS, 1.0) != before


def test_text_that_a_font_cannot_draw_does_not_end_the_game() -> None:
    play = stage(says("\x00 \ud800 🏰 \x1b[31m מלך", "\u202e"))
    with open_window(play.story, play.meter) as window:
        play.frame(Say("May I? 🏰"))
        play.play_out()
        window.show(1.0)


def test_without_a_display_there_is_no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "no-such-driver")
    play = stage()
    with pytest.raises(DisplayMissing), open_window(play.story, play.meter):
        pass


Edit = Callable[[LineEditor], None]


def _at_start(editor: LineEditor) -> None:
    editor.move(-100)


EDITS: list[tuple[list[Edit], str, int]] = [
    ([LineEditor.backspace], "ab", 2),
    ([_at_start, LineEditor.backspace], "abc", 0),
    ([_at_start, LineEditor.delete], "bc", 0),
    ([LineEditor.delete], "abc", 3),
    ([_at_start, lambda editor: editor.insert("x\ny")], "x yabc", 3),
    ([lambda editor: editor.insert("\x1b[31mred")], "abcred", 6),
    ([LineEditor.clear], "", 0),
]


@pytest.mark.parametrize(("edits", "text", "cursor"), EDITS)
def test_the_line_is_edited_at_its_cursor(edits: list[Edit], text: str, cursor: int) -> None:
    editor = LineEditor()
    editor.insert("abc")
    for edit in edits:
        edit(editor)
    assert (editor.text, editor.cursor) == (text, cursor)


def test_the_line_is_bounded() -> None:
    editor = LineEditor(limit=5)
    editor.insert("abcdefgh")
    assert editor.text == "abcde"
