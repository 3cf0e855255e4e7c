"""Rule M3 with everything in place: clients and bindings on one socket, one of them faulty."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from support.port_messages import text_of
from support.port_rigs import accepted, client_on
from support.port_streams import THE_END, HostEnd, connect_host
from support.port_time import run, settle, until

from engine_intelligence import (
    Completed,
    IntelligenceEvent,
    IntelligencePortBinding,
    IntelligencePortClient,
    bind_intelligence_port,
    create_intelligence_runtime,
)
from engine_intelligence.ports.host_stream import HostChannel
from engine_intelligence.ports.realm_link import SocketLink
from engine_intelligence.ports.realm_stream import RealmStream
from engine_intelligence.protocol.framing import encode_frame
from engine_intelligence.providers.scripted import Script, ScriptedProvider


@dataclass
class Connection:
    """Two clients on one connection, each with a provider and a binding of its own."""

    stream: RealmStream
    host: HostEnd
    raw: socket.socket
    clients: list[IntelligencePortClient]
    bindings: list[IntelligencePortBinding]
    providers: list[ScriptedProvider]

    async def frame(self) -> list[list[IntelligenceEvent]]:
        for provider in self.providers:
            provider.advance()
        await settle(6)
        polled = [client.poll() for client in self.clients]
        await settle(6)
        return polled

    async def finish(self, which: int) -> list[IntelligenceEvent]:
        """Have one client carry out an Activity."""
        accepted(self.clients[which].submit("hello"))
        polled: list[IntelligenceEvent] = []
        for _ in range(30):
            polled += (await self.frame())[which]
        return polled


@asynccontextmanager
async def two_ports() -> AsyncGenerator[Connection]:
    ours, theirs = socket.socketpair()
    stream = RealmStream(SocketLink(ours))
    host = await connect_host(theirs)
    clients = [client_on(stream.open(name), provider_id=name) for name in ("p", "q")]
    bindings: list[IntelligencePortBinding] = []
    providers: list[ScriptedProvider] = []

    def bind(channel: HostChannel, provider_id: str) -> None:
        provider = ScriptedProvider(provider_id, lambda submission: Script(deltas=("hel", "lo")))
        runtime = create_intelligence_runtime(provider, clock=asyncio.get_running_loop().time)
        providers.append(provider)
        bindings.append(bind_intelligence_port(channel, runtime))

    stream.pump()
    await until(lambda: len(host.opened) == 2)
    for channel, provider_id in host.opened:
        bind(channel, provider_id)
    connection = Connection(stream, host, ours, clients, bindings, providers)
    try:
        for _ in range(5):
            await connection.frame()
        yield connection
    finally:
        for binding in bindings:
            await binding.close()
        await host.finish_with(stream)


def assert_whole(polled: list[IntelligenceEvent]) -> None:
    assert isinstance(polled[-1], Completed)
    assert (text_of(polled, polled[-1].activity_id), polled[-1].output) == ("hello", "hello")


@pytest.mark.spec("H3", "M2", "M3")
def test_each_port_of_a_connection_carries_out_its_own_work() -> None:
    async def main() -> None:
        async with two_ports() as both:
            assert_whole(await both.finish(0))
            assert_whole(await both.finish(1))

    run(main())


@pytest.mark.fault("R28")
@pytest.mark.spec("M3")
@pytest.mark.parametrize("body", [b"\xc1", b"\x80", b"\x01"], ids=["garbled", "empty object", "number"])
def test_a_bad_body_from_a_realm_ends_one_port_while_the_other_completes_work(body: bytes) -> None:
    async def main() -> None:
        async with two_ports() as both:
            accepted(both.clients[0].submit("hello"))
            await both.frame()
            both.stream.send_frame(1, body)
            for _ in range(10):
                await both.frame()
            assert both.bindings[0].closed
            assert (both.bindings[1].closed, both.host.stream.ended, both.stream.ended) == (False, None, None)
            assert_whole(await both.finish(1))

    run(main())


@pytest.mark.spec("M3", "C7")
def test_the_realm_whose_body_was_bad_is_told_by_which_name() -> None:
    async def main() -> None:
        async with two_ports() as both:
            both.stream.send_frame(1, b"\xc1")
            for _ in range(10):
                await both.frame()
            refused = both.clients[0].submit("hello")
            assert refused.ok is False
            assert refused.error.detail.reason == "frame-garbled"

    run(main())


@pytest.mark.spec("M3", "B6")
def test_a_bad_body_from_a_host_ends_one_client_while_the_other_completes_work() -> None:
    async def main() -> None:
        async with two_ports() as both:
            accepted(both.clients[0].submit("hello"))
            await both.frame()
            both.host.stream.send_frame(1, b"\xc1")
            for _ in range(10):
                await both.frame()
            assert (both.clients[0].closed, both.clients[1].closed) == (True, False)
            assert_whole(await both.finish(1))

    run(main())


@pytest.mark.spec("M3", "B6")
def test_the_host_of_a_client_that_was_sent_a_bad_body_closes_its_binding() -> None:
    async def main() -> None:
        async with two_ports() as both:
            both.host.stream.send_frame(1, b"\xc1")
            for _ in range(10):
                await both.frame()
            assert [binding.closed for binding in both.bindings] == [True, False]
            assert ("close",) in both.providers[0].calls

    run(main())


@pytest.mark.spec("M3", "C5", "B6")
def test_a_violation_of_the_framing_by_a_realm_ends_all_ports_on_both_sides() -> None:
    async def main() -> None:
        async with two_ports() as both:
            both.raw.send(bytes(6))
            for _ in range(10):
                await both.frame()
            assert [lost.reason for lost in both.host.lost] == ["frame-empty"]
            assert all(binding.closed for binding in both.bindings)
            assert all(client.closed for client in both.clients)

    run(main())


@pytest.mark.spec("M3", "C7")
def test_a_violation_of_the_framing_by_a_host_is_told_to_its_realm_by_name() -> None:
    async def main() -> None:
        ours, theirs = socket.socketpair()
        stream = RealmStream(SocketLink(ours))
        client = client_on(stream.open("p"))
        with theirs:
            theirs.send(encode_frame(1, b"\x01")[:6].replace(b"\x01", b"\x00", 1))
            client.poll()
            refused = client.submit("hello")
            assert refused.ok is False
            assert refused.error.detail.reason == "frame-empty"
        stream.end(THE_END)

    run(main())


@pytest.mark.spec("C5", "B6")
def test_a_connection_that_is_cut_closes_every_client_and_every_binding() -> None:
    async def main() -> None:
        async with two_ports() as both:
            for client in both.clients:
                accepted(client.submit("hello"))
            await both.frame()
            both.raw.shutdown(socket.SHUT_RDWR)
            for _ in range(10):
                await both.frame()
            assert all(client.closed for client in both.clients)
            assert all(binding.closed for binding in both.bindings)
            assert all(("close",) in provider.calls for provider in both.providers)

    run(main())


@pytest.mark.spec("C6", "B6", "H3")
def test_a_client_that_closes_leaves_the_other_port_at_work() -> None:
    async def main() -> None:
        async with two_ports() as both:
            task = both.clients[0].close()
            for _ in range(10):
                await both.frame()
            assert task.done
            assert both.bindings[0].closed
            assert_whole(await both.finish(1))

    run(main())


@pytest.mark.spec("C5")
def test_a_port_that_is_opened_on_a_connection_that_is_over_is_over_too() -> None:
    async def main() -> None:
        async with two_ports() as both:
            both.raw.shutdown(socket.SHUT_RDWR)
            await both.frame()
            late = client_on(both.stream.open("r"), provider_id="r")
            assert late.closed

    run(main())


@pytest.mark.fault("R73")
@pytest.mark.spec("M5", "H3")
def test_a_realm_cannot_cancel_through_one_port_what_runs_at_another() -> None:
    async def main() -> None:
        async with two_ports() as both:
            ref = accepted(both.clients[1].submit("hello"))
            await both.frame()
            refused = both.clients[0].cancel(ref.id)
            assert refused.ok is False
            assert all(call[0] != "cancel" for provider in both.providers for call in provider.calls)

    run(main())
