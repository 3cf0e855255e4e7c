"""What a Host runs: from a TOML file, from a factory of the user's, or from a kind of provider with options
(rule H4).
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from engine_intelligence.contracts import IntelligenceProvider
from engine_intelligence.errors import SetupError
from engine_intelligence.host.kinds import KindContext, build, check_kind, did_you_mean, make_provider
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.protocol.bootstrap import FactorySource, FileSource, HostSource, ProviderSource
from engine_intelligence.protocol.framing import check_frame_bound
from engine_intelligence.scrubbing import describe_exception


class ProviderPlan(NamedTuple):
    """One provider that a Host offers.

    `make` makes it when a realm first asks, and may raise `SetupError`.
    """

    make: Callable[[], IntelligenceProvider]
    limits: IntelligenceLimits


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
            return HostPlan({each.id: ProviderPlan(_already(each), limits) for each in providers}, deadlines)
        case ProviderSource(kind=kind, provider_id=provider_id, options=options):
            check_kind(kind)
            _check_limits(limits, "spawn_host")
            context = KindContext(deadlines)
            where = f"The options of the provider {kind!r}"
            plan = ProviderPlan(lambda: make_provider(kind, provider_id, options, context, where), limits)
            return HostPlan({provider_id: plan}, deadlines)


def call_factory(name: str) -> list[IntelligenceProvider]:
    """The providers that the function `package.module:function` returns.

    Raises `SetupError` if it cannot be found or called.
    """
    module_name, _, function_name = name.partition(":")
    if module_name == "__main__":
        raise SetupError(
            "bad-factory",
            f"The factory {name!r} names the game's main module, which in the Host is another: "
            "put the factory into a module of its own, or name the main one as it is imported.",
        )
    if not module_name or not function_name:
        raise SetupError(
            "bad-factory", f'{name!r} is not the name of a factory: write it as "package.module:function".'
        )
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise SetupError(
                "bad-factory",
                f"The factory {name!r} cannot be imported: there is no module {error.name!r} where the game finds its own. "
                'Write it as "package.module:function", as the game would import it.',
            ) from None
        raise SetupError(
            "missing-package",
            f"The factory {name!r} needs a package that is not installed ({error.name}). Install it where the Host runs.",
        ) from None
    except SetupError:
        raise
    except BaseException as error:  # noqa: BLE001 - a border: a module of the user's, which may even exit
        raise SetupError(
            "bad-factory",
            f"The module of the factory {name!r} raised {describe_exception(error)}. Import it in Python to see where.",
        ) from None
    try:
        factory = getattr(module, function_name, None)  # a module may have a `__getattr__` of its own
        if not callable(factory):
            raise SetupError(
                "bad-factory",
                f"The module {module_name!r} has no function {function_name!r}: check the name.",
            )
        made: Any = factory()
        candidates: list[Any] = list(made) if hasattr(made, "__iter__") else [made]
    except SetupError:
        raise
    except BaseException as error:  # noqa: BLE001 - a border: a function of the user's, which may even exit
        raise SetupError(
            "bad-factory",
            f"The factory {name!r} raised {describe_exception(error)}. Call it in Python, without arguments, to see where.",
        ) from None
    for candidate in candidates:
        if not _is_provider(candidate):
            raise SetupError(
                "bad-factory",
                f"The factory {name!r} returned {type(candidate).__name__}, which is no provider: "
                "return an object with id, start, cancel and close, such as a StreamProvider, or several of them.",
            )
    if not candidates:
        raise SetupError("bad-factory", f"The factory {name!r} returned no provider.")
    ids = [candidate.id for candidate in candidates]
    if len(set(ids)) < len(ids):
        raise SetupError(
            "bad-factory", f"The factory {name!r} returned two providers of the same id: each needs its own."
        )
    return candidates


def _is_provider(candidate: Any) -> bool:
    try:
        has_id = isinstance(candidate.id, str)
    except BaseException:  # noqa: BLE001 - a border: an object of the user's
        return False
    return has_id and all(
        callable(getattr(candidate, method, None)) for method in ("start", "cancel", "close")
    )


def _already(provider: IntelligenceProvider) -> Callable[[], IntelligenceProvider]:
    return lambda: provider


def _plan_file(path: Path, limits: IntelligenceLimits, deadlines: Deadlines) -> HostPlan:
    where = path.name
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SetupError(
            "config-missing", f"There is no file {path}: check the path that the Host was given."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(
            "config-missing", f"The file {path} cannot be read ({type(error).__name__})."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SetupError("config-invalid", f"{where} is not valid TOML: {error}.") from None
    tables = ("limits", "deadlines", "providers")
    for key in table:
        if key not in tables:
            raise SetupError(
                "config-invalid",
                f"{where}: there is no table {key!r}{did_you_mean(key, tables)}. The tables are {', '.join(tables)}.",
            )
    shared_limits = (
        build(IntelligenceLimits, _table(table, "limits", where), f"{where}: limits")
        if "limits" in table
        else limits
    )
    if "deadlines" in table:
        deadlines = build(Deadlines, _table(table, "deadlines", where), f"{where}: deadlines")
    entries = _table(table, "providers", where)
    if not entries:
        raise SetupError(
            "config-invalid",
            f'{where} names no provider: add a table such as [providers.gatekeeper] with kind = "llama".',
        )
    context = KindContext(deadlines)
    plans = {
        provider_id: _plan_entry(
            provider_id, _table(entries, provider_id, f"{where}: providers"), shared_limits, context, where
        )
        for provider_id in entries
    }
    return HostPlan(plans, deadlines)


def _plan_entry(
    provider_id: str,
    entry: Mapping[str, object],
    limits: IntelligenceLimits,
    context: KindContext,
    where: str,
) -> ProviderPlan:
    where = f"{where}: providers.{provider_id}"
    options = dict(entry)
    own_limits = options.pop("limits", None)
    if own_limits is not None:
        limits = build(IntelligenceLimits, _table(entry, "limits", where), f"{where}.limits")
    _check_limits(limits, where)
    kind, factory = options.pop("kind", None), options.pop("factory", None)
    if isinstance(kind, str) and factory is None:
        check_kind(kind, f"{where}: ")
        return ProviderPlan(lambda: make_provider(kind, provider_id, options, context, where), limits)
    if isinstance(factory, str) and kind is None:
        if options:
            raise SetupError(
                "config-invalid",
                f"{where}: a factory takes no options, so {next(iter(options))!r} means nothing here.",
            )
        return ProviderPlan(lambda: _made_by_factory(factory, provider_id, where), limits)
    raise SetupError(
        "config-invalid",
        f'{where}: say what it is, either kind = "llama" or factory = "package.module:function".',
    )


def _made_by_factory(factory: str, provider_id: str, where: str) -> IntelligenceProvider:
    for provider in call_factory(factory):
        if provider.id == provider_id:
            return provider
    raise SetupError(
        "bad-factory", f"{where}: the factory {factory!r} made no provider whose id is {provider_id!r}."
    )


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
