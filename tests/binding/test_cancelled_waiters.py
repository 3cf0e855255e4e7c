"""Whoever waits for a close may be cancelled at any point of that, and the close goes on (rules B1, B4)."""

import asyncio

import pytest
from support.port_doubles import kind
from support.port_messages import hello, submit
from support.port_rigs import binding_rig
from support.port_time import run, settle

# More turns of the event loop than a close takes.
MOST_TURNS = 30


@pytest.mark.fault("R53", "C3")
@pytest.mark.spec("B1", "B2")
@pytest.mark.parametrize("times", [1, 2])
def test_a_close_whose_waiter_is_cancelled_after_any_step_comes_to_its_end(times: int) -> None:
    async def main() -> None:
        for turns in range(1, MOST_TURNS):  # before its first turn it has not called anything
            rig = binding_rig(announce=True)
            await settle()
            rig.port.arrive(hello(), submit())
            await settle()

            async def wait(rig: object = rig) -> None:
                await rig.binding.close()  # type: ignore[attr-defined]

            waiter = asyncio.ensure_future(wait())
            await settle(turns)
            for _ in range(times):
                waiter.cancel()
            await asyncio.wait({waiter})
            await settle()
            assert (rig.log.count("provider closed"), rig.port.closes) == (1, 1)
            assert [kind(message) for message in rig.port.sent][-1] == "closed"

    run(main())
