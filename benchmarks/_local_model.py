"""Whether the local model can take part in a benchmark on this machine."""

from __future__ import annotations

import importlib.util


def missing_for_local_model() -> str | None:
    """What the default model lacks, as a clause; `None` if nothing."""
    for package in ("xllamacpp", "openai", "platformdirs"):
        if importlib.util.find_spec(package) is None:
            return f"the package {package} is not installed"
    from engine_intelligence.host.directories import cache_directory
    from engine_intelligence.models.cache import ModelCache
    from engine_intelligence.providers.llama import Options

    model = Options().model
    if ModelCache(cache_directory() / "models").path(model) is None:
        return f"the model {model} has not been fetched"
    return None
