"""`FaultyPort`: faults where a test names them, and otherwise the port inside."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from support.port_messages import completed, delta, events, failure

from engine_intelligence import PortEnded, create_intelligence_port_client
from engine_intelligence.ports.memory import MemoryPort, memory_port_pair
from engine_intelligence.protocol.codec import ProtocolError
from engine_intelligence.protocol.messages import (
    Cancel,
    Events,
    HostMessage,
    Poll,
    RealmMessage,
    Rejected,
    Submit,
)
from engine_intelligence.testing import Delay, Drop, End, FaultyPort, Garble, Raise

BOOM = OSError(32, "Broken pipe")
CANCELS = [Cancel(f"a-{number}") for number in range(1, 6)]
TEXTS = [events(delta(number)) for number in range(1, 6)]
REJECTED = Rejected("a-1", failure())


@dataclass
class Ends:
    port: FaultyPort[HostMessage, RealmMessage]
    host: MemoryPort[RealmMessage, HostMessage]

    def arrived(self) -> list[RealmMessage]:
        """What has come at the other end; an end of the channel is nothing."""
        try:
            return list(self.host.receive())
        except PortEnded:
            return []


def ends() -> Ends:
    realm, host = memory_port_pair()
    return Ends(FaultyPort(realm), host)


# Sending


def test_the_nth_send_raises_and_the_others_do_not() -> None:
    rig = ends()
    rig.port.at_send(Raise(BOOM), when=2)
    rig.port.send(CANCELS[0])
    with pytest.raises(OSError, match="Broken pipe"):
        rig.port.send(CANCELS[1])
    rig.port.send(CANCELS[2])
    assert rig.arrived() == [CANCELS[0], CANCELS[2]]


def test_every_send_of_a_class_raises() -> None:
    rig = ends()
    rig.port.at_send(Raise(BOOM), when=Poll)
    for _ in range(2):
        with pytest.raises(OSError, match="Broken pipe"):
            rig.port.send(Poll(1))
    rig.port.send(CANCELS[0])
    assert rig.arrived() == [CANCELS[0]]


def test_a_fault_may_be_for_some_messages_only() -> None:
    rig = ends()
    rig.port.at_send(Drop(), that=lambda message: message == CANCELS[1])
    for message in CANCELS[:3]:
        rig.port.send(message)
    assert rig.arrived() == [CANCELS[0], CANCELS[2]]


def test_a_fault_without_a_place_is_everywhere() -> None:
    rig = ends()
    rig.port.at_send(Drop())
    for message in CANCELS:
        rig.port.send(message)
    assert rig.arrived() == []


def test_the_first_fault_that_was_named_for_a_place_happens() -> None:
    rig = ends()
    rig.port.at_send(Drop(), when=1)
    rig.port.at_send(Raise(BOOM))
    rig.port.send(CANCELS[0])
    with pytest.raises(OSError, match="Broken pipe"):
        rig.port.send(CANCELS[1])


def test_what_is_healed_goes_on() -> None:
    rig = ends()
    rig.port.at_send(Drop())
    rig.port.at_receive(Drop())
    rig.port.at_close(BOOM)
    rig.port.heal()
    rig.port.send(CANCELS[0])
    rig.host.send(TEXTS[0])
    assert (rig.arrived(), list(rig.port.receive())) == ([CANCELS[0]], [TEXTS[0]])
    rig.port.close()


def test_a_delayed_message_holds_those_behind_it() -> None:
    rig = ends()
    rig.port.at_send(Delay(2), when=1)
    rig.port.send(CANCELS[0])
    rig.port.send(CANCELS[1])
    assert rig.arrived() == []
    rig.port.send(CANCELS[2])
    assert rig.arrived() == CANCELS[:3]


def test_a_delayed_message_goes_when_the_port_is_read() -> None:
    rig = ends()
    rig.port.at_send(Delay(1), when=1)
    rig.port.send(CANCELS[0])
    rig.port.receive()
    assert rig.arrived() == [CANCELS[0]]


def test_an_end_at_a_send_is_the_end_of_both_sides() -> None:
    rig = ends()
    rig.port.at_send(End("host-ended", "The Host ended."), when=2)
    rig.port.send(CANCELS[0])
    with pytest.raises(PortEnded, match=r"The Host ended\."):
        rig.port.send(CANCELS[1])
    assert rig.arrived() == [CANCELS[0]]
    with pytest.raises(PortEnded):
        rig.host.receive()


def test_a_garbled_message_ends_the_channel_of_who_sent_it() -> None:
    rig = ends()
    rig.port.at_send(Garble(), when=1)
    rig.port.send(CANCELS[0])
    assert rig.arrived() == []
    with pytest.raises(PortEnded):
        rig.port.send(CANCELS[1])


def test_damage_that_a_decoder_reads_arrives_changed() -> None:
    rig = ends()
    rig.port.at_send(Garble(lambda data: data.replace(b"a-1", b"a-9")))
    rig.port.send(CANCELS[0])
    assert rig.arrived() == [Cancel("a-9")]


# Receiving


def test_the_nth_receive_raises_and_the_others_do_not() -> None:
    rig = ends()
    rig.port.at_receive(Raise(BOOM), when=2)
    rig.host.send(TEXTS[0])
    assert list(rig.port.receive()) == [TEXTS[0]]
    rig.host.send(TEXTS[1])
    with pytest.raises(OSError, match="Broken pipe"):
        rig.port.receive()
    assert list(rig.port.receive()) == [TEXTS[1]]


def test_the_nth_receive_drops_all_that_it_would_hand_out() -> None:
    rig = ends()
    rig.port.at_receive(Drop(), when=1)
    rig.host.send(TEXTS[0])
    rig.host.send(TEXTS[1])
    assert list(rig.port.receive()) == []
    rig.host.send(TEXTS[2])
    assert list(rig.port.receive()) == [TEXTS[2]]


def test_messages_of_a_class_are_dropped_from_among_others() -> None:
    rig = ends()
    rig.port.at_receive(Drop(), when=Events)
    rig.host.send(TEXTS[0])
    rig.host.send(REJECTED)
    assert list(rig.port.receive()) == [REJECTED]


def test_what_is_delayed_at_a_receive_comes_later_and_in_order() -> None:
    rig = ends()
    rig.port.at_receive(Delay(2), when=1)
    rig.host.send(TEXTS[0])
    came = [list(rig.port.receive())]
    rig.host.send(TEXTS[1])
    came += [list(rig.port.receive()), list(rig.port.receive())]
    assert came == [[], [], TEXTS[:2]]


def test_what_had_arrived_is_handed_out_before_an_end() -> None:
    rig = ends()
    rig.host.send(TEXTS[0])
    rig.port.end("host-ended", "The Host ended.")
    assert list(rig.port.receive()) == [TEXTS[0]]
    with pytest.raises(PortEnded, match=r"The Host ended\."):
        rig.port.receive()


def test_what_is_held_is_handed_out_at_the_end() -> None:
    rig = ends()
    rig.port.at_receive(Delay(100), when=1)
    rig.host.send(TEXTS[0])
    assert list(rig.port.receive()) == []
    rig.host.close()
    assert list(rig.port.receive()) == [TEXTS[0]]
    with pytest.raises(PortEnded):
        rig.port.receive()


def test_an_end_at_a_receive_comes_after_what_had_arrived() -> None:
    rig = ends()
    rig.port.at_receive(End("host-ended", "The Host ended."), when=1)
    rig.host.send(TEXTS[0])
    assert list(rig.port.receive()) == [TEXTS[0]]
    with pytest.raises(PortEnded, match=r"The Host ended\."):
        rig.port.receive()


def test_an_end_at_a_message_comes_after_all_that_came_with_it() -> None:
    rig = ends()
    rig.port.at_receive(End("host-ended", "The Host ended."), when=Events)
    rig.host.send(TEXTS[0])
    rig.host.send(TEXTS[1])
    assert list(rig.port.receive()) == TEXTS[:2]
    with pytest.raises(PortEnded):
        rig.port.receive()


@pytest.mark.spec("M3")
def test_a_garbled_message_ends_the_port_by_name_and_nothing_behind_it_is_read() -> None:
    rig = ends()
    rig.port.at_receive(Garble(), that=lambda message: message == TEXTS[1])
    for message in TEXTS[:3]:
        rig.host.send(message)
    assert list(rig.port.receive()) == [TEXTS[0]]
    with pytest.raises(ProtocolError) as found:
        rig.port.receive()
    assert found.value.reason == "frame-garbled"


def test_who_listens_is_woken_by_an_end() -> None:
    rig = ends()
    wakes: list[int] = []
    rig.port.listen(lambda: wakes.append(1))
    rig.port.end()
    assert wakes


# Closing


def test_a_close_that_raises_has_released_the_port_inside() -> None:
    rig = ends()
    rig.port.at_close(BOOM)
    with pytest.raises(OSError, match="Broken pipe"):
        rig.port.close()
    with pytest.raises(PortEnded):
        rig.host.receive()


def test_the_release_of_the_port_inside_can_be_awaited_also_after_an_end() -> None:
    released: list[int] = []

    class Slow(MemoryPort[Any, Any]):
        def close(self) -> Any:
            super().close()

            async def release() -> None:
                released.append(1)

            return release()

    async def main() -> None:
        port: FaultyPort[Any, Any] = FaultyPort(Slow())
        port.end()
        release = port.close()
        assert release is not None
        await release

    asyncio.run(main())
    assert released == [1]


@pytest.mark.spec("C5")
def test_a_client_on_a_faulty_port_is_terminal_where_the_port_raises() -> None:
    rig = ends()
    rig.port.at_send(Raise(BOOM), when=Submit)
    client = create_intelligence_port_client("p", rig.port)
    assert not client.submit("hello").ok
    assert client.closed


@pytest.mark.spec("C5", "S6")
def test_a_client_on_a_faulty_port_is_told_late_of_what_was_delayed() -> None:
    rig = ends()
    client = create_intelligence_port_client("p", rig.port, create_activity_id=lambda: "a-1")
    rig.port.at_receive(Delay(3), when=Events)
    assert client.submit("hello").ok
    rig.host.send(events(completed(1)))
    polled = [len(client.poll()) for _ in range(5)]
    assert sum(polled) == 1
    assert polled[0] == 0
