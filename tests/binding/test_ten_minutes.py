"""A game that does not poll for ten minutes while its Activities go on (rules S8, S11, M4)."""

import asyncio

import pytest
from support.port_messages import events_in, text_of
from support.port_rigs import WiredRig, accepted, wired_rig
from support.port_time import run, settle

from engine_intelligence import Deadlines, IntelligenceEvent

SECONDS = 600
ACTIVITIES = 8


def carry(rig: WiredRig) -> None:
    rig.wire.carry_to_host()
    rig.wire.carry_to_realm()


@pytest.mark.fault("C5", "R51")
@pytest.mark.spec("S8", "S9", "S11", "M4")
@pytest.mark.parametrize("announce", [False, True], ids=["plain", "streaming"])
def test_ten_minutes_without_a_poll_cost_a_bounded_amount_and_no_text(announce: bool) -> None:
    async def main() -> None:
        rig = wired_rig(announce=announce, deadlines=Deadlines(activity_s=3600.0))
        for _ in range(4):
            rig.client.poll()
            carry(rig)
            await settle()
        ids = [accepted(rig.client.submit("hello")).id for _ in range(ACTIVITIES)]
        carry(rig)
        await settle()
        said = ""
        rig.wire.to_realm_total.clear()
        most_at_the_host = 0
        for second in range(SECONDS):
            for _ in range(5):
                said += f"{second} "
                for id in ids:
                    rig.host.provider.sinks[id].text(f"{second} ")
            await asyncio.sleep(1.0)
            carry(rig)
            most_at_the_host = max(most_at_the_host, rig.host.runtime.pending_events)
        on_the_way = len(events_in(rig.wire.to_realm_total))
        for id in ids:
            rig.host.provider.sinks[id].complete(said)
        heard: list[IntelligenceEvent] = []
        for _ in range(50):
            heard += rig.client.poll()
            carry(rig)
            await settle()
        limits = rig.client.limits
        assert most_at_the_host <= ACTIVITIES * limits.max_pending_events_per_activity
        assert on_the_way <= limits.max_poll_events
        assert [text_of(heard, id) == said for id in ids] == [True] * ACTIVITIES
        assert [event.type for event in heard].count("completed") == ACTIVITIES
        await rig.close()

    run(main())
