"""A ledger in a file, with a clock that a test sets."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.process_marks import Mark
from support.process_start import Starter
from support.spending_parts import WallClock

from engine_intelligence.host.directories import DATA_VARIABLE
from engine_intelligence.spending.ledger import Ledger


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "spending.sqlite3"


@pytest.fixture
def ledger(path: Path, clock: WallClock) -> Iterator[Ledger]:
    ledger = Ledger(path, clock_ns=clock)
    yield ledger
    ledger.close()


@pytest.fixture
def mark() -> Iterator[Mark]:
    """A mark for the processes of one test, of which none outlives it."""
    made = Mark()
    yield made
    made.kill()


@pytest.fixture
def start(mark: Mark, path: Path) -> Iterator[Starter]:
    """Starts Hosts whose ledger is at `path`, and closes them at the end of the test."""
    with ExitStack() as until_the_end:
        starter = Starter("auto", mark, until_the_end)
        starter.environment[DATA_VARIABLE] = str(path.parent)
        yield starter
