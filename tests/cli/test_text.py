"""What a model says can neither command a terminal nor break a renderer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_intelligence.cli.text import clean, one_line


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain words, ünïcode, 日本語 and 🏰", "plain words, ünïcode, 日本語 and 🏰"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link", "alink"),
        ("a\x1b[2", "a"),
        ("a\x9b31mb", "a31mb"),
        ("bell\x07 null\x00 back\x08", "bell null back"),
        ("two\r\nlines", "two\nlines"),
        ("a\ttab", "a tab"),
        ("turned \u202earound", "turned around"),
        ("hidden \U000e0041tag", "hidden tag"),
        ("half \ud800 a character", "half \N{REPLACEMENT CHARACTER} a character"),
    ],
)
def test_only_what_commands_or_hides_is_taken_out(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_a_string_to_the_terminal_that_is_never_closed_does_not_hide_the_answer() -> None:
    assert clean("\x1b]" + "a" * 1000) == "a" * 1000


@given(
    st.text(alphabet=st.sampled_from("ab \n\t\r\x00\x07\x1b[]\\;0m\x9b\u202eé"), max_size=40),
    st.integers(0, 40),
)
def test_the_cleaned_beginning_is_the_beginning_of_the_cleaned_text(text: str, length: int) -> None:
    assert clean(text).startswith(clean(text[:length]))


@given(st.text())
def test_nothing_that_is_cleaned_holds_a_control_character(text: str) -> None:
    assert all(char == "\n" or not (char < " " or "\x7f" <= char <= "\x9f") for char in clean(text))


def test_a_line_is_one_line_and_bounded() -> None:
    assert one_line("a\nb  c" + "d" * 400) == ("a b c" + "d" * 400)[:299] + "…"
