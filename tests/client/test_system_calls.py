"""Rule C3: what an idle poll costs over a real socket, counted in calls into the system."""

import asyncio
import select
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar

import pytest
from support.port_rigs import accepted, client_on
from support.port_streams import THE_END

from engine_intelligence import IntelligencePortClient
from engine_intelligence.ports.realm_link import SocketLink
from engine_intelligence.ports.realm_stream import RealmStream
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import encode_frame
from engine_intelligence.protocol.messages import FEATURES, Hello

REAL_POLL: Any = getattr(select, "poll", object)
WAITS = {"poll", "select", "epoll", "control"}
SYSTEM_MODULES = {"posix", "nt", "select", "_socket", "time", "_thread"}
# These read a clock without entering the system.
CLOCKS = {"monotonic", "perf_counter", "monotonic_ns"}


class SystemCalls:
    """The names of the functions in C that enter the system."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def note(self, frame: FrameType, event: str, function: Callable[..., object]) -> None:
        if event != "c_call":
            return
        owner = getattr(function, "__self__", None)
        module = getattr(function, "__module__", None) or type(owner).__module__
        into_system = module in SYSTEM_MODULES or isinstance(owner, socket.socket)
        name = function.__name__
        if into_system and name not in CLOCKS:
            self.names.append(name)


@contextmanager
def counted() -> Generator[SystemCalls]:
    calls = SystemCalls()
    sys.setprofile(calls.note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


@contextmanager
def client_over_a_socket(greeted: bool) -> Generator[tuple[IntelligencePortClient, socket.socket]]:
    ours, theirs = socket.socketpair()
    with theirs:
        stream = RealmStream(SocketLink(ours))
        client = client_on(stream.open("p"))
        try:
            if greeted:
                hello = Hello(1, "p", client.limits, FEATURES)
                theirs.sendall(encode_frame(1, encode_msgpack(hello)))
            for _ in range(3):
                client.poll()
            yield client, theirs
        finally:
            client.close()
            theirs.close()
            assert client.close().done or stream.ended is not None


@pytest.mark.spec("C3", "S1")
def test_the_count_sees_calls_that_enter_the_system() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, counted() as calls:
        theirs.send(b"x")
        select.select([ours], [], [], 0)
        ours.recv(1)
    assert [name for name in calls.names if name != "setprofile"] == ["send", "select", "recv"]


@pytest.mark.spec("C3", "S1")
@pytest.mark.parametrize("greeted", [False, True], ids=["plain", "streaming"])
def test_an_idle_poll_over_a_socket_is_one_look_and_nothing_else(greeted: bool) -> None:
    with client_over_a_socket(greeted) as (client, _):
        with counted() as calls:
            client.poll()
        names = list(calls.names)
    assert len(names) <= 1
    assert set(names) <= WAITS


@pytest.mark.spec("C3", "S1")
def test_a_hundred_idle_polls_are_at_most_a_hundred_looks() -> None:
    with client_over_a_socket(True) as (client, _):
        with counted() as calls:
            for _ in range(100):
                client.poll()
        names = list(calls.names)
    assert len(names) <= 100


@pytest.mark.spec("C3")
def test_an_idle_realm_writes_nothing_to_its_socket() -> None:
    with client_over_a_socket(True) as (client, theirs):
        theirs.setblocking(False)
        theirs.recv(65536)
        for _ in range(1000):
            client.poll()
        with pytest.raises(BlockingIOError):
            theirs.recv(1)


@pytest.mark.spec("C3", "S1")
def test_submit_poll_and_cancel_make_no_call_that_could_wait() -> None:
    with client_over_a_socket(True) as (client, _):
        with counted() as calls:
            started = client.submit("hello")
            client.poll()
            client.cancel(accepted(started).id)
        names = list(calls.names)
    assert set(names) <= WAITS | {"send", "sendmsg", "recv", "recv_into"}


class TimedPoll:
    """`select.poll`, and for how long its calls may wait."""

    waits: ClassVar[list[float | None]] = []

    def __init__(self) -> None:
        self._poll: Any = REAL_POLL()

    def register(self, sock: socket.socket, mask: int) -> None:
        self._poll.register(sock, mask)

    def modify(self, sock: socket.socket, mask: int) -> None:
        self._poll.modify(sock, mask)

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        self.waits.append(timeout)
        ready: list[tuple[int, int]] = self._poll.poll(timeout)
        return ready


@pytest.mark.spec("S1", "C3")
@pytest.mark.skipif(not hasattr(select, "poll"), reason="this system has no select.poll")
def test_no_call_of_a_frame_lets_the_system_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "poll", TimedPoll)
    TimedPoll.waits.clear()
    with client_over_a_socket(True) as (client, _):
        client.cancel(accepted(client.submit("hello")).id)
        client.poll()
        assert client.closed is False
    assert set(TimedPoll.waits) == {0}


@pytest.mark.spec("S1")
def test_the_socket_of_a_realm_never_blocks() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        stream = RealmStream(SocketLink(ours))
        stream.open("p")
        assert ours.getblocking() is False
        stream.end(THE_END)


@pytest.mark.spec("C3")
def test_no_event_loop_is_needed_in_a_realm() -> None:
    with client_over_a_socket(True) as (client, _):
        client.poll()
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
