"""`check_provider`: whether someone's provider keeps the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from engine_intelligence.contracts import IntelligenceProvider
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.testing.bounded import Watch, run_bounded
from engine_intelligence.testing.conformance import Check, ConformanceError
from engine_intelligence.testing.provider_checks import CHECKS
from engine_intelligence.testing.provider_stage import ProviderStage

ProviderT = TypeVar("ProviderT", bound=IntelligenceProvider)

PROVIDER_CHECKS = CHECKS.names
"""The names of the checks of `check_provider`, in their order."""

# A check asks for one short answer at a time, and a hang should cost a test run seconds rather than minutes. A provider
# behind a slow network or a local model needs larger ones. The two graces are the defaults of every Host.
CHECK_DEADLINES = Deadlines(first_text_s=10, stall_s=10, activity_s=20)


def check_provider(
    make_provider: Callable[[], ProviderT],
    *,
    input: str = "Hello.",
    failing_input: str | None = None,
    limits: IntelligenceLimits | None = None,
    deadlines: Deadlines = CHECK_DEADLINES,
    blocked_s: float = 5.0,
    drive: Callable[[ProviderT], object] | None = None,
    only: str | Iterable[str] | None = None,
) -> None:
    """Hold a provider to the contract. Raises `ConformanceError` with the id of the first rule that it breaks.

    A plain function for a plain test, which needs no plugin and may be called from any thread: every check has
    a new event loop on a thread of its own, in which `make_provider` and all calls of the provider happen.
    `make_provider` is called once or a few times a check, and what it returns is closed. What it raises is
    raised as it is.

    `input` is a text for which the provider completes, with an answer that takes a moment if cancels are to
    find it running; `failing_input` is one for which it fails. `limits` bound the longest input that is tried.
    A terminal may take `deadlines.activity_s`, a cancel `cancel_grace_s` and a close `close_grace_s`, and a
    thread may be blocked for `blocked_s`; past any of these the check ends with an error, and does not hang.
    `drive` is called again and again while a check waits, for a provider that goes on only when it is told,
    as in `drive=ScriptedProvider.advance`. `only` names some of `PROVIDER_CHECKS`.
    """

    def stage(watch: Watch) -> ProviderStage:
        return ProviderStage(
            make_provider,
            watch=watch,
            input=input,
            failing_input=failing_input,
            limits=IntelligenceLimits() if limits is None else limits,
            deadlines=deadlines,
            drive=drive,
        )

    for check in CHECKS.select(only):
        run_bounded(partial(_perform, check, stage), blocked_s=blocked_s)


async def _perform(
    check: Check[ProviderStage], make_stage: Callable[[Watch], ProviderStage], watch: Watch
) -> None:
    stage = make_stage(watch)
    try:
        await check.run(stage)
    except ConformanceError:
        # What was found first is what is told, and not what comes of it.
        with suppress(ConformanceError):
            await stage.close()
        raise
    await stage.close()
