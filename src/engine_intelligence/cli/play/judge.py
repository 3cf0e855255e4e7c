"""The game's own rule: which completed words of the gatekeeper open the gate."""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"[^.!?…]*[.!?…]+[\"'”’)\]*]*|[^.!?…]+\Z")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")

GRANTING = frozenset({"pass", "enter", "welcome", "proceed", "granted", "opens", "opened"})
REFUSING = frozenset(
    {"not", "cannot", "never", "no", "none", "nobody", "nor", "neither", "without", "unless", "until", "if", "only",
     "but", "must", "wait", "halt", "stop", "refuse", "refused", "deny", "denied", "forbidden", "closed", "shut"}
)  # fmt: skip


def judge(completed_text: str) -> bool:
    """Whether a completed answer opens the gate: a statement in it grants passage, and nothing in it refuses or adds an if.

    A gate that stays shut in doubt can be asked again; so a question ("Do you wish to pass?") grants nothing.
    """
    text = completed_text.lower().replace("’", "'")
    words = _WORD.findall(text)
    if any(word in REFUSING or word.endswith("n't") for word in words):
        return False
    return any(
        not sentence.rstrip("\"'”’)]* ").endswith("?") and not GRANTING.isdisjoint(_WORD.findall(sentence))
        for sentence in _SENTENCE.findall(text)
    )


def whole_sentences(text: str) -> str:
    """`text` without an unfinished last sentence, which could still have taken back what it seemed to grant."""
    end = 0
    for match in _SENTENCE.finditer(text):
        if match.group().rstrip("\"'”’)]*")[-1:] in {".", "!", "?", "…"}:
            end = match.end()
    return text[:end]
