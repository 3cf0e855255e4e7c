"""An agent of Pydantic AI as a character: `agent = "watchman:watchman"`. The Host imports this, and calls the function."""

import os

from pydantic_ai import Agent


def watchman() -> Agent[None, str]:
    """Model, instructions and tools are here, and nowhere in the game. The key is in the Host's environment."""
    model = os.environ.get("WATCHMAN_MODEL", "openai-chat:gpt-5.4-mini")
    agent = Agent(model, instructions="You watch the gate of a small town. Answer in a sentence.")

    @agent.tool_plain
    def bolts() -> int:
        """How many bolts of the gate are shut."""
        return 2

    return agent
