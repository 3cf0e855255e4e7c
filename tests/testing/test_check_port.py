"""`check_port` accepts what keeps the contract, and names the rule of each way of breaking it."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest
from testing.broken_ports import BROKEN_PORTS, BrokenPort
from testing.good_providers import Released

from engine_intelligence.ports.memory import memory_port_pair
from engine_intelligence.testing import PORT_CHECKS, ConformanceError, FaultyPort, PortPair, check_port
from engine_intelligence.testing.port_checks import CHECKS


@pytest.fixture(autouse=True)
def threads_are_let_go() -> Iterator[None]:
    Released.event.clear()
    yield
    Released.event.set()


def test_a_pair_of_ports_passes() -> None:
    check_port(lambda: PortPair(*memory_port_pair()))


def test_a_pair_that_is_released_by_its_maker_passes() -> None:
    released: list[int] = []

    @asynccontextmanager
    async def pair() -> AsyncGenerator[PortPair]:
        yield PortPair(*memory_port_pair())
        released.append(1)

    check_port(pair)
    assert len(released) == len(PORT_CHECKS)


def faulty_realm() -> PortPair:
    realm, host = memory_port_pair()
    return PortPair(FaultyPort(realm), host)


def faulty_host() -> PortPair:
    realm, host = memory_port_pair()
    return PortPair(realm, FaultyPort(host))


@pytest.mark.parametrize("check", PORT_CHECKS)
@pytest.mark.parametrize("make", [faulty_realm, faulty_host], ids=lambda make: make.__name__)
def test_a_faulty_port_without_a_fault_is_a_port(make: Callable[[], PortPair], check: str) -> None:
    check_port(make, only=check)


@pytest.mark.parametrize("broken", BROKEN_PORTS, ids=str)
def test_a_broken_port_is_rejected_by_its_rule(broken: BrokenPort) -> None:
    with pytest.raises(ConformanceError) as found:
        check_port(broken.make, only=broken.check, **broken.options)
    assert found.value.rule == broken.rule, str(found.value)


def test_every_check_rejects_something_for_each_of_its_rules() -> None:
    proved = {(broken.check, broken.rule) for broken in BROKEN_PORTS}
    assert {(check.name, rule) for check in CHECKS for rule in check.rules} <= proved


def test_all_checks_are_made_up_to_the_last() -> None:
    last = BROKEN_PORTS[-1]
    assert last.check == PORT_CHECKS[-1]
    with pytest.raises(ConformanceError) as found:
        check_port(last.make)
    assert found.value.rule == last.rule


def test_a_check_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no check"):
        check_port(faulty_realm, only=["the port is fast"])
