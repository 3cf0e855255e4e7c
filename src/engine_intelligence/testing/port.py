"""`check_port`: whether the two ends of someone's port keep the contract."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AsyncExitStack, suppress

from engine_intelligence.testing.bounded import Watch, bounded, run_bounded
from engine_intelligence.testing.conformance import Check
from engine_intelligence.testing.port_checks import CHECKS
from engine_intelligence.testing.port_stage import MakePair, PortPair, PortStage

PORT_CHECKS = CHECKS.names
"""The names of the checks of `check_port`, in their order."""


def check_port(
    make_pair: MakePair,
    *,
    within_s: float = 10.0,
    blocked_s: float = 5.0,
    only: str | Iterable[str] | None = None,
) -> None:
    """Hold a pair of ports to the contract. Raises `ConformanceError` with the id of the first rule that it breaks.

    A plain function for a plain test, which needs no plugin: every check has a new event loop on a thread of
    its own, in which `make_pair` is called. It returns a `PortPair`, or an asynchronous context manager that
    yields one and releases it. What is sent has `within_s` to arrive, and a call may block the thread for
    `blocked_s`; past either the check ends with an error, and does not hang. `only` names some of
    `PORT_CHECKS`.
    """
    for check in CHECKS.select(only):

        async def perform(watch: Watch, check: Check[PortStage] = check) -> None:
            async with AsyncExitStack() as stack:
                made = make_pair()
                if isinstance(made, PortPair):
                    stack.push_async_callback(_release, made)
                    pair = made
                else:
                    pair = await stack.enter_async_context(made)
                await check.run(PortStage(pair, watch, within_s))

        run_bounded(perform, blocked_s=blocked_s)


async def _release(pair: PortPair) -> None:
    """Let go of both ends, which a check may have closed before; how an end closes is what the checks are about."""
    for port in (pair.realm, pair.host):
        with suppress(Exception):
            released = port.close()
            if released is not None:
                await bounded(released, 1.0)
