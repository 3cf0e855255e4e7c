"""Rules M1 and M4 on the Host's side: what a binding sends, when, and how much of it."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.port_messages import PROVIDER, SESSION, events_in, hello, submit, text_of
from support.port_rigs import BindingRig, binding_rig
from support.port_time import run, settle

from engine_intelligence import (
    Cancelled,
    Completed,
    IntelligenceEvent,
    IntelligenceLimits,
    SessionRef,
    TextDelta,
    Usage,
)
from engine_intelligence.protocol.messages import Cancel, Events, Hello, Poll, RealmMessage, Rejected

SMALL = IntelligenceLimits(
    max_input_chars=4,
    max_output_chars=100,
    max_concurrent_activities=1,
    max_pending_events_per_activity=4,
    max_poll_events=8,
)


async def say(rig: BindingRig, *messages: RealmMessage) -> list[object]:
    """What the Host sends when messages arrive."""
    rig.port.take_sent()
    rig.port.arrive(*messages)
    await settle()
    return list(rig.port.take_sent())


async def streaming_rig(limits: IntelligenceLimits | None = None) -> BindingRig:
    """A binding whose realm has answered its hello."""
    rig = binding_rig(announce=True, limits=limits)
    await settle()
    rig.port.arrive(hello())
    await settle()
    rig.port.take_sent()
    return rig


# M1


@pytest.mark.spec("M1")
def test_a_host_announces_itself_when_the_port_opens() -> None:
    async def main() -> None:
        rig = binding_rig(announce=True, limits=SMALL)
        await settle()
        (announced,) = rig.port.sent
        assert isinstance(announced, Hello)
        assert (announced.protocol, announced.provider_id, announced.limits) == (1, PROVIDER, SMALL)
        assert set(announced.features) == {"stream-credit", "heartbeat"}
        await rig.close()

    run(main())


@pytest.mark.spec("M1")
def test_a_host_that_is_told_not_to_announce_itself_sends_nothing() -> None:
    async def main() -> None:
        rig = binding_rig(announce=False)
        await asyncio.sleep(100)
        assert rig.port.sent == []
        await rig.close()

    run(main())


@pytest.mark.spec("M1")
def test_no_heartbeat_is_sent_to_a_realm_that_answered_no_hello() -> None:
    async def main() -> None:
        rig = binding_rig(announce=True)
        await asyncio.sleep(100)
        assert rig.port.sent_kinds == ["hello"]
        await rig.close()

    run(main())


@pytest.mark.spec("M1")
def test_a_realm_that_announced_no_heartbeat_is_sent_none() -> None:
    async def main() -> None:
        rig = binding_rig(announce=True)
        await say(rig, hello(features=("stream-credit",)))
        await asyncio.sleep(100)
        assert "heartbeat" not in rig.port.sent_kinds
        await rig.close()

    run(main())


@pytest.mark.spec("M1", "C5")
def test_a_realm_that_answered_hears_the_host_often_enough_while_there_is_nothing_to_say() -> None:
    async def main() -> None:
        rig = await streaming_rig()
        loop = asyncio.get_running_loop()
        longest, last = 0.0, loop.time()
        for _ in range(600):
            await asyncio.sleep(0.1)
            if rig.port.take_sent():
                longest, last = max(longest, loop.time() - last), loop.time()
        assert 0 < longest < 10 / 2  # of the default unresponsive_s, with one lost to a busy frame
        await rig.close()

    run(main())


@pytest.mark.spec("M1", "B5")
def test_heartbeats_end_with_the_binding() -> None:
    async def main() -> None:
        rig = await streaming_rig()
        await rig.close()
        rig.port.take_sent()
        await asyncio.sleep(100)
        assert rig.port.sent == []

    run(main())


@pytest.mark.spec("M1", "M4")
def test_a_host_that_did_not_announce_itself_answers_polls_also_where_the_realm_says_hello() -> None:
    async def main() -> None:
        rig = binding_rig(announce=False)
        await say(rig, hello(), submit())
        rig.provider.sinks["a-1"].text("x")
        await settle()
        assert "events" not in rig.port.sent_kinds
        assert events_in(await say(rig, Poll(64))) == [TextDelta("a-1", 1, "x")]
        await rig.close()

    run(main())


@pytest.mark.spec("M1", "M4")
@pytest.mark.parametrize("features", [(), ("heartbeat",), ("later",)], ids=repr)
def test_a_realm_that_does_not_announce_stream_credit_has_its_polls_answered(
    features: tuple[str, ...],
) -> None:
    async def main() -> None:
        rig = binding_rig(announce=True)
        await say(rig, hello(features=features))
        assert Events(()) in await say(rig, Poll(64))
        await rig.close()

    run(main())


@pytest.mark.spec("M1", "M5")
@pytest.mark.parametrize(
    ("greeting", "reason"),
    [(hello(protocol=2), "protocol-version"), (hello(provider_id="other"), "provider-mismatch")],
    ids=["protocol", "provider"],
)
def test_a_realm_whose_hello_does_not_match_is_told_why_and_closed(greeting: Hello, reason: str) -> None:
    async def main() -> None:
        rig = binding_rig(announce=True)
        sent = await say(rig, greeting)
        await rig.binding.close()
        closed = [*sent, *rig.port.sent][-1]
        assert getattr(closed, "reason", None) == reason
        assert rig.port.closes == 1

    run(main())


# M1: what comes of a submission


@pytest.mark.spec("M1", "S4")
def test_a_submission_reaches_the_provider_as_it_was_sent() -> None:
    async def main() -> None:
        rig = binding_rig()
        message = submit("a-7", "hello", SessionRef(PROVIDER, "saved"))
        await say(rig, message)
        assert rig.provider.submissions == [message.submission]
        await rig.close()

    run(main())


@pytest.mark.spec("M1")
def test_an_accepted_submission_is_not_answered() -> None:
    async def main() -> None:
        rig = binding_rig()
        assert await say(rig, submit()) == []
        await rig.close()

    run(main())


@pytest.mark.spec("M1", "S2", "S3", "S8")
@pytest.mark.parametrize(
    ("message", "code"),
    [
        (submit("a-9", ""), "intelligence-invalid-request"),
        (submit("a-9", "12345"), "intelligence-invalid-request"),
        (submit("a-9", "x", SessionRef("other", "s")), "intelligence-session-provider-mismatch"),
        (submit("a-9", "x"), "intelligence-capacity-exceeded"),
    ],
    ids=["empty", "too long", "other provider", "no place"],
)
def test_a_refused_submission_is_rejected_and_reaches_no_provider(message: RealmMessage, code: str) -> None:
    async def main() -> None:
        rig = binding_rig(limits=SMALL)
        await say(rig, submit("a-1", "x"))
        (rejected,) = await say(rig, message)
        assert isinstance(rejected, Rejected)
        assert (rejected.error.code, len(rig.provider.starts)) == (code, 1)
        await rig.close()

    run(main())


@pytest.mark.fault("R30", "R72")
@pytest.mark.spec("M1", "M5")
def test_an_id_that_is_already_running_is_rejected_and_the_first_goes_on() -> None:
    async def main() -> None:
        rig = binding_rig()
        await say(rig, submit("a-1", "first"))
        (rejected,) = await say(rig, submit("a-1", "second"))
        assert isinstance(rejected, Rejected)
        assert (rejected.error.detail.field, len(rig.provider.starts)) == ("id", 1)
        rig.provider.sinks["a-1"].complete("first")
        assert events_in(await say(rig, Poll(64))) == [Completed("a-1", 1, SESSION, "first")]
        await rig.close()

    run(main())


@pytest.mark.spec("M1", "S13")
def test_a_cancel_of_what_does_not_run_is_not_answered_and_reaches_no_provider() -> None:
    async def main() -> None:
        rig = binding_rig()
        await say(rig, submit())
        assert await say(rig, Cancel("nobody")) == []
        assert "cancel nobody" not in rig.log
        await rig.close()

    run(main())


@pytest.mark.spec("M1", "S12")
def test_a_cancel_reaches_the_provider_and_its_terminal_the_realm() -> None:
    async def main() -> None:
        rig = binding_rig()
        await say(rig, submit())
        await say(rig, Cancel("a-1"))
        rig.provider.sinks["a-1"].cancelled()
        assert events_in(await say(rig, Poll(64))) == [Cancelled("a-1", 1)]
        await rig.close()

    run(main())


# M4: answers


@pytest.mark.spec("M4")
@pytest.mark.parametrize("size", [1, 64, 2**62, 0, -1, -(2**62)])
def test_without_hello_a_poll_is_answered_once_also_with_nothing(size: int) -> None:
    async def main() -> None:
        rig = binding_rig()
        assert await say(rig, Poll(size)) == [Events(())]
        await asyncio.sleep(10)
        assert rig.port.sent == []
        await rig.close()

    run(main())


@pytest.mark.spec("M4", "S7")
@pytest.mark.parametrize("size", [0, -1])
def test_without_hello_a_poll_of_no_size_is_answered_with_nothing_while_something_is_pending(
    size: int,
) -> None:
    async def main() -> None:
        rig = binding_rig()
        await say(rig, submit())
        rig.provider.sinks["a-1"].text("x")
        assert await say(rig, Poll(size)) == [Events(())]
        await rig.close()

    run(main())


@pytest.mark.spec("M4")
def test_without_hello_each_of_several_polls_is_answered() -> None:
    async def main() -> None:
        rig = binding_rig()
        assert await say(rig, *[Poll(1)] * 5) == [Events(())] * 5
        await rig.close()

    run(main())


@pytest.mark.spec("M4")
def test_without_hello_nothing_is_sent_that_was_not_asked_for() -> None:
    async def main() -> None:
        rig = binding_rig()
        await say(rig, submit(), Poll(64))
        rig.provider.sinks["a-1"].text("x")
        rig.provider.sinks["a-1"].complete("x")
        await asyncio.sleep(1)
        assert rig.port.sent == []
        await rig.close()

    run(main())


@pytest.mark.spec("M4", "S7")
@given(sizes=st.lists(st.integers(-2, 5), min_size=1, max_size=12))
@settings(max_examples=25, deadline=None)
def test_without_hello_an_answer_holds_at_most_what_was_asked_for(sizes: list[int]) -> None:
    async def main() -> None:
        rig = binding_rig()
        await say(rig, submit())
        for _ in range(10):
            rig.provider.sinks["a-1"].text("x")
        for size in sizes:
            (answer,) = await say(rig, Poll(size))
            assert len(events_in([answer])) <= max(size, 0)
        await rig.close()

    run(main())


# M4: streams


@pytest.mark.spec("M4")
def test_granted_events_are_sent_as_they_occur() -> None:
    async def main() -> None:
        rig = await streaming_rig()
        await say(rig, submit(), Poll(64))
        rig.provider.sinks["a-1"].text("hel")
        await settle()
        first = events_in(rig.port.take_sent())
        rig.provider.sinks["a-1"].complete("hello", Usage(1, 2), "stop")
        await settle()
        assert (first, events_in(rig.port.take_sent())) == (
            [TextDelta("a-1", 1, "hel")],
            [Completed("a-1", 2, SESSION, "hello", Usage(1, 2), "stop")],
        )
        await rig.close()

    run(main())


@pytest.mark.spec("M4")
def test_granted_events_are_sent_in_no_time() -> None:
    """An event waits for no round trip, and for no timer either."""

    async def main() -> None:
        rig = await streaming_rig()
        await say(rig, submit(), Poll(64))
        before = asyncio.get_running_loop().time()
        rig.provider.sinks["a-1"].text("x")
        await settle()
        assert (len(events_in(rig.port.sent)), asyncio.get_running_loop().time()) == (1, before)
        await rig.close()

    run(main())


@pytest.mark.spec("M4")
def test_while_streaming_a_poll_is_not_answered_with_nothing() -> None:
    async def main() -> None:
        rig = await streaming_rig()
        assert await say(rig, Poll(64)) == []
        await rig.close()

    run(main())


@pytest.mark.fault("R51")
@pytest.mark.spec("M4")
def test_without_credit_a_streaming_host_sends_no_event() -> None:
    async def main() -> None:
        rig = await streaming_rig()
        await say(rig, submit())
        rig.provider.sinks["a-1"].text("x")
        await asyncio.sleep(0.5)
        assert events_in(rig.port.sent) == []
        await rig.close()

    run(main())


@pytest.mark.spec("M4")
def test_what_was_pending_is_sent_when_credit_comes() -> None:
    async def main() -> None:
        rig = await streaming_rig()
        await say(rig, submit())
        rig.provider.sinks["a-1"].text("x")
        await settle()
        assert events_in(await say(rig, Poll(1))) == [TextDelta("a-1", 1, "x")]
        await rig.close()

    run(main())


@pytest.mark.fault("R51")
@pytest.mark.spec("M4", "S11", "D3")
@given(moves=st.lists(st.tuples(st.integers(-3, 4), st.integers(0, 6)), min_size=1, max_size=20))
@settings(max_examples=25, deadline=None)
def test_never_more_events_are_sent_than_were_granted_and_no_text_is_lost(
    moves: list[tuple[int, int]],
) -> None:
    async def main() -> None:
        rig = await streaming_rig()
        rig.port.arrive(submit())
        await settle()
        granted, emitted = 0, ""
        sent: list[IntelligenceEvent] = []
        for credit, texts in moves:
            for number in range(texts):
                emitted += str(number)
                rig.provider.sinks["a-1"].text(str(number))
                await asyncio.sleep(0)
            granted += max(credit, 0)
            rig.port.arrive(Poll(credit))
            await settle()
            sent += events_in(rig.port.take_sent())
            assert len(sent) <= granted
        rig.provider.sinks["a-1"].complete("end")
        rig.port.arrive(Poll(64))
        await settle()
        sent += events_in(rig.port.take_sent())
        assert text_of(sent) == emitted
        assert [event.sequence for event in sent] == list(range(1, len(sent) + 1))
        await rig.close()

    run(main())


@pytest.mark.spec("M4", "M5")
def test_a_flood_of_credit_does_no_harm_to_what_is_sent() -> None:
    async def main() -> None:
        rig = await streaming_rig()
        await say(rig, submit(), *[Poll(2**62)] * 1000, *[Poll(-(2**62))] * 1000)
        rig.provider.sinks["a-1"].complete("x")
        await settle()
        assert events_in(rig.port.sent) == [Completed("a-1", 1, SESSION, "x")]
        await rig.close()

    run(main())


@pytest.mark.spec("M4", "S15")
def test_the_deadlines_of_an_activity_are_kept_without_a_message_from_the_realm() -> None:
    async def main() -> None:
        rig = await streaming_rig()
        await say(rig, submit(), Poll(64))
        await asyncio.sleep(61)
        (failed,) = events_in(rig.port.sent)
        assert failed.type == "failed"
        await rig.close()

    run(main())
