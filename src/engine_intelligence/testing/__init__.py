"""The kit to test parts of one's own with: a provider, a port, a service, or a game that uses them.

    def test_my_provider_keeps_the_contract() -> None:
        check_provider(make_my_provider)

`check_provider`, `check_port` and `check_service` hold a part to `docs/spec.md` and raise `ConformanceError`,
which names the rule. The rest are doubles for tests: a clock, a port with faults, providers that do what they
are told, and `strategies` for Hypothesis, which is loaded with that module only.
"""

from engine_intelligence.providers.scripted import Script, ScriptedProvider
from engine_intelligence.testing.clock import ManualClock
from engine_intelligence.testing.conformance import ConformanceError
from engine_intelligence.testing.faulty_port import (
    Delay,
    Drop,
    End,
    FaultyPort,
    Garble,
    PortFault,
    Raise,
)
from engine_intelligence.testing.manual_provider import ManualProvider
from engine_intelligence.testing.port import PORT_CHECKS, check_port
from engine_intelligence.testing.port_stage import PortPair
from engine_intelligence.testing.provider import CHECK_DEADLINES, PROVIDER_CHECKS, check_provider
from engine_intelligence.testing.service import SERVICE_CHECKS, check_service
from engine_intelligence.testing.transcript import Transcript

__all__ = [
    "CHECK_DEADLINES",
    "PORT_CHECKS",
    "PROVIDER_CHECKS",
    "SERVICE_CHECKS",
    "ConformanceError",
    "Delay",
    "Drop",
    "End",
    "FaultyPort",
    "Garble",
    "ManualClock",
    "ManualProvider",
    "PortFault",
    "PortPair",
    "Raise",
    "Script",
    "ScriptedProvider",
    "Transcript",
    "check_port",
    "check_provider",
    "check_service",
]


def __getattr__(name: str) -> object:
    if name != "strategies":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module("engine_intelligence.testing.strategies")
