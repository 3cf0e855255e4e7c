"""A service as a Cordis plugin: what injects `intelligence` runs while there is one, and the service ends with its Fiber.

It needs Python 3.12 and `pip install "engine-intelligence[cordis]"`. Run it from anywhere: `python examples/under_cordis.py`.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from cordis_port import Context  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

from engine_intelligence import Completed, IntelligenceService, Ok, TextDelta, intelligence_plugin, spawn_host

said: list[str] = []


# --8<-- [start:gatekeeper]
async def speak(intelligence: IntelligenceService) -> None:
    """The gatekeeper's frame loop."""
    assert isinstance(intelligence.submit("May I pass?"), Ok)
    while True:
        for event in intelligence.poll():
            match event:
                case TextDelta(text=text):
                    said.append(text)
                case Completed():
                    return
                case _:
                    raise AssertionError(event)
        await asyncio.sleep(1 / 60)


def gatekeeper(ctx: Any, config: object) -> Callable[[], object]:
    """A plugin of the game. It is loaded when `intelligence` is there, and unloaded when that goes."""
    task = asyncio.ensure_future(speak(ctx.intelligence))
    return task.cancel


# --8<-- [end:gatekeeper]


# --8<-- [start:load]
async def main(ctx: Any) -> None:
    """The game, with its `cordis_port.Context()`."""
    ctx.inject(["intelligence"], gatekeeper)

    with spawn_host("scripted", options={"text": "Well then, you may pass."}) as host:
        service = host.client("scripted")
        fiber = await ctx.plugin(intelligence_plugin(service))
        # From here on the service belongs to the Fiber.
        while "".join(said) != "Well then, you may pass.":  # here the game runs
            assert not service.closed, service.close_reason
            await asyncio.sleep(1 / 60)
        await fiber.dispose()
        assert service.closed
    assert ctx.get("intelligence") is None
    print("".join(said))


# --8<-- [end:load]


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(Context()), 20))
