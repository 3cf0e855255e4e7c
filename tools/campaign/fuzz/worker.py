"""One process of the fuzzer: `python -m campaign.fuzz.worker TARGET MEMORY_MB COMMAND [arguments of libFuzzer]`.

`COMMAND` is a program that runs this with all but the last, for the fuzzer to start itself again.

It ends at the first input for which something does not hold, leaves that input as a file, and says what it was.
"""

from __future__ import annotations

import importlib
import random
import resource
import sys
from typing import Any

# Which part of the changes keep an input readable, and which part of those are then left at that.
READABLE, LEFT_AT_THAT = 0.5, 0.8


def main() -> None:
    name, memory_mb = sys.argv[1], int(sys.argv[2])
    # What an input makes the process ask for is refused beyond this, and a refusal is no documented error.
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    atheris: Any = importlib.import_module("atheris")  # it has no types, and is not there on every system
    seen = ["engine_intelligence", "campaign.fuzz.shapes", "campaign.fuzz.streams"]
    with atheris.instrument_imports(include=seen, enable_loader_override=False):
        from campaign.fuzz.targets import TARGETS
    from campaign.fuzz.mutators import mutator
    from campaign.fuzz.seeds import names

    change = mutator(name, names())

    def mutate(data: bytes, max_bytes: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < READABLE:
            data = change(data, chance)[:max_bytes]
            if chance.random() < LEFT_AT_THAT:
                return data
        mutated: bytes = atheris.Mutate(data, max_bytes)
        return mutated

    atheris.Setup([sys.argv[3], *sys.argv[4:]], TARGETS[name].check, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
