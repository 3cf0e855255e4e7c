"""Memory runs out at any call of C code while a Host handles a message or sends events (rules M5, S6, B3)."""

import asyncio
from collections.abc import Callable

import pytest
from support.port_doubles import kind
from support.port_messages import events_in, hello, submit
from support.port_rigs import BindingRig, binding_rig
from support.port_time import VirtualTimeLoop, run, settle
from support.raising import starved_at

from engine_intelligence import Deadlines, IntelligenceEvent, TextDelta
from engine_intelligence.protocol.messages import Cancel, HostMessage, Poll, RealmMessage

DEADLINES = Deadlines(activity_s=60.0, close_grace_s=1.0)


async def rig_with(*messages: RealmMessage) -> BindingRig:
    """A binding that streams to its realm, and at whose port these messages lie unread."""
    rig = binding_rig(announce=True, deadlines=DEADLINES)
    await settle()
    rig.port.arrive(hello(), submit("running"), Poll(100))
    await settle()
    rig.port.take_sent()
    wake, rig.port.far.wake = rig.port.far.wake, None
    rig.port.arrive(*messages)
    rig.port.far.wake = wake
    return rig


def look(rig: BindingRig) -> None:
    assert rig.port.wake is not None
    rig.port.wake()


def speak(rig: BindingRig) -> None:
    rig.provider.sinks["running"].text("Halt! ")
    rig.binding._turn()  # pyright: ignore[reportPrivateUsage] - what the event loop calls next


CASES: dict[str, tuple[Callable[[BindingRig], None], tuple[RealmMessage, ...]]] = {
    "a submit arrives": (look, (submit("next"),)),
    "a cancel arrives": (look, (Cancel("running"),)),
    "credit arrives": (look, (Poll(10),)),
    "a provider speaks": (speak, ()),
}


def ends_of(messages: list[HostMessage], id: str) -> list[str]:
    """How an Activity ended, as far as the realm was told."""
    events: list[IntelligenceEvent] = events_in(messages)
    ends = [e.type for e in events if e.activity_id == id and not isinstance(e, TextDelta)]
    return ends + ["rejected" for message in messages if kind(message) == "rejected"]


@pytest.mark.fault("R59")
@pytest.mark.spec("M5", "S6", "S15")
@pytest.mark.parametrize("case", CASES)
def test_every_activity_still_ends_once_or_its_port_is_closed(case: str) -> None:
    call, messages = CASES[case]

    async def main() -> None:
        whole = await rig_with(*messages)
        calls = starved_at(0, lambda: call(whole))
        await whole.close()
        assert calls > 5
        for number in range(1, calls + 1):
            rig = await rig_with(*messages)
            starved_at(number, lambda rig=rig: call(rig))  # type: ignore[misc]
            await settle()
            # Long after every deadline: what the Host has lost count of would still be held.
            for _ in range(3):
                await asyncio.sleep(DEADLINES.activity_s)
                if not rig.binding.closed:
                    rig.port.arrive(Poll(100))
                    await settle()
            sent = list(rig.port.sent)
            if rig.binding.closed:
                await rig.binding.close()
                assert rig.port.closes == 1
            else:
                assert len(ends_of(sent, "running")) == 1, number
                assert rig.runtime.held_activities == 0, number
            assert all(len(ends_of(sent, id)) <= 1 for id in ("running", "next"))
            await rig.close()

    run(main())


@pytest.mark.fault("R63")
@pytest.mark.spec("M4", "C5")
def test_a_jump_of_the_clock_makes_one_heartbeat_and_no_flood_of_them() -> None:
    async def main() -> None:
        rig = await rig_with()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop._jump(3600.0)  # pyright: ignore[reportPrivateUsage] - as of a machine that was suspended
        await settle()
        assert [kind(message) for message in rig.port.take_sent()].count("heartbeat") == 1
        await rig.close()

    run(main())
