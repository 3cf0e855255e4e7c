"""What every `MessagePort` does: in one process, over a socket pair, and over loopback; each end alike."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import pytest
from support.port_messages import delta, events, submit
from support.port_streams import Ends, loopback_ends, memory_ends, socketpair_ends
from support.port_time import run, settle, until

from engine_intelligence import PortEnded
from engine_intelligence.protocol.messages import Closed
from engine_intelligence.testing import PORT_CHECKS, PortPair, check_port
from engine_intelligence.testing.port_stage import MakePair

OpenEnds = Callable[[], AbstractAsyncContextManager[Ends]]

every_port = pytest.mark.parametrize(
    "open_ends",
    [memory_ends, socketpair_ends, loopback_ends],
    ids=["memory", "socketpair", "loopback"],
)
every_stream = pytest.mark.parametrize(
    "open_ends", [socketpair_ends, loopback_ends], ids=["socketpair", "loopback"]
)


def pair_of(open_ends: OpenEnds) -> MakePair:
    """The two ends, and how a side of them ends: with its connection, where they have one."""

    @asynccontextmanager
    async def pair() -> AsyncGenerator[PortPair]:
        async with open_ends() as ends:
            yield PortPair(ends.realm, ends.host, partial(end_realm, ends), partial(end_host, ends))

    return pair


def end_realm(ends: Ends) -> None:
    if ends.realm_stream is not None:
        ends.realm_stream.pump()
        ends.realm_stream.end(PortEnded("test-ended", "the test ended the connection"))


def end_host(ends: Ends) -> None:
    if ends.host_end is not None:
        ends.host_end.stream.close(Closed())


@pytest.mark.spec("S1", "S6", "M2", "M3", "M4", "B2", "B3", "B6", "C3", "C4", "C5", "C6", "C7")
@every_port
@pytest.mark.parametrize("check", PORT_CHECKS)
def test_a_port_keeps_the_contract(open_ends: OpenEnds, check: str) -> None:
    check_port(pair_of(open_ends), only=check)


BIG = "0123456789abcdef" * 2048  # 32 KiB


@pytest.mark.fault("R31")
@pytest.mark.spec("M3", "S1")
@every_stream
def test_what_does_not_fit_the_buffer_of_the_system_arrives_once_the_host_reads(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            sent = [submit(f"a-{number}", f"{number}:{BIG}") for number in range(120)]
            for message in sent:
                ends.realm.send(message)  # the Host's loop does not run meanwhile
            await ends.until_received(host=len(sent))
            assert ends.host_received == sent

    run(main())


@pytest.mark.fault("R31")
@pytest.mark.spec("M3")
@every_stream
def test_what_does_not_fit_the_buffer_of_the_system_arrives_once_the_realm_reads(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            sent = [events(delta(number, f"{number}:{BIG}")) for number in range(120)]
            for message in sent:
                ends.host.send(message)
            await settle(100)  # the realm does not read meanwhile
            await ends.until_received(realm=len(sent))
            assert ends.realm_received == sent

    run(main())


@pytest.mark.spec("M3")
@every_stream
def test_both_directions_at_once_do_not_block_one_another(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            down = [events(delta(number, BIG)) for number in range(60)]
            up = [submit(f"a-{number}", BIG) for number in range(60)]
            for one, other in zip(down, up, strict=True):
                ends.host.send(one)
                ends.realm.send(other)
            await ends.until_received(realm=60, host=60)
            assert (ends.realm_received, ends.host_received) == (down, up)

    run(main())


@pytest.mark.fault("R77")
@pytest.mark.spec("M5", "B6")
@every_stream
def test_a_realm_that_never_reads_is_given_up_at_a_bound(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            sent: list[int] = []

            async def flood() -> None:
                for number in range(2000):
                    ends.host.send(events(delta(number, BIG)))
                    sent.append(number)
                    await settle(1)

            with pytest.raises(PortEnded):
                await flood()
            assert len(sent) * len(BIG) < 32 * 1024 * 1024

    run(main())


@pytest.mark.spec("S1", "C5")
@every_stream
def test_a_host_that_never_reads_is_given_up_at_a_bound(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            sent: list[int] = []

            def flood() -> None:
                for number in range(2000):
                    ends.realm.send(submit(f"a-{number}", BIG))
                    sent.append(number)

            with pytest.raises(PortEnded):
                flood()
            assert len(sent) * len(BIG) < 32 * 1024 * 1024
            host_end = ends.host_end
            assert host_end is not None
            await until(lambda: bool(host_end.lost))

    run(main())
