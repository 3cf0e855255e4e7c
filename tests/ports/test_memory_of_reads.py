"""What a realm's reads take of memory: a game plays for hours."""

import socket
import tracemalloc

from support.port_messages import hello
from support.port_rigs import client_on
from support.port_streams import THE_END

from engine_intelligence.ports.realm_link import SocketLink
from engine_intelligence.ports.realm_stream import RealmStream
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import encode_frame
from engine_intelligence.protocol.messages import Heartbeat

HEARTBEAT = encode_frame(1, encode_msgpack(Heartbeat()))


def test_reading_a_short_message_takes_no_memory_for_a_long_one() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        stream = RealmStream(SocketLink(ours))
        client = client_on(stream.open("p"))
        theirs.sendall(encode_frame(1, encode_msgpack(hello("p"))) + HEARTBEAT)
        client.poll()
        theirs.sendall(HEARTBEAT)
        tracemalloc.start()
        client.poll()
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        stream.end(THE_END)
    assert 0 < taken < 16 * 1024
