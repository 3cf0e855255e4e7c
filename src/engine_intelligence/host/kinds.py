"""The kinds of provider that a Host can be told to run by name, with their options.

Nothing of a kind is loaded before that.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from engine_intelligence.contracts import IntelligenceProvider
from engine_intelligence.errors import SetupError
from engine_intelligence.host.building import build, did_you_mean, listed
from engine_intelligence.host.context import KindContext
from engine_intelligence.host.directories import cache_directory
from engine_intelligence.host.instructions import with_instructions
from engine_intelligence.host.keys import Found, Vendor, find_access, look_for_access, refuse_keys_in
from engine_intelligence.host.naming import called, named_object
from engine_intelligence.providers.backend import Backend, provider_over
from engine_intelligence.providers.vendor import VendorOptions


class Kind(NamedTuple):
    """One kind: the module that holds its `Options`, what it needs installed, and how it is made of its
    options.
    """

    module: str
    extra: str | None
    packages: tuple[str, ...]
    """Those to import, by the names under which they are imported."""
    make: Callable[[Any, Any, KindContext, str], Backend]
    """Makes a backend of the module, the options, what the Host's providers share, and where the options stand."""
    elsewhere: Mapping[str, str] = MappingProxyType({})
    """What other kinds have among their options and this one has not, and where it belongs."""
    keeps_turns: bool = True
    """Whether the Host keeps its conversations, which a kind without any does not need."""
    spends: bool = True
    """Whether an Activity may cost money. Such providers are counted, and stop when spending is stopped."""


def _make_llama(module: Any, options: Any, context: KindContext, where: str) -> Backend:
    from engine_intelligence.models.cache import ModelCache, resolve_model

    backend: Backend = module.create(
        options,
        model_path=resolve_model(options.model, ModelCache(cache_directory() / "models")),
        servers=context.shared("llama-servers", module.LlamaServers),
    )
    return backend


def _make_scripted(module: Any, options: Any, context: KindContext, where: str) -> Backend:
    backend: Backend = module.create(options)
    return backend


def _make_command(module: Any, options: Any, context: KindContext, where: str) -> Backend:
    backend: Backend = module.create(options, environment=os.environ, folder=context.folder)
    return backend


def _make_fallback(module: Any, options: Any, context: KindContext, where: str) -> Backend:
    def make_member(provider_id: str, first_text_s: float) -> Backend:
        return _make_entry(provider_id, context.with_first_text_s(first_text_s), where)

    backend: Backend = module.create(
        options, make_member, first_text_s=context.deadlines.first_text_s, where=where
    )
    return backend


def _make_entry(provider_id: str, context: KindContext, where: str) -> Backend:
    """A backend of another provider of the configuration, for the one that stands at `where`."""
    entry = context.entries.get(provider_id)
    if entry is None:
        known = listed(context.entries) or "none: name them in a TOML file"
        raise SetupError(
            "config-invalid",
            f"{where}: there is no provider {provider_id!r}{did_you_mean(provider_id, context.entries)}. "
            f"The providers are {known}.",
        )
    if entry.kind is None:
        raise SetupError(
            "config-invalid",
            f"{where}: the provider {provider_id!r} is made by a factory, so that nothing else can be asked in its place. "
            "Name providers that have a kind.",
        )
    if entry.has_budget:
        # It would be passed without a word: what is counted is the provider that the game spoke to.
        raise SetupError(
            "config-invalid",
            f"{where}: the provider {provider_id!r} has a budget, which holds only where a game speaks to it by itself. "
            "Give the budget to this one, or to the whole Host.",
        )
    with context.making(provider_id, where):
        return make_backend(entry.kind, entry.options, context, entry.where)


@dataclass(frozen=True)
class VendorMaker:
    """Makes backends of the kind of one vendor: with the key that a Host found, and trying again."""

    vendor: Vendor

    def __call__(self, module: Any, options: VendorOptions, context: KindContext, where: str) -> Backend:
        backend = module.create(options, find_access(options, self.vendor, where))
        return _retrying(backend, options.attempts, context)


def _make_vendor(vendor: Vendor) -> VendorMaker:
    return VendorMaker(vendor)


def _make_pydantic_ai(module: Any, options: Any, context: KindContext, where: str) -> Backend:
    named = named_object(options.agent, "agent", "package.module:name")
    if named is None:
        module_name, _, name = options.agent.partition(":")
        raise SetupError("bad-agent", f"The module {module_name!r} has no agent {name!r}: check the name.")
    backend = called(lambda: module.create(options, named), options.agent, "agent")
    return _retrying(backend, options.attempts, context)


def _retrying(backend: Backend, attempts: int, context: KindContext) -> Backend:
    from engine_intelligence.providers.retries import Retrying

    deadlines = context.deadlines
    return Retrying(backend, attempts=attempts, within_s=min(deadlines.first_text_s, deadlines.activity_s))


_OF_AGENTS: Mapping[str, str] = dict.fromkeys(
    ("model", "instructions", "instructions_file", "max_tokens", "temperature", "key", "base_url", "tools"),
    "it is the agent's own: set it where the agent is written",
)

KINDS: Mapping[str, Kind] = {
    "llama": Kind(
        "engine_intelligence.providers.llama",
        "local",
        ("xllamacpp", "openai", "platformdirs"),
        _make_llama,
        spends=False,
    ),
    "openai": Kind(
        "engine_intelligence.providers.openai",
        "openai",
        ("openai", "tenacity", "platformdirs"),
        _make_vendor(Vendor("OpenAI", "OPENAI_API_KEY", "OPENAI_BASE_URL", "api.openai.com")),
    ),
    "anthropic": Kind(
        "engine_intelligence.providers.anthropic",
        "anthropic",
        ("anthropic", "tenacity", "platformdirs"),
        _make_vendor(Vendor("Anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "api.anthropic.com")),
    ),
    "pydantic-ai": Kind(
        "engine_intelligence.providers.pydantic_ai",
        "pydantic-ai",
        ("pydantic_ai", "tenacity", "platformdirs"),
        _make_pydantic_ai,
        elsewhere=_OF_AGENTS,
    ),
    "command": Kind("engine_intelligence.providers.command", "cli", ("platformdirs",), _make_command),
    "fallback": Kind("engine_intelligence.providers.fallback", "cli", ("platformdirs",), _make_fallback),
    "scripted": Kind(
        "engine_intelligence.providers.scripted", None, (), _make_scripted, keeps_turns=False, spends=False
    ),
}


def check_kind(name: str, where: str = "") -> None:
    """Raise `SetupError`, which lists the kinds there are, if there is none of that name.

    `where` stands before its text.
    """
    if name not in KINDS:
        raise SetupError(
            "unknown-provider-kind",
            f"{where}There is no kind of provider named {name!r}{did_you_mean(name, KINDS)}. "
            f'The kinds are {listed(KINDS)}; for one of your own, name a factory: "package.module:function".',
        )


def make_provider(
    kind_name: str, provider_id: str, options: Mapping[str, object], context: KindContext, where: str
) -> IntelligenceProvider:
    """A provider of that kind, which is a known one.

    Raises `SetupError` for what a person has to put right: options, packages, models, keys.
    """
    with context.making(provider_id, where):
        backend = make_backend(kind_name, options, context, where)
    store = context.store() if KINDS[kind_name].keeps_turns else None
    return provider_over(backend, provider_id, store=store)


def make_backend(kind_name: str, options: Mapping[str, object], context: KindContext, where: str) -> Backend:
    """What a provider of that kind answers with. Raises like `make_provider`."""
    check_packages(kind_name)
    kind = KINDS[kind_name]
    made = read_options(kind_name, options, context.folder, where)
    return kind.make(importlib.import_module(kind.module), made, context, where)


def check_packages(kind_name: str) -> None:
    """Raise `SetupError` if a package that this kind needs is not installed."""
    kind = KINDS[kind_name]
    missing = [package for package in kind.packages if importlib.util.find_spec(package) is None]
    if missing:
        raise SetupError(
            "missing-package",
            f"The provider {kind_name!r} needs packages that are not installed ({', '.join(missing)}). "
            f'Install them with: pip install "engine-intelligence[{kind.extra}]"',
        )


def options_type(kind_name: str) -> type[msgspec.Struct]:
    """The struct of a kind's options. No SDK is imported for it."""
    struct: type[msgspec.Struct] = importlib.import_module(KINDS[kind_name].module).Options
    return struct


def read_options(
    kind_name: str, options: Mapping[str, object], folder: Path | None, where: str
) -> msgspec.Struct:
    """The options of a provider of that kind. Relative paths in them begin at `folder`. Raises `SetupError`."""
    refuse_keys_in(options, where)
    kind = KINDS[kind_name]
    for name in options:
        if name in kind.elsewhere:
            raise SetupError(
                "config-invalid", f"{where}: the kind {kind_name!r} has no {name}; {kind.elsewhere[name]}."
            )
    struct = options_type(kind_name)
    return build(struct, with_instructions(struct, options, folder, where), where, folder)


class Readiness(NamedTuple):
    """What is known of a provider before it is made: its options, and for one of a vendor whom it asks and with which key."""

    options: msgspec.Struct
    vendor: Vendor | None = None
    found: Found | None = None


def look_ready(kind_name: str, options: Mapping[str, object], context: KindContext, where: str) -> Readiness:
    """Whether a provider of that kind has its packages, right options and a key. Nothing is imported, made or sent for it.

    Raises like `make_provider`, which finds out the rest.
    """
    check_packages(kind_name)
    made = read_options(kind_name, options, context.folder, where)
    maker = KINDS[kind_name].make
    if isinstance(maker, VendorMaker) and isinstance(made, VendorOptions):
        return Readiness(made, maker.vendor, look_for_access(made, maker.vendor, where))
    return Readiness(made)
