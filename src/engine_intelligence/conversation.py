"""Conversations that a Host keeps for providers that keep none themselves, and how much of one a model can be given."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from engine_intelligence.activity import SessionRef

# A token of English is about four characters (OpenAI, "What are tokens and how to count them?"). In languages that a
# vocabulary was not made for, and in invented names, it is little more than two: 2.1 to 2.5 in Finnish, Polish and names of
# elves, by the vocabulary of SmolLM2, which is a small one (`tests/local/test_token_estimate.py`).
CHARS_PER_TOKEN = 2

# What stands around a message: four tokens with OpenAI (Cookbook, "How to count tokens with tiktoken"), and five or six in the
# template of SmolLM2.
TOKENS_PER_MESSAGE = 6

_LETTERS_AND_SPACE = (string.ascii_letters + " ").encode()


class Turn(msgspec.Struct, frozen=True):
    """One completed exchange: what the player said, and what was answered."""

    input: str
    output: str
    remote: str | None = None
    """The id under which the service that answered knows the conversation up to here, where it keeps one (rule P7)."""


class ConversationStore(Protocol):
    """Where conversations are kept, by session. Used from the thread of the Host's event loop; calls take
    milliseconds.

    Only completed turns are in it (rule P5), each whole.
    """

    def history(self, session: SessionRef) -> Sequence[Turn]:
        """The turns of `session`, oldest first; empty for one that has none yet.

        Raises `ProviderError` with reason `session-lost` for a session whose turns were dropped (rule P7),
        and with `unavailable` if the store cannot be read.
        """
        ...

    def append(self, session: SessionRef, turn: Turn, accept: Callable[[], bool]) -> bool:
        """Add `turn` to `session` if `accept()` says so, atomically; returns what it said.

        `accept` is called when the turn is written and not yet visible. So a turn is in the store exactly if
        it stands. Raises `ProviderError` with reason `unavailable`, before `accept` is called, if the turn
        cannot be written.
        """
        ...

    def close(self) -> None:
        """Release the store. Idempotent."""
        ...


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` is, rather too many than too few. Pure, for any thread; 0 only for an empty text.

    A letter or a space of ASCII counts half a token: of English that is twice too many. All else counts a token for each
    byte of its UTF-8, a digit or a full stop as much as each third of a Chinese character and each quarter of an emoji: the
    vocabularies of the models in use begin with the 256 bytes and only ever join them, so that no text takes more tokens
    than it has bytes (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.2). What can be
    more than this says are letters that are no words, such as a key, and numbers with spaces between them.
    """
    encoded = text.encode("utf-8", "surrogatepass")
    others = len(encoded.translate(None, _LETTERS_AND_SPACE))
    return others - (others - len(encoded)) // CHARS_PER_TOKEN  # a part of a token counts as one


def turn_tokens(turn: Turn) -> int:
    """About how many tokens `turn` is as two messages to a model, by `estimated_tokens`."""
    return estimated_tokens(turn.input) + estimated_tokens(turn.output) + 2 * TOKENS_PER_MESSAGE


def latest_turns(history: Sequence[Turn], *, max_tokens: int) -> Sequence[Turn]:
    """The latest turns of `history` that together are at most `max_tokens`, by `turn_tokens`: whole ones without a gap.

    Oldest first, as in `history`; empty where not even the latest fits. What is left alternates between the two who speak,
    as every vendor asks for. Pure, for any thread; it looks at no more turns than it returns and one.
    """
    first = len(history)
    while first and (max_tokens := max_tokens - turn_tokens(history[first - 1])) >= 0:
        first -= 1
    return history[first:]
