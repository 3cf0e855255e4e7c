"""The kinds of provider that a Host can be told to run by name, with their options.

Nothing of a kind is loaded before that.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from engine_intelligence.contracts import IntelligenceProvider
from engine_intelligence.errors import SetupError
from engine_intelligence.host.directories import cache_directory, data_directory

StructT = TypeVar("StructT", bound=msgspec.Struct)


class Kind(NamedTuple):
    """One kind: the module that holds its `Options`, what it needs installed, and how it is made of its
    options.
    """

    module: str
    extra: str | None
    packages: tuple[str, ...]
    make: Callable[[Any, str, Any, KindContext], IntelligenceProvider]


class KindContext:
    """What providers of one Host share."""

    def __init__(self) -> None:
        self._shared: dict[str, Any] = {}

    def shared(self, name: str, make: Callable[[], Any]) -> Any:
        """The thing of that name, made when it is first asked for."""
        if name not in self._shared:
            self._shared[name] = make()
        return self._shared[name]


def _make_llama(module: Any, provider_id: str, options: Any, context: KindContext) -> IntelligenceProvider:
    from engine_intelligence.models.cache import ModelCache, resolve_model
    from engine_intelligence.sessions.sqlite import SqliteConversationStore

    provider: IntelligenceProvider = module.create(
        provider_id,
        options,
        store=SqliteConversationStore(data_directory() / "conversations.sqlite3"),
        model_path=resolve_model(options.model, ModelCache(cache_directory() / "models")),
        servers=context.shared("llama-servers", module.LlamaServers),
    )
    return provider


def _make_scripted(module: Any, provider_id: str, options: Any, context: KindContext) -> IntelligenceProvider:
    provider: IntelligenceProvider = module.create(provider_id, options)
    return provider


KINDS: Mapping[str, Kind] = {
    "llama": Kind(
        "engine_intelligence.providers.llama", "local", ("xllamacpp", "openai", "platformdirs"), _make_llama
    ),
    "scripted": Kind("engine_intelligence.providers.scripted", None, (), _make_scripted),
}


def check_kind(name: str, where: str = "") -> None:
    """Raise `SetupError`, which lists the kinds there are, if there is none of that name.

    `where` stands before its text.
    """
    if name not in KINDS:
        raise SetupError(
            "unknown-provider-kind",
            f"{where}There is no kind of provider named {name!r}{did_you_mean(name, KINDS)}. "
            f'The kinds are {_listed(KINDS)}; for one of your own, name a factory: "package.module:function".',
        )


def make_provider(
    kind_name: str, provider_id: str, options: Mapping[str, object], context: KindContext, where: str
) -> IntelligenceProvider:
    """A provider of that kind, which is a known one.

    Raises `SetupError` for what a person has to put right: options, packages, models, keys.
    """
    kind = KINDS[kind_name]
    missing = [package for package in kind.packages if importlib.util.find_spec(package) is None]
    if missing:
        raise SetupError(
            "missing-package",
            f"The provider {kind_name!r} needs packages that are not installed ({', '.join(missing)}). "
            f'Install them with: pip install "engine-intelligence[{kind.extra}]"',
        )
    module = importlib.import_module(kind.module)
    return kind.make(module, provider_id, build(module.Options, options, where), context)


def build(struct: type[StructT], values: Mapping[str, object], where: str) -> StructT:
    """A struct from a table of a configuration.

    Raises `SetupError` naming the key that is unknown or has a bad value.
    """
    names = struct.__struct_fields__
    for key in values:
        if key not in names:
            raise SetupError(
                "config-invalid",
                f"{where}: there is no key {key!r}{did_you_mean(key, names)}. The keys are {_listed(names)}.",
            )
    encoded = dict(zip(names, struct.__struct_encode_fields__, strict=True))
    try:
        return msgspec.convert({encoded[key]: value for key, value in values.items()}, struct, strict=True)
    except msgspec.ValidationError as error:
        text = str(error)
        for name, wire_name in encoded.items():
            text = text.replace(f"$.{wire_name}", name)
        raise SetupError("config-invalid", f"{where}: {text}.") from None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
