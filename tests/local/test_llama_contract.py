"""The local model keeps the contract of a provider, with a real model and a real server."""

from pathlib import Path

import pytest
from support.conversations import MemoryConversations

from engine_intelligence import Deadlines, IntelligenceLimits
from engine_intelligence.providers.backend import provider_over
from engine_intelligence.providers.llama import Options, create
from engine_intelligence.providers.stream import StreamProvider
from engine_intelligence.testing import check_provider

# A slow processor reads the longest input for long, and the server of each check is started anew.
PATIENT = Deadlines(first_text_s=60, stall_s=60, activity_s=120, cancel_grace_s=10, close_grace_s=20)


@pytest.mark.spec("D1", "P2", "P3", "P5", "P6", "P7", "S12", "S13")
def test_the_local_model_keeps_the_contract_of_a_provider(model_path: Path) -> None:
    def make() -> StreamProvider:
        backend = create(Options(max_tokens=12, seed=1), model_path=model_path)
        return provider_over(backend, "gatekeeper", store=MemoryConversations())

    check_provider(make, limits=IntelligenceLimits(max_input_chars=500), deadlines=PATIENT, blocked_s=30)
