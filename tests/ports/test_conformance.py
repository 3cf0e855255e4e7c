"""What every `MessagePort` does: in one process, over a socket pair, and over loopback; each end alike."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from support.port_messages import delta, events, submit
from support.port_streams import Ends, ended, loopback_ends, memory_ends, socketpair_ends
from support.port_time import run, settle, until

from engine_intelligence import PortEnded
from engine_intelligence.protocol.messages import Cancel, Closed, HostMessage, RealmMessage

OpenEnds = Callable[[], AbstractAsyncContextManager[Ends]]

every_port = pytest.mark.parametrize(
    "open_ends",
    [memory_ends, socketpair_ends, loopback_ends],
    ids=["memory", "socketpair", "loopback"],
)
every_stream = pytest.mark.parametrize(
    "open_ends", [socketpair_ends, loopback_ends], ids=["socketpair", "loopback"]
)

FROM_REALM: list[RealmMessage] = [Cancel(f"a-{number}") for number in range(2000)]
FROM_HOST: list[HostMessage] = [events(delta(number)) for number in range(2000)]


@pytest.mark.spec("M3")
@every_port
def test_messages_of_a_realm_come_in_order(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            for message in FROM_REALM:
                ends.realm.send(message)
            await ends.until_received(host=len(FROM_REALM))
            assert ends.host_received == FROM_REALM

    run(main())


@pytest.mark.spec("M3")
@every_port
def test_messages_of_a_host_come_in_order(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            for message in FROM_HOST:
                ends.host.send(message)
            await ends.until_received(realm=len(FROM_HOST))
            assert ends.realm_received == FROM_HOST

    run(main())


@pytest.mark.spec("S1", "C3")
@every_port
def test_nothing_has_arrived_where_nothing_was_sent(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            await settle()
            assert (list(ends.realm.receive()), list(ends.host.receive())) == ([], [])

    run(main())


@pytest.mark.spec("M2")
@every_port
def test_what_arrives_is_equal_to_what_was_sent_down_to_its_type(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            message = submit(input="\U0001f9e0 ünïcode \x00 \r\n")
            ends.realm.send(message)
            await ends.until_received(host=1)
            assert (type(ends.host_received[0]), ends.host_received[0]) == (type(message), message)

    run(main())


@pytest.mark.spec("C5")
@every_port
def test_what_a_host_sent_before_it_closed_is_handed_out_before_the_end(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            for message in FROM_HOST[:3]:
                ends.host.send(message)
            ends.host.close()
            if ends.host_end is not None:
                ends.host_end.stream.close(Closed())
            got: list[HostMessage] = []

            def over() -> bool:
                try:
                    got.extend(ends.realm.receive())
                except PortEnded:
                    return True
                return False

            await until(over)
            # A memory port may drop what was in it; a stream keeps what was under way.
            assert got == FROM_HOST[:3]

    run(main())


@pytest.mark.spec("B6")
@every_port
def test_what_a_realm_sent_before_it_closed_is_handed_out_before_the_end(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            for message in FROM_REALM[:3]:
                ends.realm.send(message)
            ends.realm.close()
            if ends.realm_stream is not None:
                ends.realm_stream.pump()
                ends.realm_stream.end(PortEnded("test-ended", "the test ended the connection"))
            got: list[RealmMessage] = []

            def over() -> bool:
                try:
                    got.extend(ends.host.receive())
                except PortEnded:
                    return True
                return False

            await until(over)
            assert [message for message in got if isinstance(message, Cancel)] == FROM_REALM[:3]

    run(main())


@pytest.mark.spec("C4", "C6")
@every_port
def test_closing_an_end_twice_is_closing_it_once(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            for _ in range(2):
                ends.realm.close()
                released = ends.host.close()
                if released is not None:
                    await released

    run(main())


@pytest.mark.spec("C5")
@every_port
@pytest.mark.parametrize("call", ["send", "receive"])
def test_a_closed_end_of_a_realm_raises_the_one_error(open_ends: OpenEnds, call: str) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            ends.realm.close()
            with pytest.raises(PortEnded):
                ends.realm.send(FROM_REALM[0]) if call == "send" else ends.realm.receive()

    run(main())


@pytest.mark.spec("B3")
@every_port
@pytest.mark.parametrize("call", ["send", "receive"])
def test_a_closed_end_of_a_host_raises_the_one_error(open_ends: OpenEnds, call: str) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            released = ends.host.close()
            if released is not None:
                await released
            with pytest.raises(PortEnded):
                ends.host.send(FROM_HOST[0]) if call == "send" else ends.host.receive()

    run(main())


@pytest.mark.spec("C5", "C7")
@every_port
def test_the_end_has_a_name_and_a_sentence(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            ends.host.close()
            if ends.host_end is not None:
                ends.host_end.stream.close(Closed())
            end = await ended(ends.realm)
            assert end.reason == end.reason.lower().replace(" ", "-").replace("_", "-")
            assert len(end.message.split()) >= 3

    run(main())


@pytest.mark.spec("B6")
@every_port
def test_a_host_is_woken_by_a_message(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            wakes: list[int] = []
            ends.host.listen(lambda: wakes.append(1))
            ends.realm.send(FROM_REALM[0])
            await until(lambda: bool(wakes))
            ends.host.listen(None)

    run(main())


@pytest.mark.spec("B6")
@every_port
def test_a_host_is_woken_by_the_end_of_its_realm(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            wakes: list[int] = []
            ends.host.listen(lambda: wakes.append(1))
            ends.realm.close()
            if ends.realm_stream is not None:
                ends.realm_stream.end(PortEnded("test-ended", "the test ended the connection"))
            await until(lambda: bool(wakes))
            assert isinstance(await ended(ends.host), PortEnded)

    run(main())


@pytest.mark.spec("B2")
@every_port
def test_who_stopped_listening_is_not_woken(open_ends: OpenEnds) -> None:
    async def main() -> None:
        async with open_ends() as ends:
            wakes: list[int] = []
            ends.host.listen(lambda: wakes.append(1))
            ends.host.listen(None)
            ends.realm.send(FROM_REALM[0])
            await ends.until_received(host=1)
            assert wakes == []

    run(main())


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
