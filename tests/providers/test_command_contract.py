"""A program keeps the contract of a provider, with real processes."""

import os

import pytest
from support.conversations import MemoryConversations
from support.programs import python

from engine_intelligence.providers.backend import provider_over
from engine_intelligence.providers.command import Options, create
from engine_intelligence.providers.stream import StreamProvider
from engine_intelligence.testing import check_provider

# Reads all, and says the beginning of it a few characters at a time; what begins with "fail" it cannot say.
SPEAKS = """
import os, sys, time
said = sys.stdin.read()
if said.startswith("fail"):
    sys.exit("I cannot say that.")
for start in range(0, 40, 2):
    os.write(1, (said[start:start + 2] or ".").encode())
    time.sleep(0.005)
"""


@pytest.mark.spec("D1", "P2", "P3", "P5", "P6", "P7", "S12", "S13", "S14", "B4", "H6")
def test_a_program_keeps_the_contract_of_a_provider() -> None:
    def make() -> StreamProvider:
        backend = create(Options(command=python(SPEAKS)), environment=os.environ)
        return provider_over(backend, "smith", store=MemoryConversations())

    check_provider(make, failing_input="fail")
