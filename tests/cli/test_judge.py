"""The game's own rule: which completed words open the gate."""

import pytest

from engine_intelligence.cli.play.judge import judge, whole_sentences


@pytest.mark.parametrize(
    "text",
    [
        "You may pass.",
        "WELCOME, traveller!",
        "It is late. Enter",
        "Very well… the gate opens. Good night.",
        "I don't care. You may pass.",
    ],
)
def test_a_statement_that_grants_passage_opens(text: str) -> None:
    assert judge(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is a cold night.",
        "You may not pass.",
        "You can’t enter.",
        "You don't look welcome.",
        "Nobody shall pass.",
        "You may pass if you tell me the word.",
        "You may pass. No, wait.",
        "Do you wish to pass?",
        'He said: "May I enter?"',
        "My passport is old.",
    ],
)
def test_what_refuses_asks_or_sets_a_condition_does_not_open(text: str) -> None:
    assert not judge(text)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("You may pass. Unless you", "You may pass."),
        ("You may pass", ""),
        ("Halt! Who goes there?", "Halt! Who goes there?"),
        ("", ""),
    ],
)
def test_an_unfinished_last_sentence_is_left_out(text: str, whole: str) -> None:
    assert whole_sentences(text) == whole
