"""Which of the turns that the Host keeps are sent along with a prompt, and as what."""

from __future__ import annotations

from collections.abc import Sequence

from engine_intelligence.conversation import Turn, latest_turns


def turns_to_send(history: Sequence[Turn], history_tokens: int) -> list[Turn]:
    """The latest turns that take at most `history_tokens`, in estimated tokens, oldest first; each whole.

    Some services refuse a text of blanks, which another one of the same session may have taken or given; such a turn is left
    out.
    """
    latest = latest_turns(history, max_tokens=history_tokens)
    return [turn for turn in latest if turn.input.strip() and turn.output.strip()]


def chat_messages(instructions: str, history: Sequence[Turn], input: str) -> list[dict[str, str]]:
    """What the model is given: the instructions if there are any, the turns, the input, and nothing else (rule P4)."""
    messages: list[dict[str, str]] = []
    if instructions:
        messages.append({"role": "system", "content": instructions})
    for turn in history:
        messages.append({"role": "user", "content": turn.input})
        messages.append({"role": "assistant", "content": turn.output})
    messages.append({"role": "user", "content": input})
    return messages
