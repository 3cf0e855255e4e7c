"""What the tests of configuration share: a `host.toml` to write, and what a Host says of it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine_intelligence import Deadlines, IntelligenceLimits, SetupError
from engine_intelligence.host.config import HostPlan, plan_host
from engine_intelligence.models.cache import ModelCache
from engine_intelligence.protocol.bootstrap import FileSource

PlanOf = Callable[[str], HostPlan]
RefusalOf = Callable[[str], SetupError]


@pytest.fixture(scope="session")
def model_path(no_user_files_or_keys: None) -> Path:
    """The file of `smollm2-135m`; the first test that asks for it downloads 93 MB if the cache lacks it."""
    return ModelCache(Path(os.environ["ENGINE_INTELLIGENCE_CACHE_DIR"]) / "models").pull("smollm2-135m")


@pytest.fixture
def plan_of(tmp_path: Path) -> PlanOf:
    """What a Host would offer with a file of this text."""

    def plan(text: str) -> HostPlan:
        path = tmp_path / "host.toml"
        path.write_text(text, encoding="utf-8")
        return plan_host(FileSource(str(path)), IntelligenceLimits(), Deadlines())

    return plan


@pytest.fixture
def refusal_of(plan_of: PlanOf) -> RefusalOf:
    """What a Host says against a file of this text, or against one of its providers."""

    def refusal(text: str) -> SetupError:
        try:
            for provider in plan_of(text).providers.values():
                provider.make()
        except SetupError as error:
            return error
        raise AssertionError("nothing is said against it")

    return refusal
