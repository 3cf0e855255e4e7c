"""What a poll costs in which nothing has come: nanoseconds, in process and across a socket."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from functools import partial

from _chorus import INPUT, VOICES, Kept
from _prototype import Prototype
from _record import record
from _turns import in_turns, ns_a_call, ratio

from engine_intelligence import (
    Deadlines,
    IntelligenceLimits,
    IntelligencePortClient,
    IntelligenceRuntime,
    create_intelligence_port_client,
    create_intelligence_runtime,
)
from engine_intelligence.ports.realm_link import SocketLink
from engine_intelligence.ports.realm_stream import RealmStream
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import encode_frame
from engine_intelligence.protocol.messages import FEATURES, PROTOCOL_VERSION, Hello

BLOCKS = 300
CALLS = 1000
# The Host of this benchmark sends no heartbeats, and the benchmark may take longer than one would wait for them.
PATIENT = Deadlines(unresponsive_s=3600, first_text_s=3600)


def idle_runtime(held: int) -> IntelligenceRuntime:
    """A runtime that holds so many Activities of which nothing comes."""
    runtime = create_intelligence_runtime(Kept())
    for _ in range(held):
        assert runtime.submit(INPUT).ok
    assert runtime.poll() == []
    return runtime


def idle_client(held: int) -> tuple[IntelligencePortClient, socket.socket, socket.socket]:
    """A client of a Host that has announced itself and says nothing, and both ends of the socket."""
    ours, theirs = socket.socketpair()
    client = create_intelligence_port_client(
        "idle", RealmStream(SocketLink(ours)).open("idle"), deadlines=PATIENT
    )
    hello = Hello(PROTOCOL_VERSION, "idle", IntelligenceLimits(), FEATURES)
    theirs.sendall(encode_frame(1, encode_msgpack(hello)))
    for _ in range(held):
        assert client.submit(INPUT).ok
    for _ in range(3):
        assert client.poll() == []
    return client, ours, theirs


def main() -> None:
    """Run it."""
    client, ours, theirs = idle_client(0)
    holding, _, theirs_holding = idle_client(VOICES)
    bare = select.poll()
    bare.register(ours, select.POLLIN)
    calls: dict[str, Callable[[], object]] = {
        "prototype": Prototype().poll,
        "in process": idle_runtime(0).poll,
        "in process, 8 Activities": idle_runtime(VOICES).poll,
        "select.poll(0)": partial(bare.poll, 0),
        "across the socket": client.poll,
        "across the socket, 8 Activities": holding.poll,
    }
    samples = in_turns({name: partial(ns_a_call, call, CALLS) for name, call in calls.items()}, BLOCKS)
    ratios = [
        ratio(samples, "in process", "prototype", at_most=3),
        ratio(samples, "in process, 8 Activities", "prototype", at_most=3),
        ratio(samples, "across the socket", "select.poll(0)", at_most=1.5),
        ratio(samples, "across the socket, 8 Activities", "select.poll(0)", at_most=1.5),
    ]
    record("poll", "nanoseconds a call", samples, ratios)
    for one in (client, holding):
        assert not one.closed
        one.close()
    for end in (theirs, theirs_holding):
        end.close()


if __name__ == "__main__":
    main()
