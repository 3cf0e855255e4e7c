"""A provider that remembers, for Hosts that a test kills or has two of. A Host imports this module by name."""

import asyncio
import json
import os
import random
from collections.abc import AsyncGenerator

from engine_intelligence import Prompt, SqliteConversationStore, StreamProvider

MIND = "mind"
SOURCE = "support.remembering_minds:mind"
STORE_VARIABLE = "REMEMBERING_MINDS_STORE"

# The tests count every turn: nothing may be dropped as too old.
MAX_TURNS = 100_000


def answer_to(input: str, heard: list[str]) -> str:
    """What is answered to `input` after `heard`: it shows what was in the history, and whether it is whole."""
    return json.dumps({"to": input, "after": heard, "filler": "x" * 300})


async def recall(prompt: Prompt) -> AsyncGenerator[str, None]:
    """The answer, in pieces, with the turn of other Activities in between."""
    text = answer_to(prompt.input, [turn.input for turn in prompt.history][-3:])
    chance = random.Random(prompt.input)
    while text:
        size = chance.randrange(1, 200)
        yield text[:size]
        text = text[size:]
        for _ in range(chance.randrange(3)):
            await asyncio.sleep(0)


def a_mind(path: str) -> StreamProvider:
    store = SqliteConversationStore(path, max_turns=MAX_TURNS, max_tokens=100_000_000)
    return StreamProvider(MIND, recall, store=store)


def mind() -> StreamProvider:
    return a_mind(os.environ[STORE_VARIABLE])
