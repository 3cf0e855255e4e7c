"""Rules M3 and C5 at each end of a byte stream: whole frames however they come, and every way in which it ends."""

import asyncio
import socket
import struct
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.port_messages import delta, events, events_in, hello, submit
from support.port_streams import ended, raw_host, raw_realm, reset, tcp_pair
from support.port_time import run, settle, until

from engine_intelligence import IntelligenceEvent, PortEnded
from engine_intelligence.ports.host_stream import MAX_PORTS, MAX_PROVIDER_ID_CHARS
from engine_intelligence.protocol.codec import encode_msgpack, host_control_decoder, host_message_decoder
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, MAX_FRAME_BYTES, encode_frame
from engine_intelligence.protocol.messages import ChannelOpen, Closed, HostMessage, Poll, RealmMessage
from engine_intelligence.testing import strategies

HOST_SENT: list[HostMessage] = [
    hello(),
    events(delta(1, "\U0001f9e0")),
    Closed("host-ended", "The Host ended."),
]
REALM_SENT: list[RealmMessage] = [hello(), submit(input="\U0001f9e0"), Poll(64)]


def at_end(sock: socket.socket) -> bool:
    """Whether the other end of a socket that does not block has closed it."""
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False


def framed(channel: int, messages: list[HostMessage] | list[RealmMessage]) -> bytes:
    return b"".join(encode_frame(channel, encode_msgpack(message)) for message in messages)


# The realm's end.


@pytest.mark.fault("R23")
@pytest.mark.spec("M3")
def test_a_realm_reads_a_byte_at_a_time() -> None:
    raw = raw_host()
    channel = raw.stream.open("p")
    got: list[HostMessage] = []
    for byte in framed(1, HOST_SENT):
        raw.sock.send(bytes([byte]))
        got += channel.receive()
    raw.close()
    assert got == HOST_SENT


@pytest.mark.fault("R24")
@pytest.mark.spec("M3")
def test_a_realm_reads_the_same_whatever_the_split() -> None:
    data = framed(1, HOST_SENT)
    for split in range(0, len(data), 7):
        raw = raw_host()
        channel = raw.stream.open("p")
        raw.sock.send(data[:split])
        got = list(channel.receive())
        raw.sock.send(data[split:])
        got += channel.receive()
        raw.close()
        assert got == HOST_SENT


@pytest.mark.fault("R26")
@pytest.mark.spec("M3", "C5")
def test_a_realm_names_a_stream_that_ended_inside_a_frame() -> None:
    for cut in (1, 5, 6, 7, 20):
        raw = raw_host()
        channel = raw.stream.open("p")
        raw.sock.send(framed(1, HOST_SENT)[:cut])
        raw.sock.close()
        end = run(ended(channel))
        raw.close()
        assert end.reason == "frame-truncated"


@pytest.mark.fault("R26")
@pytest.mark.spec("C5")
def test_a_realm_hands_out_whole_frames_before_a_truncated_one() -> None:
    raw = raw_host()
    channel = raw.stream.open("p")
    raw.sock.send(framed(1, HOST_SENT)[:-1])
    raw.sock.close()
    got = list(channel.receive())
    with pytest.raises(PortEnded):
        channel.receive()
    raw.close()
    assert got == HOST_SENT[:2]


@pytest.mark.fault("R22")
@pytest.mark.spec("C5")
def test_a_realm_takes_a_reset_for_an_end() -> None:
    ours, theirs = tcp_pair()
    raw = raw_host((ours, theirs))
    channel = raw.stream.open("p")
    raw.stream.pump()
    reset(theirs)
    end = run(ended(channel))
    raw.close()
    assert end.reason


@pytest.mark.fault("R21")
@pytest.mark.spec("C5")
def test_a_realm_takes_a_half_closed_stream_for_an_end() -> None:
    raw = raw_host()
    channel = raw.stream.open("p")
    raw.sock.shutdown(socket.SHUT_WR)
    end = run(ended(channel))
    raw.close()
    assert end.reason


@pytest.mark.spec("C5")
def test_a_realm_that_sends_to_a_peer_that_is_gone_raises_the_one_error() -> None:
    raw = raw_host()
    channel = raw.stream.open("p")
    raw.stream.pump()
    raw.sock.close()

    def talk() -> None:
        for _ in range(100):
            channel.send(Poll(1))
            channel.receive()

    with pytest.raises(PortEnded):
        talk()
    raw.close()


@pytest.mark.fault("R29")
@pytest.mark.spec("M3")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (struct.pack(">IH", 0, 1), "frame-empty"),
        (struct.pack(">IH", MAX_FRAME_BYTES + 1, 1), "frame-too-large"),
        (struct.pack(">IH", 2**32 - 1, 1), "frame-too-large"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "frame-too-large"),
        (encode_frame(CONTROL_CHANNEL, b"\xc1"), "frame-garbled"),
        (encode_frame(CONTROL_CHANNEL, encode_msgpack(Poll(1))), "message-invalid"),
    ],
    ids=["empty", "too large", "2^32-1", "other protocol", "garbled control", "wrong control"],
)
def test_a_violation_of_the_framing_ends_all_ports_of_a_realm_by_name(data: bytes, reason: str) -> None:
    raw = raw_host()
    channels = [raw.stream.open("p"), raw.stream.open("q")]
    raw.sock.send(data)
    reasons = [run(ended(channel)).reason for channel in channels]
    raw.close()
    assert reasons == [reason, reason]


@pytest.mark.spec("M3")
def test_after_a_violation_the_peer_of_a_realm_sees_the_end() -> None:
    raw = raw_host()
    channel = raw.stream.open("p")
    raw.sock.send(struct.pack(">IH", 0, 1))
    run(ended(channel))
    raw.sock.setblocking(True)
    try:
        while raw.sock.recv(65536):
            pass
    except ConnectionResetError:
        pass
    raw.close()


@pytest.mark.spec("M3")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\xc1", "frame-garbled"),
        (encode_msgpack(events(delta(1)))[:-1], "frame-garbled"),
        (encode_msgpack(Poll(1)), "message-invalid"),
        (encode_msgpack({"kind": "intelligence-eval"}), "message-invalid"),
    ],
    ids=["garbled", "cut", "of a realm", "unknown"],
)
def test_a_bad_body_ends_its_port_of_a_realm_and_no_other(body: bytes, reason: str) -> None:
    raw = raw_host()
    bad, good = raw.stream.open("p"), raw.stream.open("q")
    raw.sock.send(encode_frame(1, body) + framed(2, HOST_SENT))
    got = list(good.receive())
    end = run(ended(bad))
    state = raw.stream.ended
    raw.close()
    assert (end.reason, got, state) == (reason, HOST_SENT, None)


@pytest.mark.spec("M3")
def test_what_had_arrived_before_a_bad_body_is_handed_out() -> None:
    raw = raw_host()
    channel = raw.stream.open("p")
    raw.sock.send(framed(1, HOST_SENT[:1]) + encode_frame(1, b"\xc1"))
    got = list(channel.receive())
    with pytest.raises(PortEnded):
        channel.receive()
    raw.close()
    assert got == HOST_SENT[:1]


@pytest.mark.spec("M3")
def test_a_frame_for_a_port_that_a_realm_has_released_is_ignored() -> None:
    raw = raw_host()
    gone, stays = raw.stream.open("p"), raw.stream.open("q")
    gone.close()
    raw.sock.send(framed(1, HOST_SENT) + encode_frame(1, b"\xc1") + framed(2, HOST_SENT))
    got = list(stays.receive())
    raw.close()
    assert got == HOST_SENT


@pytest.mark.spec("C7", "H4")
def test_a_closed_on_the_control_channel_ends_every_port_of_a_realm_with_its_reason() -> None:
    raw = raw_host()
    channels = [raw.stream.open("p"), raw.stream.open("q")]
    raw.send(CONTROL_CHANNEL, Closed("model-missing", "The model is not there."))
    ends = [run(ended(channel)) for channel in channels]
    raw.close()
    assert [(end.reason, end.message) for end in ends] == [("model-missing", "The model is not there.")] * 2


@pytest.mark.fault("R2", "R28")
@pytest.mark.spec("M3", "C5")
@given(chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=6))
@settings(max_examples=60, deadline=None)
def test_garbage_to_a_realm_raises_the_one_error_and_nothing_else(chunks: list[bytes]) -> None:
    raw = raw_host()
    channel = raw.stream.open("p")
    try:
        for chunk in chunks:
            raw.sock.send(chunk)
            channel.receive()
    except (PortEnded, BrokenPipeError, ConnectionResetError):
        pass
    finally:
        raw.close()


@pytest.mark.spec("C3", "M2")
@given(messages=st.lists(strategies.host_messages(), max_size=5), data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_realm_reads_any_messages_in_any_chunks(messages: list[HostMessage], data: st.DataObject) -> None:
    chunks = data.draw(strategies.chunkings(framed(1, messages)))
    raw = raw_host()
    channel = raw.stream.open("p")
    got: list[HostMessage] = []
    for chunk in chunks:
        raw.sock.sendall(chunk)
        got += channel.receive()
    raw.close()
    assert got == messages


# The Host's end.


@pytest.mark.fault("R23")
@pytest.mark.spec("M3")
def test_a_host_reads_a_byte_at_a_time() -> None:
    async def main() -> None:
        raw = await raw_realm()
        data = encode_frame(CONTROL_CHANNEL, encode_msgpack(ChannelOpen(1, "p"))) + framed(1, REALM_SENT)
        got: list[RealmMessage] = []
        for byte in data:
            raw.sock.send(bytes([byte]))
            await settle(2)
            if raw.end.opened:
                got += raw.end.channels[0].receive()
        await raw.close()
        assert got == REALM_SENT

    run(main())


@pytest.mark.spec("M3", "H3")
def test_a_host_opens_a_port_for_the_provider_that_a_realm_names() -> None:
    async def main() -> None:
        raw = await raw_realm()
        raw.open(1, "p")
        raw.open(2, "q")
        await until(lambda: len(raw.end.opened) == 2)
        providers = [provider for _, provider in raw.end.opened]
        await raw.close()
        assert providers == ["p", "q"]

    run(main())


@pytest.mark.fault("R26")
@pytest.mark.spec("M3")
def test_a_host_names_a_stream_that_ended_inside_a_frame() -> None:
    async def main() -> None:
        for cut in (1, 5, 6, 7, 20):
            raw = await raw_realm()
            raw.open(1)
            await until(lambda raw=raw: bool(raw.end.opened))  # type: ignore[misc]
            raw.sock.send(framed(1, REALM_SENT)[:cut])
            raw.sock.close()
            await until(lambda raw=raw: bool(raw.end.lost))  # type: ignore[misc]
            end = await ended(raw.end.channels[0])
            assert [end.reason, *(lost.reason for lost in raw.end.lost)] == ["frame-truncated"] * 2

    run(main())


@pytest.mark.fault("R22")
@pytest.mark.spec("B6")
def test_a_host_takes_a_reset_for_an_end_and_is_told_once() -> None:
    async def main() -> None:
        ours, theirs = tcp_pair()
        raw = await raw_realm((ours, theirs))
        raw.open(1)
        await until(lambda: bool(raw.end.opened))
        reset(ours)
        await until(lambda: bool(raw.end.lost))
        assert isinstance(await ended(raw.end.channels[0]), PortEnded)
        await settle()
        assert len(raw.end.lost) == 1

    run(main())


@pytest.mark.spec("B6", "H6")
@pytest.mark.parametrize("leave", [reset, socket.socket.close], ids=["reset", "closed"])
def test_a_host_that_ends_a_connection_whose_realm_has_just_left_raises_nothing(
    leave: Callable[[socket.socket], None],
) -> None:
    async def main() -> None:
        ours, theirs = tcp_pair()
        raw = await raw_realm((ours, theirs))
        raw.open(1)
        await until(lambda: bool(raw.end.opened))
        leave(ours)
        raw.end.stream.close(Closed())  # before the loop has turned to find out
        await raw.end.stream.finish(1.0)
        assert raw.end.stream.ended is not None

    run(main())


@pytest.mark.fault("R21")
@pytest.mark.spec("B6")
def test_a_host_takes_a_half_closed_stream_for_an_end() -> None:
    async def main() -> None:
        raw = await raw_realm()
        raw.sock.shutdown(socket.SHUT_WR)
        await until(lambda: bool(raw.end.lost))
        await raw.close()

    run(main())


@pytest.mark.fault("R29")
@pytest.mark.spec("M3", "M5")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (struct.pack(">IH", 0, 1), "frame-empty"),
        (struct.pack(">IH", MAX_FRAME_BYTES + 1, 1), "frame-too-large"),
        (struct.pack(">IH", 2**32 - 1, 1), "frame-too-large"),
        (b"GET / HTTP/1.1\r\n\r\n", "frame-too-large"),
        (encode_frame(CONTROL_CHANNEL, b"\xc1"), "frame-garbled"),
        (encode_frame(CONTROL_CHANNEL, encode_msgpack(Poll(1))), "message-invalid"),
        (encode_frame(CONTROL_CHANNEL, encode_msgpack(ChannelOpen(1, "again"))), "channel-invalid"),
        (encode_frame(CONTROL_CHANNEL, encode_msgpack(ChannelOpen(0, "p"))), "channel-invalid"),
        (encode_frame(CONTROL_CHANNEL, encode_msgpack(ChannelOpen(-1, "p"))), "channel-invalid"),
        (encode_frame(CONTROL_CHANNEL, encode_msgpack(ChannelOpen(65536, "p"))), "channel-invalid"),
        (
            encode_frame(CONTROL_CHANNEL, encode_msgpack(ChannelOpen(2, "p" * (MAX_PROVIDER_ID_CHARS + 1)))),
            "channel-invalid",
        ),
    ],
    ids=[
        "empty",
        "too large",
        "2^32-1",
        "other protocol",
        "garbled control",
        "wrong control",
        "channel in use",
        "control channel",
        "negative channel",
        "channel out of range",
        "long provider id",
    ],
)
def test_a_violation_of_the_framing_ends_the_connection_of_a_host_by_name(data: bytes, reason: str) -> None:
    async def main() -> None:
        raw = await raw_realm()
        raw.open(1)
        await until(lambda: bool(raw.end.opened))
        raw.sock.send(data)
        await until(lambda: bool(raw.end.lost))
        end = await ended(raw.end.channels[0])
        await raw.close()
        assert [end.reason, *(lost.reason for lost in raw.end.lost)] == [reason, reason]

    run(main())


@pytest.mark.spec("M3")
def test_after_a_violation_the_realm_is_told_the_reason_and_sees_the_end() -> None:
    async def main() -> None:
        raw = await raw_realm()
        raw.sock.send(struct.pack(">IH", 0, 1))
        await until(lambda: bool(raw.end.lost))
        frames = raw.frames()
        notices = [host_control_decoder().decode(frame.body) for frame in frames if frame.channel == 0]
        assert [getattr(notice, "reason", None) for notice in notices] == ["frame-empty"]
        raw.sock.shutdown(socket.SHUT_WR)  # the Host waits for this, so that its last words get through
        await until(lambda: at_end(raw.sock))
        await raw.close()

    run(main())


@pytest.mark.spec("M3", "M5")
@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"\xc1", "frame-garbled"), (encode_msgpack(Closed()), "message-invalid")],
    ids=["garbled", "of a host"],
)
def test_a_bad_body_ends_its_port_of_a_host_and_no_other(body: bytes, reason: str) -> None:
    async def main() -> None:
        raw = await raw_realm()
        raw.open(1)
        raw.open(2)
        await until(lambda: len(raw.end.opened) == 2)
        bad, good = raw.end.channels
        raw.sock.send(encode_frame(1, body) + framed(2, REALM_SENT))
        await settle()
        got = list(good.receive())
        end = await ended(bad)
        state = raw.end.stream.ended
        await raw.close()
        assert (end.reason, got, state) == (reason, REALM_SENT, None)

    run(main())


@pytest.mark.fault("R76")
@pytest.mark.spec("M5")
def test_a_realm_cannot_open_ports_without_bound() -> None:
    async def main() -> None:
        raw = await raw_realm()
        for channel in range(1, MAX_PORTS + 50):
            if raw.end.lost:
                break
            try:
                raw.open(channel)
            except (BrokenPipeError, ConnectionResetError):
                break
            await settle(2)
        opened = len(raw.end.opened)
        await raw.close()
        assert opened <= MAX_PORTS

    run(main())


@pytest.mark.spec("M5")
@pytest.mark.parametrize("channel", [2, 65535])
def test_a_frame_for_a_port_that_was_never_opened_opens_none(channel: int) -> None:
    async def main() -> None:
        raw = await raw_realm()
        raw.open(1)
        raw.send(channel, submit())
        await settle()
        opened = len(raw.end.opened)
        await raw.close()
        assert opened == 1

    run(main())


@pytest.mark.fault("R28")
@pytest.mark.spec("M5", "M3")
@given(chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=6))
@settings(max_examples=60, deadline=None)
def test_garbage_to_a_host_is_never_raised_into_its_loop(chunks: list[bytes]) -> None:
    """What is raised into the loop fails `run`."""

    async def main() -> None:
        raw = await raw_realm()
        raw.open(1)
        for chunk in chunks:
            try:
                raw.sock.send(chunk)
            except OSError:
                break
            await settle(3)
        await raw.close()

    run(main())


@pytest.mark.spec("M3", "S9")
def test_a_list_of_events_that_is_too_large_for_a_frame_is_split_by_the_sender() -> None:
    async def main() -> None:
        raw = await raw_realm()
        raw.open(1)
        await until(lambda: bool(raw.end.opened))
        items = [delta(number, "x" * 1_000_000) for number in range(1, 11)]
        raw.end.channels[0].send(events(*items))
        decoder = host_message_decoder()

        def received() -> list[IntelligenceEvent]:
            return events_in(decoder.decode(frame.body) for frame in raw.frames())

        await until(lambda: len(received()) == len(items))
        got, frames = received(), raw.frames()
        await raw.close()
        assert (got, max(len(frame.body) for frame in frames) <= MAX_FRAME_BYTES) == (items, True)

    run(main())


@pytest.mark.spec("B2")
def test_flushing_waits_until_all_is_under_way() -> None:
    async def main() -> None:
        raw = await raw_realm()
        raw.open(1)
        await until(lambda: bool(raw.end.opened))
        for number in range(40):
            raw.end.channels[0].send(events(delta(number, "x" * 32_768)))
        flushing = asyncio.ensure_future(raw.end.stream.flushed())
        await settle()
        before = flushing.done()
        await until(lambda: len(raw.frames()) == 40)
        await settle()
        after = flushing.done()
        await raw.close()
        assert (before, after) == (False, True)

    run(main())
