"""`Budgeted`: a provider that keeps to its budgets and to the switch that stops all spending."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine_intelligence.activity import ActivitySubmission
from engine_intelligence.contracts import ActivitySink, IntelligenceProvider
from engine_intelligence.errors import IntelligenceError, ProviderError
from engine_intelligence.result import Ok, Result
from engine_intelligence.spending.budget import Account
from engine_intelligence.spending.meter import Meter
from engine_intelligence.spending.watch import Watch


class Budgeted:
    """An `IntelligenceProvider` that asks the ledger before `provider` starts an Activity, and counts what that spends.

    An Activity that a budget does not allow ends at once with `rate-limited` and the time until it is free, and one while
    spending is stopped with `unavailable`; the provider does not hear of them. One that runs when the daily budget is passed
    goes on. It belongs to the thread that `provider` belongs to, whose sinks may be called from any.
    """

    def __init__(self, provider: IntelligenceProvider, accounts: Sequence[Account], watch: Watch) -> None:
        """`accounts` are all that an Activity is counted on. `provider` belongs to this one from now on."""
        self._provider = provider
        self._accounts = tuple(accounts)
        self._watch = watch
        self._running: set[Meter] = set()
        self._closed = False
        watch.join()

    @property
    def id(self) -> str:
        """The name of the provider."""
        return self._provider.id

    def warm(self) -> None:
        """Warm the provider, if it can be."""
        warm: Callable[[], object] | None = getattr(self._provider, "warm", None)
        if callable(warm):
            warm()

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        """Begin an Activity, if it may. It waits for the ledger: see `Ledger.admit`."""
        try:
            self._watch.ledger.admit(self._accounts)
        except ProviderError as refusal:
            sink.fail(refusal)
            return Ok(None)
        meter = Meter(
            sink,
            spend=lambda tokens: self._watch.spend(self._accounts, tokens),
            cancel=lambda: self._provider.cancel(submission.id),
            ended=self._ended,
        )
        self._running.add(meter)
        self._watch.began(meter)
        try:
            result = self._provider.start(submission, meter)
        except BaseException:
            meter.abandon()
            raise
        if not isinstance(result, Ok):  # whatever it is, it is a refusal (rule S14)
            meter.abandon()
        return result

    def cancel(self, activity_id: str) -> Result[None, IntelligenceError]:
        """Stop an Activity at the provider. What it has said until then was spent."""
        return self._provider.cancel(activity_id)

    async def close(self) -> None:
        """Close the provider, and count what it leaves without an end."""
        try:
            await self._provider.close()
        finally:
            if not self._closed:
                self._closed = True
                for meter in list(self._running):
                    meter.abandon()
                self._watch.leave()

    def _ended(self, meter: Meter) -> None:
        self._running.discard(meter)
        self._watch.ended(meter)
