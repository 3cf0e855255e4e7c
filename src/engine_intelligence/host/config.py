"""What a Host runs: from a TOML file, from a factory of the user's, or from a kind of provider with options
(rule H4).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from engine_intelligence.contracts import IntelligenceProvider
from engine_intelligence.errors import SetupError
from engine_intelligence.host.budgets import HostBudgets
from engine_intelligence.host.building import build, did_you_mean, struct_fields
from engine_intelligence.host.context import Entry, KindContext
from engine_intelligence.host.factories import call_factory, made_by_factory
from engine_intelligence.host.keys import refuse_keys_in
from engine_intelligence.host.kinds import KINDS, check_kind, make_provider
from engine_intelligence.host.store import StoreOptions
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.protocol.bootstrap import FactorySource, FileSource, HostSource, ProviderSource
from engine_intelligence.protocol.framing import check_frame_bound
from engine_intelligence.spending.budget import Budget


class HostTables(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a Host offers: its characters, and the bounds that hold for all of them."""

    # A table is read, checked and told to editors by being a field here that holds a struct.
    limits: IntelligenceLimits | None = None
    """How much a provider may hold: for each that has no limits of its own."""
    deadlines: Deadlines | None = None
    """How long things may take, in seconds: for all providers of the Host."""
    store: StoreOptions | None = None
    """Where the Host keeps conversations, and how much of them: for all providers that keep none themselves."""
    budget: Budget | None = None
    """What may be spent: by all providers of the Host together that may cost money."""
    providers: dict[str, dict[str, Any]]
    """The characters of the game, each under the id that the game asks for."""


class ProviderTables(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may stand in the table of each provider beside the options of its kind."""

    # As in `HostTables`.
    limits: IntelligenceLimits | None = None
    """How much this provider may hold, instead of the Host's limits."""
    budget: Budget | None = None
    """What this provider may spend, beside the budget of the Host."""


class ProviderEntry(NamedTuple):
    """A provider as a configuration names it: by a kind with its options, which no `repr` shows (rule E2), or by a factory."""

    kind: str | None
    factory: str | None
    options: Mapping[str, object]
    where: str
    """The place of the options, for people."""
    context: KindContext

    def __repr__(self) -> str:
        return f"ProviderEntry(where={self.where!r})"


class ProviderPlan(NamedTuple):
    """One provider that a Host offers.

    `make` makes it when a realm first asks, and may raise `SetupError`.
    """

    make: Callable[[], IntelligenceProvider]
    limits: IntelligenceLimits
    entry: ProviderEntry | None = None
    """Whence it comes, where a configuration says so."""


class HostPlan(NamedTuple):
    """All that a Host offers, by provider id, and the deadlines that it keeps."""

    providers: Mapping[str, ProviderPlan]
    deadlines: Deadlines


def plan_host(source: HostSource, limits: IntelligenceLimits, deadlines: Deadlines) -> HostPlan:
    """What `source` asks for. `limits` and `deadlines` hold where it says nothing of its own.

    Raises `SetupError` for what a person has to put right. Factories are called here; other providers are
    made when asked for.
    """
    match source:
        case FileSource(path=path):
            return _plan_file(Path(path), limits, deadlines)
        case FactorySource(factory=factory):
            providers = call_factory(factory)
            _check_limits(limits, factory)
            budgets = HostBudgets(f"factory {factory}")
            plans = {each.id: ProviderPlan(_already(each, budgets), limits) for each in providers}
            return HostPlan(plans, deadlines)
        case ProviderSource(kind=kind, provider_id=provider_id, options=options):
            check_kind(kind)
            _check_limits(limits, "spawn_host")
            where = f"The options of the provider {kind!r}"
            entry = ProviderEntry(kind, None, options, where, KindContext(deadlines))
            plan = _plan_entry(provider_id, entry, limits, HostBudgets(f"kind {kind}"), None)
            return HostPlan({provider_id: plan}, deadlines)


def store_of_file(path: Path) -> StoreOptions:
    """Where a Host of that file keeps conversations. Raises `SetupError` like `plan_host`."""
    return _host_tables(_read(path), path.name, path.absolute().parent).store or StoreOptions()


def _already(provider: IntelligenceProvider, budgets: HostBudgets) -> Callable[[], IntelligenceProvider]:
    return lambda: budgets.over_made(provider)


def _plan_file(path: Path, limits: IntelligenceLimits, deadlines: Deadlines) -> HostPlan:
    where, folder = path.name, path.absolute().parent
    tables = _host_tables(_read(path), where, folder)
    deadlines = tables.deadlines or deadlines
    context = KindContext(deadlines, folder, tables.store)
    # By the file's own path, so that it is one account however it is reached.
    budgets = HostBudgets(str(path.resolve()), tables.budget)
    plans: dict[str, ProviderPlan] = {}
    for provider_id in tables.providers:
        place = f"{where}: providers.{provider_id}"
        options = dict(_table(tables.providers, provider_id, f"{where}: providers"))
        own = ProviderTables(**_take_tables(ProviderTables, options, f"{place}.", folder))
        entry = _entry(options, place, context)
        context.entries[provider_id] = Entry(entry.kind, entry.options, place, own.budget is not None)
        own_limits = own.limits or tables.limits or limits
        _check_limits(own_limits, place)
        plans[provider_id] = _plan_entry(provider_id, entry, own_limits, budgets, own.budget)
    return HostPlan(plans, deadlines)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise SetupError(
            "config-missing", f"There is no file {path}: check the path that the Host was given."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(
            "config-missing", f"The file {path} cannot be read ({type(error).__name__})."
        ) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SetupError("config-invalid", f"{path.name} is not valid TOML: {error}.") from None


def _host_tables(file: dict[str, Any], where: str, folder: Path) -> HostTables:
    refuse_keys_in(file, where)
    names = HostTables.__struct_fields__
    for key in file:
        if key not in names:
            raise SetupError(
                "config-invalid",
                f"{where}: there is no table {key!r}{did_you_mean(key, names)}. The tables are {', '.join(names)}.",
            )
    providers = _table(file, "providers", where)
    if not providers:
        raise SetupError(
            "config-invalid",
            f'{where} names no provider: add a table such as [providers.gatekeeper] with kind = "llama".',
        )
    made = _take_tables(HostTables, file, f"{where}: ", folder)
    return HostTables(providers=cast("dict[str, dict[str, Any]]", providers), **made)


def _take_tables(
    struct: type[msgspec.Struct], values: dict[str, Any], prefix: str, folder: Path
) -> dict[str, Any]:
    """The tables that `struct` has fields for, taken out of `values` and made structs."""
    return {
        name: build(kind, _table({name: values.pop(name)}, name, prefix.rstrip(": .")), prefix + name, folder)
        for name, kind in struct_fields(struct).items()
        if name in values
    }


def _entry(table: Mapping[str, object], where: str, context: KindContext) -> ProviderEntry:
    options = dict(table)
    kind, factory = options.pop("kind", None), options.pop("factory", None)
    if isinstance(kind, str) and factory is None:
        check_kind(kind, f"{where}: ")
        return ProviderEntry(kind, None, options, where, context)
    if isinstance(factory, str) and kind is None:
        if options:
            raise SetupError(
                "config-invalid",
                f"{where}: a factory takes no options, so {next(iter(options))!r} means nothing here.",
            )
        return ProviderEntry(None, factory, options, where, context)
    raise SetupError(
        "config-invalid",
        f'{where}: say what it is, either kind = "llama" or factory = "package.module:function".',
    )


def _plan_entry(
    provider_id: str,
    entry: ProviderEntry,
    limits: IntelligenceLimits,
    budgets: HostBudgets,
    budget: Budget | None,
) -> ProviderPlan:
    def make() -> IntelligenceProvider:
        if entry.factory is not None:
            return budgets.over_made(made_by_factory(entry.factory, provider_id, entry.where), budget)
        assert entry.kind is not None
        provider = make_provider(entry.kind, provider_id, entry.options, entry.context, entry.where)
        return budgets.over_kind(provider, budget, spends=KINDS[entry.kind].spends)

    return ProviderPlan(make, limits, entry)


def _check_limits(limits: IntelligenceLimits, where: str) -> None:
    try:
        check_frame_bound(limits)
    except ValueError as error:
        raise SetupError("config-invalid", f"{where}: {error}.") from None


def _table(parent: Mapping[str, Any], key: str, where: str) -> Mapping[str, object]:
    value: Any = parent.get(key, {})
    if not isinstance(value, dict):
        raise SetupError("config-invalid", f"{where}: {key} must be a table, not {type(value).__name__}.")
    return cast("dict[str, object]", value)
