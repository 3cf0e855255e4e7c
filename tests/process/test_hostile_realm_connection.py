"""Rules M3 and M5 against a Host that runs: what ends a whole connection, and its Host with it, by which name.

The realm is bytes on a real socket. Another Host and its game are not touched by any of it.
"""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest
from support.hostile_minds import HONEST
from support.hostile_town import Victim, raw_host, unharmed
from support.port_messages import hello, submit
from support.process_marks import Mark, until
from support.process_play import answer
from support.process_start import Starter
from support.raw_game import RawGame

from engine_intelligence import IntelligencePortClient, SessionRef
from engine_intelligence.ports.host_stream import MAX_PORTS
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, MAX_FRAME_BYTES, encode_frame
from engine_intelligence.protocol.messages import ChannelOpen, Close, Closed, Poll

# A frame of 4 MiB that is read into as much again, several times over; far less than what is written meanwhile.
KEPT_BYTES = 100 << 20

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a socket is taken that a Host inherits")


@pytest.fixture(scope="module")
def bystander() -> Iterator[IntelligencePortClient]:
    """The client of another game, at another Host."""
    mark = Mark()
    with ExitStack() as until_the_end:
        until_the_end.callback(mark.kill)
        client = Starter("auto", mark, until_the_end)().client("mind")
        assert answer(client, "are you there") == "are you there "
        yield client
    mark.until_gone()


@pytest.fixture
def game(bystander: IntelligencePortClient) -> Iterator[RawGame]:
    """A Host of its own for one test. At its end nothing is left of it, and the other game still plays."""
    with raw_host("crowd") as made:
        yield made
    assert answer(bystander, "still as ever") == "still as ever "


@pytest.fixture
def slow_game() -> Iterator[RawGame]:
    """One whose provider takes two seconds to close, all that it is given."""
    with raw_host("slow_to_close", close_grace_s=2.0) as made:
        yield made


def control(message: object) -> bytes:
    return encode_frame(CONTROL_CHANNEL, encode_msgpack(message))


def opening(channel: int, provider_id: str = "p") -> bytes:
    return control(ChannelOpen(channel, provider_id))


# The honest port is channel 1.
ENDS: dict[str, tuple[bytes, str]] = {
    "a frame one byte too large": (struct.pack(">IH", MAX_FRAME_BYTES + 1, 1), "frame-too-large"),
    "a frame of 4 GiB": (struct.pack(">IH", 2**32 - 1, 1) + b"x" * 1000, "frame-too-large"),
    "a frame without a body": (struct.pack(">IH", 0, 1), "frame-empty"),
    "text in the place of frames": (b"GET / HTTP/1.1\r\n\r\n", "frame-too-large"),
    "a channel that was never opened": (encode_frame(2, encode_msgpack(Poll(1))), "channel-invalid"),
    "a hello before its channel is opened": (
        encode_frame(2, encode_msgpack(hello("mark-0"))),
        "channel-invalid",
    ),
    "the last channel of all": (encode_frame(0xFFFF, encode_msgpack(Close())), "channel-invalid"),
    "a channel that is open": (opening(1), "channel-invalid"),
    "a channel that is left out": (opening(3), "channel-invalid"),
    "the control channel": (opening(0), "channel-invalid"),
    "a channel below none": (opening(-1), "channel-invalid"),
    "a channel of 64 bits": (opening(2**64 - 1), "channel-invalid"),
    "a provider of 257 characters": (opening(2, "p" * 257), "channel-invalid"),
    "a provider of 10 kB": (opening(2, "\U0001f9e0" * 2500), "channel-invalid"),
    "bytes for control that are no message": (encode_frame(CONTROL_CHANNEL, b"\xc1"), "frame-garbled"),
    "a close for control": (control(Close()), "message-invalid"),
    "the close of a Host for control": (control(Closed("host-stopped", "m")), "message-invalid"),
    "a hello for control": (control(hello()), "message-invalid"),
}


@pytest.mark.spec("M3", "M5", "H5")
@pytest.mark.parametrize(("data", "reason"), ENDS.values(), ids=ENDS.keys())
def test_a_violation_of_the_framing_is_told_by_name_and_ends_the_host(
    game: RawGame, data: bytes, reason: str
) -> None:
    game.write(data)
    assert game.why_closed(CONTROL_CHANNEL) == reason
    game.until_over()


@pytest.mark.spec("M3", "M5")
@pytest.mark.parametrize("kept", [1, 6, 30])
def test_a_stream_that_ends_inside_a_frame_ends_the_host_without_a_word(game: RawGame, kept: int) -> None:
    """A realm that has ended reads nothing, so there is nobody to tell."""
    heard_before = len(game.heard[CONTROL_CHANNEL])
    game.write(encode_frame(1, encode_msgpack(submit()))[:kept])
    game.sock.shutdown(socket.SHUT_WR)
    game.until_over()
    assert len(game.heard[CONTROL_CHANNEL]) == heard_before


@pytest.mark.fault("R76")
@pytest.mark.spec("M5")
def test_the_port_after_the_last_one_ends_the_connection(game: RawGame) -> None:
    """Of ten thousand that are opened at once; those before it were each refused on their own."""
    game.write(b"".join(opening(number, f"nobody-{number}") for number in range(2, 10_002)))
    assert game.why_closed(CONTROL_CHANNEL) == "channel-invalid"
    reasons = {game.why_closed(number) for number in range(2, MAX_PORTS + 1)}
    assert reasons == {"unknown-provider"}


@pytest.mark.spec("M5")
def test_what_follows_a_violation_is_not_kept_while_providers_close(slow_game: RawGame) -> None:
    """The Host's provider takes the whole grace to close, and the realm goes on writing."""
    victim = Victim(slow_game, "mark-0")
    victim.until_idle()
    before = slow_game.host.memory_info().rss
    slow_game.write(struct.pack(">IH", 2**32 - 1, 1))
    junk = b"x" * (8 << 20)
    most = before
    for _ in range(40):
        if slow_game.over:
            break
        slow_game.write(junk)
        most = max(most, memory_of(slow_game))
    assert most < before + KEPT_BYTES
    slow_game.until_over()


def memory_of(game: RawGame) -> int:
    try:
        return game.host.memory_info().rss
    except psutil.Error:
        return 0


@pytest.mark.spec("M5", "B4")
def test_what_follows_a_close_is_not_kept_while_the_provider_closes(slow_game: RawGame) -> None:
    victim = Victim(slow_game, "mark-0")
    victim.until_idle()
    with unharmed(slow_game):
        victim.tell(Close())
        large = encode_frame(victim.channel, encode_msgpack(submit("a", "x" * 4_000_000)))
        most = before = slow_game.host.memory_info().rss
        for _ in range(60):
            slow_game.write(large)
            most = max(most, slow_game.host.memory_info().rss)
        assert most < before + KEPT_BYTES
        assert slow_game.why_closed(victim.channel) is None


@pytest.mark.fault("R77")
@pytest.mark.spec("M5", "H5")
def test_a_realm_that_does_not_read_is_dropped_by_name(capfd: pytest.CaptureFixture[str]) -> None:
    """Each submission without input is answered with a rejection. What says why lies behind 16 MiB that nobody reads, so
    the reason is looked for in the Host's log.
    """
    refused = submit("a" * 200, "", SessionRef(HONEST, "s"))
    flood = encode_frame(1, encode_msgpack(refused)) * 1000
    said: list[str] = []
    with raw_host("crowd") as game:

        def dropped() -> bool:
            game.write(flood, reading=False)
            return game.host.status() == psutil.STATUS_ZOMBIE

        until(dropped, "the end of a realm that does not read")

        def told() -> bool:
            said.append(capfd.readouterr().err)
            return "the connection to the realm was ended: realm-not-reading" in "".join(said)

        until(told, "the reason in the log of the Host")
