"""The weights of the default model, which are fetched once and kept in the user's cache."""

import os
from pathlib import Path

import pytest

from engine_intelligence.models.cache import ModelCache


@pytest.fixture(scope="session")
def model_path(no_user_files_or_keys: None) -> Path:
    """The file of `smollm2-135m`; the first test that asks for it downloads 93 MB if the cache lacks it."""
    return ModelCache(Path(os.environ["ENGINE_INTELLIGENCE_CACHE_DIR"]) / "models").pull("smollm2-135m")
