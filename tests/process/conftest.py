"""What the tests with real processes share."""

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from support.hostile_town import Victim, raw_host, unharmed
from support.process_marks import Mark
from support.process_start import Starter
from support.raw_game import RawGame

from engine_intelligence.protocol.messages import Close
from engine_intelligence.realm.spawning import Transport

_TRANSPORTS: tuple[Transport, ...] = ("socket", "loopback") if os.name == "posix" else ("loopback",)


@pytest.fixture(params=_TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> Transport:
    """Each test that asks for it runs over every way that there is to a Host."""
    chosen: Transport = request.param
    return chosen


@pytest.fixture
def mark() -> Iterator[Mark]:
    """A mark for the processes of one test, of which none outlives it."""
    made = Mark()
    yield made
    made.kill()


@pytest.fixture
def start_auto(mark: Mark) -> Iterator[Starter]:
    """Starts Hosts over the way that is the default, for what does not depend on it."""
    with ExitStack() as until_the_end:
        yield Starter("auto", mark, until_the_end)


@pytest.fixture
def start(transport: Transport, mark: Mark) -> Iterator[Starter]:
    """Starts Hosts, and closes them at the end of the test."""
    with ExitStack() as until_the_end:
        yield Starter(transport, mark, until_the_end)


@pytest.fixture(scope="module")
def town() -> Iterator[RawGame]:
    """One Host with many providers for the tests of a module, and its raw realm."""
    with raw_host("crowd") as game:
        yield game


@pytest.fixture
def victim(town: RawGame) -> Iterator[Victim]:
    """A port of that Host. After the test another port works, and the Host holds what it held before."""
    with unharmed(town):
        made = Victim(town)
        yield made
        made.tell(Close())
        town.why_closed(made.channel)
