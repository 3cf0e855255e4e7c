"""The estimate of tokens, and the latest turns that fit into a number of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_intelligence.conversation import Turn, estimated_tokens, latest_turns, turn_tokens
from engine_intelligence.testing import strategies

HISTORIES = st.lists(
    st.builds(Turn, strategies.texts(surrogates=True), strategies.texts(surrogates=True)), max_size=8
)


def test_nothing_takes_no_tokens() -> None:
    assert estimated_tokens("") == 0


def test_prose_is_half_of_its_letters_and_a_token_for_each_mark() -> None:
    assert estimated_tokens("Who goes there?") == 8  # 14 letters and spaces, and a mark


@pytest.mark.parametrize(
    "text", ["你好，世界。", "日本語のテキスト", "안녕하세요", "👋🏽", "👩‍👩‍👧‍👦", "\ud83d"]
)
def test_what_is_not_of_ascii_takes_as_many_tokens_as_bytes(text: str) -> None:
    assert estimated_tokens(text) == len(text.encode("utf-8", "surrogatepass"))


@given(one=strategies.texts(surrogates=True), two=strategies.texts(surrogates=True))
def test_two_texts_take_what_each_takes_but_for_the_part_of_a_token(one: str, two: str) -> None:
    apart = estimated_tokens(one) + estimated_tokens(two)
    assert apart - 1 <= estimated_tokens(one + two) <= apart


@given(text=strategies.texts(surrogates=True))
def test_no_text_takes_more_tokens_than_bytes_or_less_than_half_of_its_characters(text: str) -> None:
    assert len(text) <= 2 * estimated_tokens(text)
    assert estimated_tokens(text) <= len(text.encode("utf-8", "surrogatepass"))


@given(history=HISTORIES, max_tokens=st.integers(-1, 400))
def test_the_latest_turns_are_as_many_whole_ones_as_fit(history: list[Turn], max_tokens: int) -> None:
    kept = latest_turns(history, max_tokens=max_tokens)
    assert list(kept) == history[len(history) - len(kept) :]
    assert not kept or sum(map(turn_tokens, kept)) <= max_tokens
    if len(kept) < len(history):
        assert sum(map(turn_tokens, history[-len(kept) - 1 :])) > max_tokens


def test_a_history_that_fits_is_kept_whole() -> None:
    history = (Turn("May I pass?", "No."), Turn("Why?", "Because."))
    assert latest_turns(history, max_tokens=sum(map(turn_tokens, history))) == history


def test_a_turn_that_does_not_fit_ends_the_search_also_where_an_older_one_would() -> None:
    history = [Turn("a", "b"), Turn("long " * 100, "b"), Turn("a", "b")]
    assert latest_turns(history, max_tokens=80) == history[2:]
