"""Rule M3: whole messages on a byte stream, read alike wherever the stream is cut."""

from typing import Any

import pytest
from campaign.fuzz.oracles import check_chunkings
from campaign.fuzz.seeds import CONTROL_OF_A_HOST, CONTROL_OF_A_REALM, FROM_A_HOST, FROM_A_REALM, stream
from campaign.fuzz.streams import through_host_stream, through_realm_stream
from hypothesis import given
from hypothesis import strategies as st

from engine_intelligence.protocol.codec import (
    MessageDecoder,
    host_control_decoder,
    host_message_decoder,
    realm_control_decoder,
    realm_message_decoder,
)
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, FrameReader
from engine_intelligence.protocol.messages import (
    ChannelOpen,
    Close,
    Closed,
    Heartbeat,
    HostMessage,
    RealmMessage,
)
from engine_intelligence.testing.strategies import host_messages, realm_messages

OPEN = (CONTROL_CHANNEL, ChannelOpen(1, "p"))


def named(message: object) -> str:
    return type(message).__name__


def assert_read_alike(decoder: MessageDecoder[Any], channel: int, sent: list[object]) -> None:
    """Cut in two at every place, and a byte at a time."""
    data = stream(*((channel, message) for message in sent))
    chunkings = [[data[:place], data[place:]] for place in range(len(data) + 1)]
    chunkings.append([data[place : place + 1] for place in range(len(data))])
    for chunks in chunkings:
        reader = FrameReader()
        frames = [frame for chunk in chunks for frame in reader.feed(chunk)]
        reader.end()
        assert {frame.channel for frame in frames} == {channel}
        assert [decoder.decode(frame.body) for frame in frames] == sent


@pytest.mark.spec("M2", "M3")
@pytest.mark.parametrize("message", FROM_A_REALM, ids=named)
def test_each_kind_of_a_realm_is_read_at_every_split_point(message: object) -> None:
    assert_read_alike(realm_message_decoder(), 1, [message, Close(), message])


@pytest.mark.spec("M2", "M3")
@pytest.mark.parametrize("message", FROM_A_HOST, ids=named)
def test_each_kind_of_a_host_is_read_at_every_split_point(message: object) -> None:
    assert_read_alike(host_message_decoder(), 1, [message, Heartbeat(), message])


@pytest.mark.spec("M2", "M3")
@pytest.mark.parametrize("message", CONTROL_OF_A_REALM, ids=named)
def test_each_kind_of_a_realm_for_control_is_read_at_every_split_point(message: object) -> None:
    assert_read_alike(realm_control_decoder(), CONTROL_CHANNEL, [message, message])


@pytest.mark.spec("M2", "M3")
@pytest.mark.parametrize("message", CONTROL_OF_A_HOST, ids=named)
def test_each_kind_of_a_host_for_control_is_read_at_every_split_point(message: object) -> None:
    assert_read_alike(host_control_decoder(), CONTROL_CHANNEL, [message, message])


@pytest.mark.spec("M2", "M3")
@given(messages=st.lists(realm_messages(), min_size=1, max_size=3))
def test_any_messages_of_a_realm_reach_a_host_alike_at_every_split_point(
    messages: list[RealmMessage],
) -> None:
    data = stream(OPEN, *((1, message) for message in messages))
    log = check_chunkings(through_host_stream, data, every_split=True)
    heard = [*messages, ("ended", "realm-ended")]
    assert log == ["opened p", *((0, each) for each in heard), ("lost", "realm-ended")]


@pytest.mark.spec("M2", "M3")
@given(messages=st.lists(host_messages(), min_size=1, max_size=2))
def test_any_messages_of_a_host_reach_a_realm_alike_in_any_pieces(messages: list[HostMessage]) -> None:
    """In pieces of one size, since every piece is a system call here."""
    data = stream(*((2, message) for message in messages))
    found = check_chunkings(through_realm_stream, data, every_split=False)
    ended = ("ended", "host-ended")
    assert found == [[[ended], [*messages, ended]], "host-ended"]


@pytest.mark.spec("M2", "M3")
@pytest.mark.parametrize("message", FROM_A_HOST, ids=named)
def test_each_kind_of_a_host_reaches_a_realm_alike_at_every_split_point(message: object) -> None:
    check_chunkings(through_realm_stream, stream((1, message)), every_split=True)


@pytest.mark.spec("M3", "C4")
def test_what_follows_the_end_of_a_connection_in_the_same_read_reaches_no_port_of_a_realm() -> None:
    data = stream((CONTROL_CHANNEL, Closed("host-stopped", "m")), (1, Heartbeat()))
    ended = ("ended", "host-stopped")
    assert through_realm_stream([data]) == [[[ended], [ended]], "host-stopped"]
