"""`check_service` accepts every kind of service, and names the rule of each way of breaking the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from testing.broken_polls import Service
from testing.broken_services import BROKEN_SERVICES, BrokenService
from testing.good_providers import Released
from testing.good_services import (
    INPUTS,
    LIMITS,
    MakeService,
    across_a_memory_port,
    across_a_plain_memory_port,
    of_a_host,
    runtime,
)

from engine_intelligence import IntelligenceRuntime, create_intelligence_runtime, spawn_host
from engine_intelligence.testing import (
    SERVICE_CHECKS,
    ConformanceError,
    Script,
    ScriptedProvider,
    check_service,
)
from engine_intelligence.testing.service_checks import CHECKS

KINDS = [runtime, across_a_memory_port, across_a_plain_memory_port, Service]


@pytest.fixture(autouse=True)
def threads_are_let_go() -> Iterator[None]:
    Released.event.clear()
    yield
    Released.event.set()


@pytest.mark.spec(
    "S2", "S3", "S4", "S6", "S7", "S8", "S9", "S10", "S11", "S12", "S13", "S14", "D4", "D5", "C6"
)
@pytest.mark.parametrize("check", SERVICE_CHECKS)
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_every_kind_of_service_passes(make: MakeService, check: str) -> None:
    check_service(make, only=check, **INPUTS)


@pytest.mark.spec("C1", "C4", "C6", "H1", "H3")
def test_the_services_of_a_host_process_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    with spawn_host("testing.good_services:many", limits=LIMITS) as host:
        check_service(of_a_host(host), **INPUTS)


@pytest.mark.parametrize("broken", BROKEN_SERVICES, ids=lambda broken: f"{broken}-{broken.rule}")
def test_a_broken_service_is_rejected_by_its_rule(broken: BrokenService) -> None:
    with pytest.raises(ConformanceError) as found:
        check_service(broken.make, only=broken.check, **broken.options)
    assert found.value.rule == broken.rule, str(found.value)


def test_every_check_rejects_something_for_each_of_its_rules() -> None:
    proved = {(broken.check, broken.rule) for broken in BROKEN_SERVICES}
    assert {(check.name, rule) for check in CHECKS for rule in check.rules} <= proved


def test_all_checks_are_made_up_to_the_last() -> None:
    last = BROKEN_SERVICES[-1]
    assert last.check == SERVICE_CHECKS[-1]
    with pytest.raises(ConformanceError) as found:
        check_service(last.make, **last.options)
    assert found.value.rule == last.rule


def test_a_provider_behind_the_service_may_be_driven() -> None:
    providers: list[ScriptedProvider] = []

    def make() -> IntelligenceRuntime:
        providers.append(ScriptedProvider("p", lambda _submission: Script(deltas=("Who ", "goes there?"))))
        return create_intelligence_runtime(providers[-1])

    check_service(make, drive=lambda: providers[-1].advance())


def test_a_check_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no check"):
        check_service(runtime, only="it is fast")
