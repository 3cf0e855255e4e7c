"""How many tokens were spent, where a provider does not say."""

from __future__ import annotations

from engine_intelligence.activity import Usage

CHARS_PER_TOKEN = 4
"""What tokenizers of the large vendors make of English text, on average. Other languages take more tokens for as much text."""

# No answer has so many; what says that it has is taken for a mistake.
_MOST_CREDIBLE = 10**9


def estimated_tokens(chars: int) -> int:
    """About how many tokens a text of that length is, rounded up."""
    return -(-chars // CHARS_PER_TOKEN)


def told_tokens(usage: object) -> int | None:
    """The tokens of output that a provider tells of, if it does, and if that can be."""
    if not isinstance(usage, Usage):
        return None
    told: object = usage.output_tokens  # a provider may have put anything there
    return told if type(told) is int and 0 <= told <= _MOST_CREDIBLE else None
