"""Lines fit, nothing is lost, and a text that grows is wrapped like one that was there at once."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine_intelligence.cli.play.wrap import WrappedText

texts = st.text(alphabet="ab \n", max_size=60)


def wrapped(text: str, width: int = 10) -> list[str]:
    lines = WrappedText(width, len)
    lines.update(text)
    return lines.lines()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("short", ["short"]),
        ("one two three", ["one two", "three"]),
        ("one two th", ["one two th"]),
        ("abcdefghijklmno", ["abcdefghij", "klmno"]),
        ("a abcdefghijklmno", ["a", "abcdefghij", "klmno"]),
        ("one\n\ntwo", ["one", "", "two"]),
        ("aaaa bbbbb \nc", ["aaaa bbbbb", "c"]),
    ],
)
def test_lines_break_at_spaces_and_inside_words_that_are_too_long(text: str, lines: list[str]) -> None:
    assert wrapped(text) == lines


@given(texts, st.integers(1, 12))
def test_every_line_fits(text: str, width: int) -> None:
    assert all(len(line) <= width for line in wrapped(text, width))


@given(texts, st.integers(1, 12))
def test_nothing_but_space_is_lost(text: str, width: int) -> None:
    assert "".join("".join(wrapped(text, width)).split()) == "".join(text.split())


@example("aa  ", 1, [3])
@given(texts, st.integers(1, 12), st.lists(st.integers(0, 60), max_size=8))
def test_a_text_that_grows_is_wrapped_like_one_that_was_there_at_once(
    text: str, width: int, lengths: list[int]
) -> None:
    lines = WrappedText(width, len)
    for length in sorted(lengths):
        lines.update(text[:length])
    lines.update(text)
    assert lines.lines() == wrapped(text, width)


def test_another_text_replaces_the_lines() -> None:
    lines = WrappedText(10, len)
    lines.update("one two three")
    lines.update("four")
    assert lines.lines() == ["four"]


def test_only_the_last_lines_are_kept_of_a_long_text() -> None:
    lines = WrappedText(10, len, kept_lines=3)
    lines.update(" ".join(f"word{number:04}" for number in range(5000)))
    assert lines.lines() == ["word4996", "word4997", "word4998", "word4999"]
