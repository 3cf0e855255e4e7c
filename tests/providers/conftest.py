"""What tests of providers share: a real server of a real model, and real Hosts whose processes are found again."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.model_server import running_server
from support.process_marks import Mark
from support.process_start import Starter

from engine_intelligence.models.cache import ModelCache


@pytest.fixture(scope="session")
def model_path(no_user_files_or_keys: None) -> Path:
    """The file of `smollm2-135m`; the first test that asks for it downloads 93 MB if the cache lacks it."""
    return ModelCache(Path(os.environ["ENGINE_INTELLIGENCE_CACHE_DIR"]) / "models").pull("smollm2-135m")


@pytest.fixture(scope="package")
def model_server(model_path: Path) -> Iterator[tuple[str, str]]:
    """The address and the key of a server of the embedded model, with two slots."""
    with running_server(model_path) as endpoint:
        yield endpoint.address, endpoint.key


@pytest.fixture
def free_port() -> int:
    """A port of the loopback on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def mark() -> Iterator[Mark]:
    """A mark for the processes of one test, of which none outlives it."""
    made = Mark()
    yield made
    made.kill()


@pytest.fixture
def start(mark: Mark, tmp_path: Path) -> Iterator[Starter]:
    """Starts Hosts that keep their conversations in the test's folder."""
    with ExitStack() as until_the_end:
        starter = Starter("auto", mark, until_the_end)
        starter.environment["ENGINE_INTELLIGENCE_DATA_DIR"] = str(tmp_path / "data")
        yield starter
