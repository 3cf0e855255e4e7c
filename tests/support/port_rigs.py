"""A port client, a binding, or both with a wire between them, ready to be driven by a test."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from engine_intelligence import (
    ActivityRef,
    Deadlines,
    Err,
    IntelligenceError,
    IntelligenceLimits,
    IntelligencePortBinding,
    IntelligencePortClient,
    IntelligenceRuntime,
    Ok,
    Result,
    bind_intelligence_port,
    create_intelligence_port_client,
    create_intelligence_runtime,
)
from engine_intelligence.protocol.messages import Hello
from engine_intelligence.realm.exchange import RealmPort
from engine_intelligence.testing import ManualClock
from support.port_doubles import HostPortDouble, PortDouble, RealmPortDouble, SinkProvider, Wire
from support.port_messages import PROVIDER


@dataclass
class Identities:
    """Makes `a-1`, `a-2`, ... and `s-1`, `s-2`, ..., and counts them."""

    activities: int = 0
    sessions: int = 0

    def activity(self) -> str:
        self.activities += 1
        return f"a-{self.activities}"

    def session(self) -> str:
        self.sessions += 1
        return f"s-{self.sessions}"


def accepted(result: Result[ActivityRef, IntelligenceError]) -> ActivityRef:
    """What an accepted submit returned."""
    assert isinstance(result, Ok), result
    return result.value


def refusal_of(result: Result[object, IntelligenceError]) -> IntelligenceError:
    """Why a submit or a cancel was refused."""
    assert isinstance(result, Err), result
    return result.error


@dataclass
class ClientRig:
    """A client over a port double."""

    client: IntelligencePortClient
    port: RealmPortDouble
    clock: ManualClock
    identities: Identities

    def submit(self, input: str = "hello") -> str:
        """Submit, and return the id of what was accepted."""
        return accepted(self.client.submit(input)).id

    def closed_code(self) -> str:
        """The code of the error that a submit is answered with."""
        return refusal_of(self.client.submit("anyone there?")).code


def client_rig(
    *,
    hello: Hello | None = None,
    limits: IntelligenceLimits | None = None,
    deadlines: Deadlines | None = None,
    provider_id: str = PROVIDER,
) -> ClientRig:
    """A client that has sent nothing. With `hello` the Host has announced itself, and the answer is taken away."""
    port: RealmPortDouble = PortDouble()
    clock, identities = ManualClock(), Identities()
    client = client_on(
        port,
        limits=limits,
        deadlines=deadlines,
        clock=clock,
        identities=identities,
        provider_id=provider_id,
    )
    if hello is not None:
        port.arrive(hello)
        client.poll()
        port.take_sent()
    return ClientRig(client, port, clock, identities)


def client_on(
    port: RealmPort,
    *,
    limits: IntelligenceLimits | None = None,
    deadlines: Deadlines | None = None,
    clock: ManualClock | None = None,
    identities: Identities | None = None,
    provider_id: str = PROVIDER,
) -> IntelligencePortClient:
    """A client with ids that can be foretold."""
    made = Identities() if identities is None else identities
    return create_intelligence_port_client(
        provider_id,
        port,
        limits=limits,
        deadlines=deadlines,
        clock=ManualClock() if clock is None else clock,
        create_activity_id=made.activity,
        create_session_id=made.session,
    )


@dataclass
class BindingRig:
    """A binding over a port double, with a provider that the test speaks for. One log holds what happens to both."""

    binding: IntelligencePortBinding
    runtime: IntelligenceRuntime
    provider: SinkProvider
    port: HostPortDouble
    log: list[str] = field(default_factory=list[str])

    async def close(self) -> None:
        """Close everything, so that the test leaves nothing behind."""
        self.provider.release.set()
        await self.binding.close()


def binding_rig(
    *,
    announce: bool = False,
    limits: IntelligenceLimits | None = None,
    deadlines: Deadlines | None = None,
    port: HostPortDouble | None = None,
    provider: SinkProvider | None = None,
) -> BindingRig:
    """To be called inside a running loop, whose clock is that of the runtime."""
    log: list[str] = []
    if port is None:
        port = PortDouble()
    port.log = log
    if provider is None:
        provider = SinkProvider()
    provider.log = log
    runtime = create_intelligence_runtime(
        provider, limits=limits, deadlines=deadlines, clock=asyncio.get_running_loop().time
    )
    binding = bind_intelligence_port(port, runtime, announce=announce)
    return BindingRig(binding, runtime, provider, port, log)


@dataclass
class WiredRig:
    """A client and a binding, and a wire between them that the test moves."""

    client: IntelligencePortClient
    host: BindingRig
    wire: Wire

    async def close(self) -> None:
        await self.host.close()


def wired_rig(
    *,
    announce: bool = True,
    realm_limits: IntelligenceLimits | None = None,
    host_limits: IntelligenceLimits | None = None,
    deadlines: Deadlines | None = None,
) -> WiredRig:
    """To be called inside a running loop."""
    wire = Wire()
    host = binding_rig(announce=announce, limits=host_limits, deadlines=deadlines, port=wire.host)
    return WiredRig(client_on(wire.realm, limits=realm_limits, deadlines=deadlines), host, wire)
