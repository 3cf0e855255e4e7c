"""Sockets that take a byte or two at a time, and descriptors that are closed and used again by others (rules C5, M3)."""

import os
import random
import socket
from pathlib import Path

import pytest
from support.port_messages import PROVIDER
from support.port_rigs import client_on, refusal_of
from support.port_streams import THE_END, raw_host

from engine_intelligence.ports.realm_link import SocketLink
from engine_intelligence.ports.realm_stream import RealmStream
from engine_intelligence.protocol.framing import FrameReader


class ShortSocket(socket.socket):
    """Takes from one to three bytes of what it is handed, and every third time nothing."""

    chance = random.Random("short writes")

    def send(self, data: bytes, flags: int = 0, /) -> int:  # type: ignore[override]
        if self.chance.randrange(3) == 0:
            raise BlockingIOError
        return super().send(bytes(data[: self.chance.randint(1, 3)]), flags)


@pytest.mark.fault("R31")
@pytest.mark.spec("M3", "S1")
def test_short_writes_and_refused_writes_leave_the_bytes_as_they_were() -> None:
    ours, theirs = socket.socketpair()
    stream = RealmStream(SocketLink(ShortSocket(fileno=ours.detach())))
    port = stream.open("p")
    bodies = [bytes([n]) * 100 for n in range(1, 20)]
    for body in bodies:
        stream.send_frame(port.number, body)
    received: list[bytes] = []
    reader = FrameReader()
    theirs.setblocking(False)
    for _ in range(20_000):
        stream.pump()
        try:
            received += [frame.body for frame in reader.feed(theirs.recv(1 << 16)) if frame.channel]
        except BlockingIOError:
            pass
        if len(received) == len(bodies):
            break
    assert received == bodies
    stream.end(THE_END)
    theirs.close()


@pytest.mark.fault("R20")
@pytest.mark.spec("C5")
@pytest.mark.skipif(os.name != "posix", reason="closes a descriptor by its number")
def test_a_descriptor_that_somebody_closed_and_took_for_a_file_is_not_written_to(tmp_path: Path) -> None:
    host = raw_host()
    client = client_on(host.stream.open(PROVIDER), provider_id=PROVIDER)
    client.poll()
    sock = host.stream._sock  # pyright: ignore[reportPrivateUsage]
    assert sock is not None
    number = sock.fileno()
    os.close(number)
    taken = os.open(tmp_path / "save", os.O_RDWR | os.O_CREAT)
    assert taken == number
    client.submit("hello")
    client.poll()
    assert refusal_of(client.submit("anyone?")).code == "intelligence-closed"
    assert (tmp_path / "save").read_bytes() == b""
    host.close()
