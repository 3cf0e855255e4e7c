"""Rules M1 and M4 with both sides: a client and a binding, over a wire that the test moves."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.port_doubles import kind
from support.port_messages import events_in, granted, text_of
from support.port_rigs import WiredRig, accepted, client_on, wired_rig
from support.port_time import run, settle

from engine_intelligence import (
    Completed,
    IntelligenceEvent,
    IntelligenceLimits,
    bind_intelligence_port,
    create_intelligence_runtime,
)
from engine_intelligence.ports.memory import memory_port_pair
from engine_intelligence.protocol.messages import Poll
from engine_intelligence.providers.scripted import Script, ScriptedProvider


async def frame(rig: WiredRig, max_events: int | None = None) -> list[IntelligenceEvent]:
    """A frame of the game: poll, and let the wire carry what both sides have sent."""
    polled = rig.client.poll(max_events)
    rig.wire.carry_to_host()
    await settle(8)
    rig.wire.carry_to_realm()
    return polled


async def greet(rig: WiredRig) -> None:
    for _ in range(4):
        await frame(rig)


def speak(rig: WiredRig, text: str) -> None:
    for sink in rig.host.provider.sinks.values():
        sink.text(text)


ANNOUNCE = pytest.mark.parametrize("announce", [False, True], ids=["plain", "streaming"])


@pytest.mark.spec("M1", "M4", "S6")
@ANNOUNCE
def test_an_activity_goes_from_submit_to_its_terminal(announce: bool) -> None:
    async def main() -> None:
        rig = wired_rig(announce=announce)
        await greet(rig)
        ref = accepted(rig.client.submit("hello"))
        await frame(rig)
        speak(rig, "hel")
        polled = await frame(rig) + await frame(rig)
        rig.host.provider.sinks[ref.id].complete("hello")
        for _ in range(4):
            polled += await frame(rig)
        assert (text_of(polled, ref.id), polled[-1]) == (
            "hel",
            Completed(ref.id, len(polled), ref.session, "hello"),
        )
        await rig.close()

    run(main())


@pytest.mark.spec("M4", "C3")
def test_two_idle_sides_send_nothing_in_a_thousand_frames() -> None:
    async def main() -> None:
        rig = wired_rig()
        await greet(rig)
        rig.wire.to_host_total.clear()
        rig.wire.to_realm_total.clear()
        for _ in range(1000):
            assert rig.client.poll() == []
            rig.wire.carry_to_host()
            rig.wire.carry_to_realm()
        assert (rig.wire.to_host_total, rig.wire.to_realm_total) == ([], [])
        await rig.close()

    run(main())


@pytest.mark.spec("M4")
def test_without_hello_an_idle_frame_costs_a_poll_and_an_answer_as_in_that_package() -> None:
    async def main() -> None:
        rig = wired_rig(announce=False)
        for _ in range(50):
            await frame(rig)
        polls, answers = len(rig.wire.to_host_total), len(rig.wire.to_realm_total)
        assert (polls, answers) == (50, 50)
        await rig.close()

    run(main())


@pytest.mark.spec("M4", "S11")
@pytest.mark.parametrize(
    ("realm", "host"),
    [(256, 256), (1, 256), (256, 1), (4096, 4), (4, 4096), (2, 2), (3, 2), (100_000, 100_000)],
    ids=lambda value: str(value),
)
def test_a_stream_never_runs_dry_whatever_the_limits_of_both_sides_are(realm: int, host: int) -> None:
    """A Host clamps credit by its own limits; a realm with larger ones must not wait for what was clamped."""

    async def main() -> None:
        rig = wired_rig(
            realm_limits=IntelligenceLimits(max_poll_events=realm),
            host_limits=IntelligenceLimits(max_poll_events=host),
        )
        await greet(rig)
        accepted(rig.client.submit("hello"))
        await frame(rig)
        polled: list[IntelligenceEvent] = []
        for number in range(3000):
            speak(rig, chr(65 + number % 26))
            await settle(3)
            rig.wire.carry_to_realm()
            rig.wire.carry_to_host()
            polled += rig.client.poll()
        rig.host.provider.sinks["a-1"].complete("end")
        for _ in range(10):
            polled += await frame(rig)
        assert text_of(polled) == "".join(chr(65 + number % 26) for number in range(3000))
        assert isinstance(polled[-1], Completed)
        await rig.close()

    run(main())


@pytest.mark.spec("M4", "S8", "S9")
@pytest.mark.parametrize(("realm", "host"), [(4096, 4), (4, 4096), (256, 256)])
def test_many_activities_end_with_a_realm_and_a_host_of_different_limits(realm: int, host: int) -> None:
    async def main() -> None:
        rig = wired_rig(
            realm_limits=IntelligenceLimits(max_poll_events=realm, max_concurrent_activities=64),
            host_limits=IntelligenceLimits(max_poll_events=host, max_concurrent_activities=64),
        )
        await greet(rig)
        for _ in range(64):
            accepted(rig.client.submit("hello"))
        await frame(rig)
        for text in ("one", "two", "three"):
            speak(rig, text)
        for sink in rig.host.provider.sinks.values():
            sink.complete("end")
        polled: list[IntelligenceEvent] = []
        for _ in range(400):
            polled += await frame(rig)
        ends = [event for event in polled if isinstance(event, Completed)]
        assert (len(ends), {text_of(polled, end.activity_id) for end in ends}) == (64, {"onetwothree"})
        await rig.close()

    run(main())


@pytest.mark.spec("M1", "M4")
def test_the_switch_to_a_stream_with_a_poll_in_flight_loses_nothing() -> None:
    async def main() -> None:
        rig = wired_rig()
        await settle()
        rig.client.poll()  # before the Host's hello has arrived
        accepted(rig.client.submit("hello"))
        assert [kind(message) for message in rig.wire.carry_to_host()] == ["poll", "submit"]
        await settle()
        rig.wire.carry_to_realm()
        polled: list[IntelligenceEvent] = []
        for number in range(1000):
            speak(rig, str(number % 10))
            polled += await frame(rig)
        rig.host.provider.sinks["a-1"].complete("end")
        for _ in range(5):
            polled += await frame(rig)
        assert text_of(polled) == "0123456789" * 100
        await rig.close()

    run(main())


moves = st.lists(st.sampled_from(["poll", "poll 1", "to host", "to realm", "text", "turn"]), max_size=60)


@pytest.mark.spec("M4", "D3")
@given(moves=moves)
@settings(max_examples=60, deadline=None)
def test_however_the_wire_delays_no_text_is_lost_and_no_event_sent_beyond_the_credit(
    moves: list[str],
) -> None:
    async def main() -> None:
        rig = wired_rig(
            realm_limits=IntelligenceLimits(max_poll_events=6, max_pending_events_per_activity=3),
            host_limits=IntelligenceLimits(max_poll_events=6, max_pending_events_per_activity=3),
        )
        await settle()
        accepted(rig.client.submit("hello"))
        rig.wire.carry_to_host()
        await settle()
        polled: list[IntelligenceEvent] = []
        said = ""
        for number, move in enumerate(moves):
            match move:
                case "poll":
                    polled += rig.client.poll()
                case "poll 1":
                    polled += rig.client.poll(1)
                case "to host":
                    rig.wire.carry_to_host()
                case "to realm":
                    rig.wire.carry_to_realm()
                case "text":
                    said += str(number % 10)
                    speak(rig, str(number % 10))
                case _:
                    await settle(4)
            sent = [*rig.wire.to_realm_total, *rig.host.port.sent]
            asked = granted(rig.wire.to_host_total)
            assert len(events_in(sent)) <= asked
        rig.host.provider.sinks["a-1"].complete("end")
        for _ in range(20):
            polled += await frame(rig)
        assert text_of(polled) == said
        assert [event.sequence for event in polled] == list(range(1, len(polled) + 1))
        assert isinstance(polled[-1], Completed)
        await rig.close()

    run(main())


@pytest.mark.spec("M4", "C6", "B6")
@ANNOUNCE
def test_a_client_that_closes_ends_its_host_and_its_task(announce: bool) -> None:
    async def main() -> None:
        rig = wired_rig(announce=announce)
        await greet(rig)
        accepted(rig.client.submit("hello"))
        task = rig.client.close()
        rig.wire.carry_to_host()
        await settle()
        rig.wire.carry_to_realm()
        assert task.done
        assert rig.host.binding.closed
        await rig.host.binding.close()
        assert rig.host.log.count("provider close") == 1

    run(main())


@pytest.mark.spec("C5", "M1")
def test_an_idle_realm_of_the_default_deadlines_hears_its_host_in_time() -> None:
    async def main() -> None:
        rig = wired_rig()
        loop = asyncio.get_running_loop()
        await greet(rig)
        start = loop.time()
        while loop.time() - start < 120:
            await asyncio.sleep(0.1)
            rig.wire.carry_to_realm()
            rig.client.poll()
        assert not rig.client.closed
        await rig.close()

    run(main())


@pytest.mark.spec("M2", "M4")
@ANNOUNCE
def test_the_ends_of_one_process_talk_over_a_memory_port(announce: bool) -> None:
    async def main() -> None:
        realm_end, host_end = memory_port_pair()
        provider = ScriptedProvider("p", [Script(deltas=("hel", "lo"))])
        runtime = create_intelligence_runtime(provider, clock=asyncio.get_running_loop().time)
        binding = bind_intelligence_port(host_end, runtime, announce=announce)
        client = client_on(realm_end)
        accepted(client.submit("hi"))
        polled: list[IntelligenceEvent] = []
        for _ in range(8):
            polled += client.poll()
            await settle()
            provider.advance()
        polled += client.poll()
        assert (text_of(polled), polled[-1].type) == ("hello", "completed")
        client.close()
        await settle()
        await binding.close()
        assert client.close().done

    run(main())


@pytest.mark.spec("M4")
def test_a_renewal_is_worth_at_least_half_a_window_or_one_event() -> None:
    async def main() -> None:
        rig = wired_rig()
        await greet(rig)
        accepted(rig.client.submit("hello"))
        for _ in range(600):
            await frame(rig)
            speak(rig, "x")
        grants = [message.max_events for message in rig.wire.to_host_total if isinstance(message, Poll)]
        assert min(grants[2:], default=0) >= max(grants) // 2
        await rig.close()

    run(main())
