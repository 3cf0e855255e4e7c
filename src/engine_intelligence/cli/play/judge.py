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
    """Whether a completed answer opens the gate: a statement in it grants passage, and nothing there or later refuses it.

    A condition ("unless", "if") counts as a refusal, and a question ("Do you wish to pass?") grants nothing: a gate that stays
    shut in doubt can be asked again.
    """
    opens = False
    for sentence in _SENTENCE.findall(completed_text.lower().replace("’", "'")):
        words = _WORD.findall(sentence)
        if any(word in REFUSING or word.endswith("n't") for word in words):
            opens = False
        elif not GRANTING.isdisjoint(words) and not sentence.rstrip("\"'”’)]* ").endswith("?"):
            opens = True
    return opens


def whole_sentences(text: str) -> str:
    """`text` without an unfinished last sentence, which could still have taken back what it seemed to grant."""
    end = 0
    for match in _SENTENCE.finditer(text):
        if match.group().rstrip("\"'”’)]*")[-1:] in {".", "!", "?", "…"}:
            end = match.end()
    return text[:end]
