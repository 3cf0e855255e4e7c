"""Rule M5: what a realm may send, and what a Host makes of it."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.port_doubles import HostPortDouble, PortDouble, SinkProvider, untyped
from support.port_messages import PROVIDER, events_in, failure, hello, submit
from support.port_rigs import BindingRig, binding_rig
from support.port_time import run, settle

from engine_intelligence import (
    ActivitySubmission,
    Completed,
    Deadlines,
    IntelligenceError,
    IntelligenceLimits,
    ProviderError,
    Result,
    SessionRef,
    intelligence_failure,
)
from engine_intelligence.contracts import ActivitySink
from engine_intelligence.protocol.messages import (
    Cancel,
    Close,
    Closed,
    Events,
    Heartbeat,
    Hello,
    Poll,
    RealmMessage,
    Rejected,
    Submit,
)

FEW = IntelligenceLimits(
    max_input_chars=20,
    max_output_chars=100,
    max_concurrent_activities=3,
    max_pending_events_per_activity=4,
    max_poll_events=8,
)
VICTIM = "victim"

hostile_texts = st.one_of(
    st.sampled_from(["", "a-1", "a-2", VICTIM, "\x00", "\ud800", "../../etc/passwd", "\x1b[2J", "x" * 5000]),
    st.text(alphabet=st.characters(codec=None), max_size=10),
)
hostile_numbers = st.one_of(st.integers(-3, 10), st.sampled_from([2**31, 2**63 - 1, -(2**63), 2**64]))
hostile_sessions = st.builds(SessionRef, st.one_of(st.just(PROVIDER), hostile_texts), hostile_texts)
hostile_limits = st.sampled_from([IntelligenceLimits(), IntelligenceLimits(max_concurrent_activities=10**9)])
hostile_messages: st.SearchStrategy[RealmMessage] = st.one_of(
    st.builds(Submit, st.builds(ActivitySubmission, hostile_texts, hostile_sessions, hostile_texts)),
    st.builds(Poll, hostile_numbers),
    st.builds(Cancel, hostile_texts),
    st.just(hello()),
    st.builds(
        Hello,
        st.sampled_from([1, 1, 1, 0, -1, 2**63]),
        st.sampled_from([PROVIDER, PROVIDER, "other"]),
        hostile_limits,
        st.lists(st.one_of(st.just("stream-credit"), hostile_texts), max_size=3).map(tuple),
    ),
    # Of the wrong type altogether: what a port in the same process could be handed.
    st.sampled_from(
        [untyped(Events(())), untyped(Closed()), untyped(Heartbeat()), untyped(Rejected("a", failure()))]
    ),
    st.just(Close()),
)


def submit_apart(number: int) -> Submit:
    """One of several submissions that do not wait for one another."""
    return submit(f"a-{number}", session=SessionRef(PROVIDER, f"s-{number}"))


class SharedProvider(SinkProvider):
    """One provider behind two runtimes, as a careless Host might build it."""


@pytest.mark.spec("M5")
@given(messages=st.lists(hostile_messages, max_size=25), speak=st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_sequence_of_messages_raises_or_starts_more_than_was_accepted(
    messages: list[RealmMessage], speak: bool
) -> None:
    """What is raised into the event loop fails `run`. Another port, over the same provider, completes its work."""

    async def main() -> None:
        provider = SharedProvider()
        victim = binding_rig(provider=provider)
        victim.port.arrive(submit(VICTIM))
        await settle()
        starts_before, victims_sink = len(provider.starts), provider.sinks[VICTIM]
        rig = binding_rig(announce=True, limits=FEW, provider=provider)
        sent: list[object] = []
        for message in messages:
            rig.port.arrive(message)
            await settle(5)
            sent += rig.port.take_sent()
            assert rig.runtime.held_activities <= FEW.max_concurrent_activities
            if speak:
                for sink in list(provider.sinks.values()):
                    if sink is not victims_sink:
                        sink.text("x")
        submitted = [message.submission.id for message in messages if isinstance(message, Submit)]
        rejections = sum(isinstance(message, Rejected) for message in sent)
        assert len(provider.starts) - starts_before <= len(submitted) - rejections
        assert VICTIM in submitted or f"cancel {VICTIM}" not in rig.log
        victims_sink.complete("unharmed")
        victim.port.arrive(Poll(64))
        await settle()
        (end,) = events_in(victim.port.sent)
        assert isinstance(end, Completed)
        await rig.close()
        await victim.close()

    run(main())


async def refused(message: RealmMessage) -> tuple[BindingRig, Rejected]:
    rig = binding_rig()
    rig.port.arrive(message)
    await settle()
    (rejected,) = rig.port.take_sent()
    assert isinstance(rejected, Rejected)
    return rig, rejected


@pytest.mark.spec("M5", "D1")
@pytest.mark.parametrize(
    ("message", "field"),
    [
        (submit("i" * 10_000), "id"),
        (submit("\ud800"), "id"),
        (submit(""), "id"),
        (submit(input="lone \udfff"), "input"),
        (submit(session=SessionRef(PROVIDER, "s" * 10_000)), "session"),
        (submit(session=SessionRef(PROVIDER, "\ud800")), "session"),
    ],
    ids=["long id", "surrogate id", "empty id", "surrogate input", "long session", "surrogate session"],
)
def test_ids_and_texts_that_cannot_be_kept_are_rejected_by_field(message: Submit, field: str) -> None:
    async def main() -> None:
        rig, rejected = await refused(message)
        assert (rejected.error.code, rejected.error.detail.field) == ("intelligence-invalid-request", field)
        assert (len(rig.provider.starts), rig.runtime.held_activities) == (0, 0)
        await rig.close()

    run(main())


@pytest.mark.spec("M5", "E2")
def test_a_rejection_does_not_repeat_the_text_that_was_refused() -> None:
    async def main() -> None:
        rig, rejected = await refused(submit(input="CANARY" * 5000))
        assert "CANARY" not in repr(rejected)
        await rig.close()

    run(main())


@pytest.mark.fault("R73")
@pytest.mark.spec("M5")
def test_a_realm_cannot_cancel_an_activity_of_another_port() -> None:
    async def main() -> None:
        provider = SharedProvider()
        victim = binding_rig(provider=provider)
        victim.port.arrive(submit(VICTIM))
        await settle()
        attacker = binding_rig(provider=provider)
        attacker.port.arrive(Cancel(VICTIM))
        await settle()
        assert (attacker.port.sent, victim.runtime.held_activities) == ([], 1)
        assert f"cancel {VICTIM}" not in attacker.log
        await attacker.close()
        await victim.close()

    run(main())


@pytest.mark.fault("R73")
@pytest.mark.spec("M5")
def test_a_realm_cannot_tell_an_activity_of_another_port_from_none() -> None:
    async def main() -> None:
        victim = binding_rig()
        victim.port.arrive(submit(VICTIM))
        attacker = binding_rig()
        answers: list[list[object]] = []
        for id in (VICTIM, "nobody"):
            attacker.port.arrive(Cancel(id), Poll(64))
            await settle()
            answers.append(list(attacker.port.take_sent()))
        assert answers[0] == answers[1]
        await attacker.close()
        await victim.close()

    run(main())


@pytest.mark.fault("R75")
@pytest.mark.spec("M5")
def test_a_realm_that_announces_larger_limits_raises_none() -> None:
    async def main() -> None:
        rig = binding_rig(announce=True, limits=FEW)
        large = IntelligenceLimits(max_input_chars=10**9, max_concurrent_activities=10**9)
        rig.port.arrive(hello(limits=large), submit(input="x" * 21))
        await settle()
        rejected = rig.port.sent[-1]
        assert isinstance(rejected, Rejected)
        assert (rig.runtime.limits, rejected.error.code) == (FEW, "intelligence-invalid-request")
        await rig.close()

    run(main())


@pytest.mark.fault("R71")
@pytest.mark.spec("M5")
def test_a_flood_of_submits_holds_no_more_than_the_limit() -> None:
    async def main() -> None:
        rig = binding_rig(limits=FEW)
        rig.port.arrive(*(submit_apart(number) for number in range(10_000)))
        await settle(300)
        assert (len(rig.provider.starts), rig.runtime.held_activities) == (3, 3)
        await rig.close()

    run(main())


@pytest.mark.fault("R71")
@pytest.mark.spec("M5", "S1")
def test_a_flood_of_messages_does_not_keep_another_port_from_its_answer() -> None:
    """One wake of one port does not do all of its flood in one go, or at least answers in the end."""

    async def main() -> None:
        flooded, honest = binding_rig(limits=FEW), binding_rig()
        flooded.port.arrive(*(Cancel(f"a-{number}") for number in range(10_000)))
        honest.port.arrive(Poll(64))
        await settle(300)
        assert honest.port.sent == [Events(())]
        await flooded.close()
        await honest.close()

    run(main())


@pytest.mark.fault("R71")
@pytest.mark.spec("M5", "S12")
def test_a_flood_of_cancels_asks_the_provider_once() -> None:
    async def main() -> None:
        rig = binding_rig()
        rig.port.arrive(submit(), *[Cancel("a-1")] * 1000)
        await settle(100)
        assert rig.log.count("cancel a-1") == 1
        await rig.close()

    run(main())


@pytest.mark.fault("R77")
@pytest.mark.spec("M5", "S8")
def test_a_realm_that_never_polls_makes_no_queue_grow() -> None:
    async def main() -> None:
        rig = binding_rig(limits=FEW)
        rig.port.arrive(*(submit_apart(number) for number in range(3)))
        await settle()
        for _ in range(30):
            for sink in rig.provider.sinks.values():
                sink.text("x")
        assert rig.runtime.pending_events <= 3 * FEW.max_pending_events_per_activity
        await rig.close()

    run(main())


class ProviderWithASecret(SinkProvider):
    """A provider that tells its key in what it raises."""

    def start(self, submission: ActivitySubmission, sink: ActivitySink) -> Result[None, IntelligenceError]:
        raise ProviderError("authorization: Bearer sk-live-0123456789abcdef0123456789abcdef", reason="auth")


@pytest.mark.fault("R78", "C32")
@pytest.mark.spec("M5", "E2")
def test_a_realm_learns_no_secret_from_a_provider_that_raises_it() -> None:
    async def main() -> None:
        rig = binding_rig(provider=ProviderWithASecret())
        rig.port.arrive(submit(), Poll(64))
        await settle()
        rig.port.arrive(Poll(64))
        await settle()
        assert rig.port.sent
        assert "0123456789abcdef" not in repr(rig.port.sent)
        await rig.close()

    run(main())


@pytest.mark.spec("M5", "B6")
def test_a_message_of_no_known_type_closes_that_port_by_name_and_no_other() -> None:
    async def main() -> None:
        port: HostPortDouble = PortDouble()
        rig, other = binding_rig(port=port), binding_rig()
        port.arrive(untyped(Events(())))
        await settle()
        other.port.arrive(Poll(1))
        await settle()
        assert other.port.sent == [Events(())]
        assert not other.binding.closed
        await rig.close()
        await other.close()

    run(main())


@pytest.mark.spec("M5", "D2")
def test_no_message_of_a_realm_names_a_deadline() -> None:
    fields = {
        name
        for message in (Submit, Poll, Cancel, Close, Hello, ActivitySubmission, IntelligenceLimits)
        for name in message.__struct_fields__
    }
    assert fields.isdisjoint(Deadlines.__struct_fields__)


@pytest.mark.fault("R75")
@pytest.mark.spec("M5", "P4")
def test_no_message_of_a_realm_chooses_a_model_or_a_prompt() -> None:
    assert set(ActivitySubmission.__struct_fields__) == {"id", "session", "input"}


@pytest.mark.spec("M5")
def test_a_realm_that_is_silent_costs_a_host_no_turn() -> None:
    """A bound port that nothing is said to has no timer that runs again and again."""

    async def main() -> None:
        rig = binding_rig(announce=True)
        await settle()
        loop = asyncio.get_running_loop()
        before = loop.time()
        await asyncio.sleep(3600)
        assert (loop.time() - before, rig.port.receives <= 2) == (3600, True)
        await rig.close()

    run(main())


def test_failures_are_made_as_the_package_makes_them() -> None:
    error = IntelligenceError("intelligence-closed")
    assert intelligence_failure(error).code == failure("intelligence-closed").code
