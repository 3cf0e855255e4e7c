"""How many tokens were spent, where a provider does not say."""

from __future__ import annotations

from engine_intelligence.activity import Usage
from engine_intelligence.conversation import estimated_tokens

# No answer has so many; what says that it has is taken for a mistake.
_MOST_CREDIBLE = 10**9


def tokens_of_text(text: object) -> int:
    """About how many tokens a text is, by `estimated_tokens`; 0 for what is no text."""
    # As an exact string: a subclass may override anything.
    return estimated_tokens(str.__str__(text)) if isinstance(text, str) else 0


def told_tokens(usage: object) -> int | None:
    """The tokens of output that a provider tells of, if it does, and if that can be."""
    if not isinstance(usage, Usage):
        return None
    told: object = usage.output_tokens  # a provider may have put anything there
    return told if type(told) is int and 0 <= told <= _MOST_CREDIBLE else None
