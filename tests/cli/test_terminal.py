"""Faces without a window: what they print, and when they take a line."""

import io
import os
import signal
from collections.abc import Iterator

import pytest
from cli.talking import Stage, says, stage

from engine_intelligence.cli.lines import DescriptorLines, FixedLines, Interrupts, LineSource
from engine_intelligence.cli.play.story import Story, gatekeeper_words
from engine_intelligence.cli.terminal import HeadlessFace, TerminalFace
from engine_intelligence.providers.scripted import Script


class TypedLines:
    """Lines that a person types: `None` is a frame without one."""

    interactive = True

    def __init__(self, *lines: str | None) -> None:
        self._lines = list(lines)

    @property
    def ended(self) -> bool:
        return not self._lines

    def read(self) -> str | None:
        return self._lines.pop(0) if self._lines else None


def headless(*scripts: Script, lines: list[str]) -> tuple[Stage, str]:
    play = stage(*scripts)
    out = io.StringIO()
    _run(play, HeadlessFace(play.story, lines, out))
    return play, out.getvalue()


def terminal(*scripts: Script, lines: LineSource, interrupts: Interrupts | None = None) -> tuple[Stage, str]:
    play = stage(*scripts, story=Story(gatekeeper_words("Ctrl-C", quits_at_once=True)))
    out = io.StringIO()
    _run(play, TerminalFace(play.story, lines, interrupts or Interrupts(), out))
    return play, out.getvalue()


def _run(play: Stage, face: HeadlessFace | TerminalFace) -> None:
    now = 0.0
    while not play.story.quitting:
        play.provider.advance()
        play.frame(*face.wishes(now))
        face.show(now)
        now += 0.016


def test_lines_are_said_one_after_the_other() -> None:
    _, printed = headless(says("You may ", "pass."), says("Aldric."), lines=["May I pass?", "Your name?"])
    assert printed == (
        "You: May I pass?\nGatekeeper: You may pass.\n(The gate opens.)\nYou: Your name?\nGatekeeper: Aldric.\n"
    )


def test_text_is_printed_as_it_comes() -> None:
    play = stage(says("You ", "may."))
    out = io.StringIO()
    face = HeadlessFace(play.story, ["May I pass?"], out)
    play.frame(*face.wishes(0.0))
    play.provider.advance()
    play.frame(*face.wishes(0.0))
    face.show(0.0)
    assert out.getvalue().endswith("Gatekeeper: You ")


def test_a_failed_answer_says_so_and_the_next_line_is_said() -> None:
    play, printed = headless(Script(deltas=("Hm",), failure="it broke"), says("Yes?"), lines=["One", "Two"])
    assert "Gatekeeper: Hm\n[failed: it broke (other)]\n" in printed
    assert "Gatekeeper: Yes?\n" in printed
    assert play.story.any_failed


def test_a_completed_text_that_is_not_what_streamed_is_printed_whole() -> None:
    _, printed = headless(Script(deltas=("Hm.",), output="No."), lines=["One"])
    assert "Gatekeeper: Hm.\nGatekeeper: No.\n" in printed


def test_an_answer_goes_on_in_a_line_of_its_own_after_a_notice() -> None:
    _, printed = terminal(says("One", " two"), lines=TypedLines("First", "Second", None, None))
    assert "Gatekeeper: two\n" in printed


def test_what_looks_like_markup_is_printed_as_it_is() -> None:
    _, printed = headless(says("[red]No[/red] [/]"), lines=["One"])
    assert "Gatekeeper: [red]No[/red] [/]\n" in printed


@pytest.mark.fault("R78")
def test_what_commands_a_terminal_is_not_printed() -> None:
    _, printed = headless(says("\x1b[2J", "No."), lines=["One\x1b[2J"])
    assert "\x1b" not in printed


def test_lines_from_a_pipe_wait_for_the_answer_before() -> None:
    play, printed = terminal(says("One."), says("Two."), lines=FixedLines(["First", "", "Second"]))
    assert play.story.questions == 2
    assert printed.index("One.") < printed.index("You: Second")


def test_a_line_that_is_typed_while_he_speaks_is_refused_in_words() -> None:
    _, printed = terminal(says("One.", "More."), lines=TypedLines("First", "Second", None, None, None))
    assert "(He is still speaking. Press Ctrl-C to interrupt.)" in printed


def test_a_person_is_asked_for_a_line_again_after_an_answer() -> None:
    _, printed = terminal(says("One."), lines=TypedLines(None, "First", None, None, None))
    assert printed.count("You: ") == 2


def test_ctrl_c_cancels_an_answer_and_another_one_quits() -> None:
    interrupts = Interrupts()
    play = stage(says("One.", "Two.", "Three."), story=Story(gatekeeper_words("Ctrl-C", quits_at_once=True)))
    face = TerminalFace(play.story, TypedLines("First", *[None] * 9), interrupts, io.StringIO())
    play.frame(*face.wishes(0.0))
    with interrupts.watched():
        signal.raise_signal(signal.SIGINT)
    play.frame(*face.wishes(0.0))
    assert [answer.outcome for answer in play.story.answers] == ["cancelled"]
    with interrupts.watched():
        signal.raise_signal(signal.SIGINT)
    play.frame(*face.wishes(0.0))
    assert play.story.quitting


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    for descriptor in (reading, writing):
        try:
            os.close(descriptor)
        except OSError:
            pass  # the test closed it


@pytest.mark.skipif(os.name != "posix", reason="pipes cannot be looked at without waiting on Windows")
class TestDescriptorLines:
    def test_nothing_there_is_no_line_and_no_wait(self, pipe: tuple[int, int]) -> None:
        lines = DescriptorLines(pipe[0])
        assert lines.read() is None
        assert not lines.ended

    def test_a_line_is_there_when_it_is_complete(self, pipe: tuple[int, int]) -> None:
        lines = DescriptorLines(pipe[0])
        os.write(pipe[1], b"half a ")
        assert lines.read() is None
        os.write(pipe[1], b"line\r\nand more")
        assert lines.read() == "half a line"
        assert lines.read() is None

    def test_a_character_that_comes_in_two_pieces_is_whole(self, pipe: tuple[int, int]) -> None:
        lines = DescriptorLines(pipe[0])
        os.write(pipe[1], "é".encode()[:1])
        lines.read()
        os.write(pipe[1], "é".encode()[1:] + b"\n")
        assert lines.read() == "é"

    def test_what_is_left_at_the_end_is_a_line(self, pipe: tuple[int, int]) -> None:
        lines = DescriptorLines(pipe[0])
        os.write(pipe[1], b"last")
        os.close(pipe[1])
        found = [lines.read() for _ in range(3)]
        assert "last" in found
        assert lines.ended
