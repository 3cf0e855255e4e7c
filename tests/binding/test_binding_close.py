"""Rules B1 to B6: every way in which a binding ends, in order, once, and in bounded time."""

import asyncio
import copy
import pickle
from collections.abc import Awaitable, Callable

import pytest
from support.port_doubles import PortDouble, SinkProvider
from support.port_messages import PROVIDER, events_in, hello, submit
from support.port_rigs import BindingRig, binding_rig
from support.port_time import run, settle

from engine_intelligence import CloseTask, Deadlines, PortEnded, SessionRef
from engine_intelligence.protocol.codec import ProtocolError
from engine_intelligence.protocol.messages import Close, Closed, Poll
from engine_intelligence.testing import Raise

GRACE_S = 0.05
# Of another session than the Activity that runs: within one session they would follow one another.
OTHER = submit("a-2", session=SessionRef(PROVIDER, "s-2"))
QUICK = Deadlines(close_grace_s=GRACE_S)


async def busy_rig(*, announce: bool = False, deadlines: Deadlines | None = None) -> BindingRig:
    """A binding with one Activity that runs."""
    rig = binding_rig(announce=announce, deadlines=deadlines)
    await settle()
    rig.port.arrive(*([hello()] if announce else []), submit())
    await settle()
    rig.port.take_sent()
    rig.log.clear()
    return rig


async def ended(rig: BindingRig) -> None:
    """Wait for the end of a binding that ends by itself."""
    assert rig.binding.closed
    await rig.binding.close()


def assert_over(rig: BindingRig) -> None:
    """Listener, runtime and port do not stay alive."""
    assert rig.port.wake is None
    assert rig.log.count("provider close") == 1
    assert rig.port.closes == 1
    assert not rig.runtime.submit("anyone there?").ok


# B1


@pytest.mark.spec("B1")
def test_every_close_returns_the_same_task() -> None:
    async def main() -> None:
        rig = await busy_rig()
        tasks: list[CloseTask] = [rig.binding.close() for _ in range(3)]
        await tasks[0]
        tasks += [rig.binding.close("late", "too late")]
        assert all(task is tasks[0] for task in tasks)

    run(main())


@pytest.mark.spec("B1")
def test_closing_twice_closes_provider_and_port_once_and_tells_the_realm_once() -> None:
    async def main() -> None:
        rig = await busy_rig()
        rig.binding.close()
        await rig.binding.close()
        await rig.binding.close()
        assert (rig.log.count("provider close"), rig.port.closes, rig.port.sent_kinds) == (1, 1, ["closed"])

    run(main())


@pytest.mark.fault("R53")
@pytest.mark.spec("B1")
def test_who_gives_up_waiting_for_the_close_does_not_stop_it() -> None:
    async def main() -> None:
        rig = await busy_rig()

        async def impatient() -> None:
            await rig.binding.close()

        waiting = asyncio.create_task(impatient())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await rig.binding.close()
        assert_over(rig)

    run(main())


@pytest.mark.spec("B1")
def test_the_task_is_done_once_it_was_awaited() -> None:
    async def main() -> None:
        rig = await busy_rig()
        task = rig.binding.close()
        before = task.done
        await task
        assert (before, task.done) == (False, True)

    run(main())


@pytest.mark.spec("B1")
def test_waiting_on_the_thread_of_the_loop_is_refused_rather_than_a_deadlock() -> None:
    async def main() -> None:
        rig = await busy_rig()
        task = rig.binding.close()
        with pytest.raises(RuntimeError, match="await"):
            task.wait(1)
        await task

    run(main())


# B2


@pytest.mark.spec("B2")
def test_close_stops_listening_closes_the_runtime_tells_the_realm_and_releases_the_port_in_this_order() -> (
    None
):
    async def main() -> None:
        rig = await busy_rig()
        log = rig.log

        async def release() -> None:
            await asyncio.sleep(0.01)
            log.append("released")

        rig.port.far.close_awaits = release()
        await rig.binding.close()
        assert log == ["unlisten", "provider close", "provider closed", "send closed", "close", "released"]

    run(main())


@pytest.mark.spec("B2")
def test_the_realm_is_told_why() -> None:
    async def main() -> None:
        rig = await busy_rig()
        await rig.binding.close("host-ended", "The Host ended.")
        assert rig.port.sent == [Closed("host-ended", "The Host ended.")]

    run(main())


@pytest.mark.spec("B2", "M1")
def test_a_close_without_a_reason_says_no_more_than_closed() -> None:
    async def main() -> None:
        rig = await busy_rig()
        await rig.binding.close()
        assert rig.port.sent == [Closed()]

    run(main())


@pytest.mark.spec("B2", "B3")
def test_a_notice_that_cannot_be_published_still_has_the_port_released_and_awaited() -> None:
    async def main() -> None:
        rig = await busy_rig()
        log = rig.log

        async def release() -> None:
            await asyncio.sleep(0.01)
            log.append("released")

        rig.port.far.close_awaits = release()
        rig.port.fail("closed")
        await rig.binding.close()
        assert log[-1] == "released"
        assert_over(rig)

    run(main())


@pytest.mark.spec("B2")
def test_a_port_whose_release_raises_is_over_all_the_same() -> None:
    async def main() -> None:
        rig = await busy_rig()
        rig.port.close_fault = OSError("the test makes close raise")
        await rig.binding.close()
        assert_over(rig)

    run(main())


@pytest.mark.spec("B2")
def test_a_port_whose_release_fails_later_is_over_all_the_same() -> None:
    async def main() -> None:
        rig = await busy_rig()

        async def release() -> None:
            raise OSError("the test makes the release raise")

        rig.port.far.close_awaits = release()
        await rig.binding.close()
        assert_over(rig)

    run(main())


@pytest.mark.spec("B2", "S6")
def test_no_event_is_sent_once_the_close_has_begun() -> None:
    async def main() -> None:
        rig = await busy_rig(announce=True)
        rig.port.arrive(Poll(64))
        await settle()
        task = rig.binding.close()
        rig.provider.sinks["a-1"].text("late")
        rig.provider.sinks["a-1"].complete("late")
        await task
        assert events_in(rig.port.sent) == []

    run(main())


# B3


async def events_raise(rig: BindingRig) -> None:
    rig.port.fail("events")
    rig.provider.sinks["a-1"].text("x")
    rig.port.arrive(Poll(64))


async def rejection_raises(rig: BindingRig) -> None:
    rig.port.fail("rejected")
    rig.port.arrive(submit())  # the same id again


async def heartbeat_raises(rig: BindingRig) -> None:
    rig.port.fail("heartbeat")
    await asyncio.sleep(30)


Publication = Callable[[BindingRig], Awaitable[None]]


@pytest.mark.spec("B3")
@pytest.mark.parametrize(
    ("publish", "announce"),
    [
        pytest.param(events_raise, False, id="answer"),
        pytest.param(events_raise, True, id="stream"),
        pytest.param(rejection_raises, False, id="rejection"),
        pytest.param(heartbeat_raises, True, id="heartbeat"),
    ],
)
@pytest.mark.parametrize(
    "fault",
    [RuntimeError("boom"), PortEnded("peer-closed", "gone"), ValueError("too large")],
    ids=lambda fault: type(fault).__name__,
)
def test_a_publication_that_raises_closes_listener_runtime_and_port(
    publish: Publication, announce: bool, fault: Exception
) -> None:
    async def main() -> None:
        rig = await busy_rig(announce=announce)
        rig.port.fault = fault
        await publish(rig)
        await settle()
        await ended(rig)
        assert_over(rig)

    run(main())


@pytest.mark.spec("B3")
def test_a_hello_that_raises_closes_listener_runtime_and_port() -> None:
    async def main() -> None:
        port: PortDouble[object, object] = PortDouble()
        port.fail("hello")
        rig = binding_rig(announce=True, port=port)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await settle()
        await ended(rig)
        assert_over(rig)

    run(main())


@pytest.mark.spec("B3")
def test_messages_behind_a_publication_that_raised_are_not_carried_out() -> None:
    async def main() -> None:
        rig = await busy_rig()
        rig.port.fail("events")
        rig.port.arrive(Poll(64), OTHER)
        await settle()
        await ended(rig)
        assert "start a-2" not in rig.log

    run(main())


# B4


@pytest.mark.fault("R47")
@pytest.mark.spec("B4")
@pytest.mark.parametrize(
    "fault",
    [RuntimeError("boom"), KeyboardInterrupt(), SystemExit(1), asyncio.CancelledError()],
    ids=lambda fault: type(fault).__name__,
)
def test_a_provider_whose_close_raises_strands_nothing(fault: BaseException) -> None:
    async def main() -> None:
        rig = await busy_rig()
        rig.provider.close_fault = fault
        await rig.binding.close()
        assert rig.port.sent == [Closed()]
        assert_over(rig)

    run(main())


async def hanging_release(released: asyncio.Event) -> None:
    await released.wait()


@pytest.mark.fault("R47", "C3")
@pytest.mark.spec("B4", "B1")
@pytest.mark.parametrize("ignores_cancellation", [False, True], ids=["cancellable", "stubborn"])
@pytest.mark.parametrize("hangs", ["provider", "port", "both"])
def test_close_takes_the_grace_at_most_whatever_hangs(hangs: str, ignores_cancellation: bool) -> None:
    async def main() -> None:
        rig = await busy_rig(deadlines=QUICK)
        rig.provider.close_hangs = hangs != "port"
        rig.provider.ignores_cancellation = ignores_cancellation
        released = asyncio.Event()
        if hangs != "provider":
            rig.port.far.close_awaits = hanging_release(released)
        loop = asyncio.get_running_loop()
        before = loop.time()
        await rig.binding.close()
        assert (
            loop.time() - before <= GRACE_S + 0.001
        )  # by the clock of the loop, which waits for timers alone
        released.set()
        rig.provider.release.set()
        await settle()

    run(main())


@pytest.mark.spec("B4")
def test_a_realm_is_told_and_the_port_released_although_the_provider_hangs() -> None:
    async def main() -> None:
        rig = await busy_rig(deadlines=QUICK)
        rig.provider.close_hangs = rig.provider.ignores_cancellation = True
        await rig.binding.close()
        assert rig.port.sent == [Closed()]
        assert_over(rig)
        rig.provider.release.set()
        await settle()

    run(main())


# B5


@pytest.mark.spec("B5", "P2")
def test_what_a_closed_provider_says_reaches_no_realm() -> None:
    async def main() -> None:
        rig = await busy_rig(announce=True)
        rig.port.arrive(Poll(64))
        await settle()
        await rig.binding.close()
        rig.port.take_sent()
        sink = rig.provider.sinks["a-1"]
        sink.text("late")
        sink.complete("late")
        sink.fail("late")
        sink.cancelled()
        await settle()
        assert rig.port.sent == []

    run(main())


@pytest.mark.spec("B5")
def test_a_message_that_arrives_at_a_closed_binding_is_not_read() -> None:
    async def main() -> None:
        rig = await busy_rig()
        wake = rig.port.wake
        await rig.binding.close()
        receives = rig.port.receives
        rig.port.arrive(OTHER)
        assert wake is not None
        wake()  # also one that was on its way
        await settle()
        assert (rig.port.receives, len(rig.provider.starts)) == (receives, 1)

    run(main())


# B6


async def the_realm_closes(rig: BindingRig) -> None:
    rig.port.arrive(Close())


async def the_port_ends(rig: BindingRig) -> None:
    rig.port.end()


async def the_port_raises(rig: BindingRig) -> None:
    rig.port.at_receive(Raise(OSError("the test makes receive raise")))
    rig.port.arrive()


async def a_frame_is_garbled(rig: BindingRig) -> None:
    rig.port.at_receive(Raise(ProtocolError("frame-garbled", "a frame arrived that is not a message")))
    rig.port.arrive()


@pytest.mark.spec("B6")
@pytest.mark.parametrize("announce", [False, True], ids=["plain", "streaming"])
@pytest.mark.parametrize(
    "end",
    [the_realm_closes, the_port_ends, the_port_raises, a_frame_is_garbled],
    ids=lambda end: end.__name__,
)
def test_the_end_of_the_realm_closes_the_binding_and_its_provider(end: Publication, announce: bool) -> None:
    async def main() -> None:
        rig = await busy_rig(announce=announce)
        await end(rig)
        await settle()
        await ended(rig)
        assert_over(rig)

    run(main())


@pytest.mark.spec("B6")
def test_a_port_that_is_over_before_it_is_bound_closes_the_binding() -> None:
    async def main() -> None:
        port: PortDouble[object, object] = PortDouble()
        port.end()
        rig = binding_rig(announce=False, port=port)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await settle()
        await ended(rig)
        assert rig.port.closes == 1

    run(main())


@pytest.mark.spec("B6", "M1")
def test_a_realm_that_closes_is_told_closed() -> None:
    async def main() -> None:
        rig = await busy_rig()
        rig.port.arrive(Close())
        await settle()
        await ended(rig)
        assert rig.port.sent == [Closed()]

    run(main())


@pytest.mark.spec("B6", "M3")
def test_a_realm_that_breaks_the_protocol_is_told_by_which_name() -> None:
    async def main() -> None:
        rig = await busy_rig()
        await a_frame_is_garbled(rig)
        await settle()
        await ended(rig)
        assert [getattr(message, "reason", None) for message in rig.port.sent] == ["frame-garbled"]

    run(main())


@pytest.mark.fault("R70")
@pytest.mark.spec("B6")
def test_messages_behind_the_close_of_a_realm_are_not_carried_out() -> None:
    async def main() -> None:
        rig = await busy_rig()
        rig.port.arrive(Close(), OTHER)
        await settle()
        await ended(rig)
        assert len(rig.provider.starts) == 1

    run(main())


@pytest.mark.spec("B6", "H6")
def test_a_runtime_that_is_closed_by_another_closes_the_binding_too() -> None:
    """A realm must not stay with a port that answers nothing any more."""

    async def main() -> None:
        rig = await busy_rig()
        await rig.runtime.close()
        await settle()
        rig.port.arrive(OTHER)
        await settle()
        sent = rig.port.sent_kinds
        assert sent in (["closed"], ["rejected"])
        await rig.close()

    run(main())


@pytest.mark.spec("D5")
@pytest.mark.parametrize("copying", [pickle.dumps, copy.copy, copy.deepcopy], ids=lambda f: f.__name__)
def test_a_binding_refuses_to_be_pickled(copying: Callable[[object], object]) -> None:
    async def main() -> None:
        rig = await busy_rig()
        with pytest.raises(TypeError):
            copying(rig.binding)
        await rig.close()

    run(main())


@pytest.mark.fault("R47")
@pytest.mark.spec("B4", "B6")
def test_several_bindings_close_side_by_side_although_each_provider_hangs() -> None:
    async def main() -> None:
        rigs = [await busy_rig(deadlines=QUICK) for _ in range(20)]
        for rig in rigs:
            rig.provider.close_hangs = True
        loop = asyncio.get_running_loop()
        before = loop.time()

        async def close(rig: BindingRig) -> None:
            await rig.binding.close()

        await asyncio.gather(*(close(rig) for rig in rigs))
        assert loop.time() - before <= GRACE_S + 0.001
        for rig in rigs:
            rig.provider.release.set()
        await settle()

    run(main())


def test_the_double_of_a_provider_hangs_where_it_is_told_to() -> None:
    async def main() -> None:
        provider = SinkProvider()
        provider.close_hangs = provider.ignores_cancellation = True
        task = asyncio.create_task(provider.close())
        await settle()
        task.cancel()
        await settle()
        assert not task.done()
        provider.release.set()
        await task

    run(main())
