"""`check_service`: whether someone's service keeps the contract, as far as a game can see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial

from engine_intelligence.limits import Deadlines
from engine_intelligence.testing.bounded import Watch, run_bounded
from engine_intelligence.testing.conformance import Check
from engine_intelligence.testing.provider import CHECK_DEADLINES
from engine_intelligence.testing.service_checks import CHECKS
from engine_intelligence.testing.service_stage import MakeService, ServiceStage

SERVICE_CHECKS = CHECKS.names
"""The names of the checks of `check_service`, in their order."""


def check_service(
    make_service: MakeService,
    *,
    input: str = "Hello.",
    endless_input: str | None = None,
    failing_input: str | None = None,
    overflowing_input: str | None = None,
    deadlines: Deadlines = CHECK_DEADLINES,
    blocked_s: float = 5.0,
    drive: Callable[[], object] | None = None,
    only: str | Iterable[str] | None = None,
) -> None:
    """Hold a service to the contract. Raises `ConformanceError` with the id of the first rule that it breaks.

    A plain function for a plain test, which needs no plugin: every check has a new event loop on a thread of
    its own, in which `make_service` is called. It returns a service that nobody has used, or an asynchronous
    context manager that yields one and releases what belongs to it. The check closes the service.

    `input` is a text that the provider behind the service completes. The other inputs are for what a check
    cannot bring about by itself, and without one its check asks for less or for nothing: `endless_input` is a
    text with an answer that lasts until it is cancelled, `failing_input` one for which the provider fails,
    `overflowing_input` one with an answer longer than `limits.max_output_chars`. A terminal may take
    `deadlines.activity_s`, a cancel and a close the graces and the way there and back, and a call may block
    the thread for `blocked_s`; past any of these the check ends with an error, and does not hang. `drive` is
    called before every poll, for a provider or a wire that goes on only when it is told. `only` names some of
    `SERVICE_CHECKS`.
    """

    async def perform(check: Check[ServiceStage], watch: Watch) -> None:
        async with AsyncExitStack() as stack:
            made = make_service()
            if isinstance(made, AbstractAsyncContextManager):
                made = await stack.enter_async_context(made)
            stage = ServiceStage(
                made,
                watch=watch,
                input=input,
                endless_input=endless_input,
                failing_input=failing_input,
                overflowing_input=overflowing_input,
                deadlines=deadlines,
                drive=drive,
            )
            try:
                await check.run(stage)
            finally:
                await stage.end()

    for check in CHECKS.select(only):
        run_bounded(partial(perform, check), blocked_s=blocked_s)
