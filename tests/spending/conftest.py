"""A ledger in a file, with a clock that a test sets."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.spending_parts import WallClock

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
