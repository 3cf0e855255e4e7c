"""Which providers of a Host keep to budgets and to the switch that stops all spending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine_intelligence.contracts import IntelligenceProvider
from engine_intelligence.errors import SetupError
from engine_intelligence.host.directories import DATA_VARIABLE, data_directory
from engine_intelligence.spending.budget import Account, Budget

if TYPE_CHECKING:
    from engine_intelligence.spending.watch import Watch


class HostBudgets:
    """What the providers of one Host may spend. The ledger is not touched before one of them is made that spends."""

    def __init__(self, host: str, realm: Budget | None = None) -> None:
        """`host` is what the budgets are counted under, the same whenever this Host is started; `realm` is the budget of all
        its providers together.
        """
        self._host = host
        self._realm = realm
        self._watch: Watch | None = None

    def over_kind(
        self, provider: IntelligenceProvider, own: Budget | None, *, spends: bool
    ) -> IntelligenceProvider:
        """A provider of a kind, which is known to spend or not to. It keeps to budgets if it does, or has one of its own."""
        return self._over(provider, own) if spends or own is not None else provider

    def over_made(self, provider: IntelligenceProvider, own: Budget | None = None) -> IntelligenceProvider:
        """A provider of a factory. It keeps to budgets if there are any, or if it says itself that it spends."""
        says = getattr(provider, "spends", False) is True
        return self._over(provider, own) if says or own is not None or self._realm is not None else provider

    def _over(self, provider: IntelligenceProvider, own: Budget | None) -> IntelligenceProvider:
        from engine_intelligence.spending.budgeted import (
            Budgeted,
        )  # not at the top: most Hosts need no SQLite for this

        # Also without bounds what is spent is counted: it is shown, and a budget that is set later knows of it.
        accounts = [Account(self._host, provider.id, own or Budget())]
        if self._realm is not None:
            accounts.append(Account(self._host, None, self._realm))
        return Budgeted(provider, accounts, self._shared_watch())

    def _shared_watch(self) -> Watch:
        if self._watch is None:
            from engine_intelligence.spending.ledger import FILE_NAME, Ledger
            from engine_intelligence.spending.watch import Watch

            try:
                folder = data_directory()
            except ModuleNotFoundError:
                raise SetupError(
                    "missing-package",
                    "What is spent is kept in the user's data directory, and the package that knows where that is is not "
                    f"installed: pip install platformdirs. Or name a folder in the environment variable {DATA_VARIABLE}.",
                ) from None
            self._watch = Watch(Ledger(folder / FILE_NAME))
        return self._watch
