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
from engine_intelligence.conversation import ConversationStore
from engine_intelligence.errors import SetupError
from engine_intelligence.host.directories import cache_directory, data_directory
from engine_intelligence.host.keys import Vendor, find_access, refuse_keys_in
from engine_intelligence.limits import Deadlines
from engine_intelligence.providers.backend import Backend, provider_over
from engine_intelligence.providers.vendor import VendorOptions

StructT = TypeVar("StructT", bound=msgspec.Struct)


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
    keeps_turns: bool = True
    """Whether the Host keeps its conversations, which a kind without any does not need."""


class KindContext:
    """What providers of one Host share, and what they are told of it."""

    def __init__(self, deadlines: Deadlines) -> None:
        self.deadlines = deadlines
        self._shared: dict[str, Any] = {}

    def shared(self, name: str, make: Callable[[], Any]) -> Any:
        """The thing of that name, made when it is first asked for."""
        if name not in self._shared:
            self._shared[name] = make()
        return self._shared[name]

    def store(self) -> ConversationStore:
        """A store for the conversations of one provider, which closes it."""
        from engine_intelligence.sessions.sqlite import SqliteConversationStore

        return SqliteConversationStore(data_directory() / "conversations.sqlite3")


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


def _make_vendor(vendor: Vendor) -> Callable[[Any, Any, KindContext, str], Backend]:
    def make(module: Any, options: VendorOptions, context: KindContext, where: str) -> Backend:
        from engine_intelligence.providers.retries import Retrying

        backend: Backend = module.create(options, find_access(options, vendor, where))
        deadlines = context.deadlines
        within_s = min(deadlines.first_text_s, deadlines.activity_s)
        return Retrying(backend, attempts=options.attempts, within_s=within_s)

    return make


KINDS: Mapping[str, Kind] = {
    "llama": Kind(
        "engine_intelligence.providers.llama", "local", ("xllamacpp", "openai", "platformdirs"), _make_llama
    ),
    "openai": Kind(
        "engine_intelligence.providers.openai",
        "openai",
        ("openai", "tenacity", "platformdirs"),
        _make_vendor(Vendor("OpenAI", "OPENAI_API_KEY", "OPENAI_BASE_URL", "api.openai.com")),
    ),
    "scripted": Kind("engine_intelligence.providers.scripted", None, (), _make_scripted, keeps_turns=False),
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
    backend = make_backend(kind_name, options, context, where)
    store = context.store() if KINDS[kind_name].keeps_turns else None
    return provider_over(backend, provider_id, store=store)


def make_backend(kind_name: str, options: Mapping[str, object], context: KindContext, where: str) -> Backend:
    """What a provider of that kind answers with. Raises like `make_provider`."""
    kind = KINDS[kind_name]
    missing = [package for package in kind.packages if importlib.util.find_spec(package) is None]
    if missing:
        raise SetupError(
            "missing-package",
            f"The provider {kind_name!r} needs packages that are not installed ({', '.join(missing)}). "
            f'Install them with: pip install "engine-intelligence[{kind.extra}]"',
        )
    refuse_keys_in(options, where)
    module = importlib.import_module(kind.module)
    return kind.make(module, build(module.Options, options, where), context, where)


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
