"""What we say of a service's failure reaches a player whole: no word of it is taken for a secret."""

import pytest

from engine_intelligence.providers.failures import CODES, STATUSES
from engine_intelligence.scrubbing import scrub

TEXTS = sorted({meaning.text for meaning in [*STATUSES.values(), *CODES.values()]})


@pytest.mark.parametrize("service", ["OpenAI", "Anthropic", "the service"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_of_ours_is_told_whole(service: str, text: str) -> None:
    told = f"{service} {text} (status 401)"
    assert scrub(told) == told
