"""Rule M5 against a Host that runs: so many messages that a Host which keeps any of them would be seen to.

After each flood the honest port of the same connection works, and the Host holds no more than before.
"""

import os

import pytest
from support.hostile_town import Victim, unharmed
from support.port_messages import hello, submit
from support.raw_game import RawGame

from engine_intelligence import SessionRef, TextDelta
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import CONTROL_CHANNEL, encode_frame
from engine_intelligence.protocol.messages import Cancel, Close, Events, Poll

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="a socket is taken that a Host inherits"),
]

MANY = 100_000


# So many answers at once stay below the 16 MiB that a Host keeps for a realm that reads more slowly than it writes.
AT_ONCE = 20_000


def repeated(victim: Victim, *messages: object, times: int) -> bytes:
    frames = b"".join(encode_frame(victim.channel, encode_msgpack(message)) for message in messages)
    return frames * times


@pytest.mark.fault("R71")
@pytest.mark.spec("S8", "M5")
def test_of_a_hundred_thousand_submits_as_many_run_as_there_are_places(victim: Victim) -> None:
    """The others are rejected, one by one."""
    for start in range(0, MANY, AT_ONCE):
        submits = [
            submit(f"a-{number}", "talk", SessionRef(victim.provider_id, f"s-{number}"))
            for number in range(start, start + AT_ONCE)
        ]
        victim.tell(*submits)
        victim.rejections(start + AT_ONCE - 8)
    rejections = victim.rejections(MANY - 8)
    assert [rejection.error.code for rejection in rejections] == ["intelligence-capacity-exceeded"] * (
        MANY - 8
    )


@pytest.mark.fault("R71", "R72")
@pytest.mark.spec("M5")
def test_twenty_thousand_submits_of_one_id_start_it_once(victim: Victim) -> None:
    message = submit("a", "talk", SessionRef(victim.provider_id, "s"))
    victim.game.write(repeated(victim, message, times=AT_ONCE))
    assert {rejection.error.detail.field for rejection in victim.rejections(AT_ONCE - 1)} == {"id"}


@pytest.mark.fault("R71")
@pytest.mark.spec("S13", "M5")
def test_a_hundred_thousand_cancels_of_nothing_are_answered_by_nothing(victim: Victim) -> None:
    victim.game.write(repeated(victim, Cancel("nobody"), Cancel("nobody-else"), times=MANY // 2))
    victim.until_idle()
    assert len(victim.game.heard[victim.channel]) == 1  # the Host's hello


@pytest.mark.spec("M4", "M5")
def test_a_hundred_thousand_polls_are_answered_one_by_one_in_answer_mode(victim: Victim) -> None:
    victim.game.write(repeated(victim, Poll(256), times=MANY))
    victim.game.hear(lambda: len(victim.game.heard[victim.channel]) > MANY, "an answer to each poll")
    assert victim.game.heard[victim.channel][1:] == [Events(())] * MANY


@pytest.mark.fault("R71")
@pytest.mark.spec("M4", "M5")
def test_a_hundred_thousand_grants_are_answered_by_nothing_in_stream_mode(victim: Victim) -> None:
    victim.tell(hello(victim.provider_id))
    victim.game.write(repeated(victim, Poll(2**40), times=MANY))
    victim.until_idle()
    assert victim.game.answers(victim.channel) == 0


@pytest.mark.spec("S8", "S12", "M5")
def test_four_thousand_activities_that_are_cancelled_at_once_each_end_once(victim: Victim) -> None:
    victim.tell(hello(victim.provider_id), Poll(30_000))
    ended: list[str] = []
    for start in range(0, 4000, 8):
        ids = [f"a-{number}" for number in range(start, start + 8)]
        for id in ids:
            victim.submit(id, "talk")
        victim.tell(*(Cancel(id) for id in ids))
        victim.game.hear(lambda: len(ends(victim)) >= 8, "the end of each")
        ended += ends(victim)
        victim.game.heard[victim.channel].clear()
    assert sorted(ended) == sorted(f"a-{number}" for number in range(4000))


def ends(victim: Victim) -> list[str]:
    """The ids of the Activities that ended."""
    events = victim.game.events(victim.channel)
    return [event.activity_id for event in events if not isinstance(event, TextDelta)]


# Providers that there are not

NAMES = {
    "a path": "../../../../etc/passwd",
    "a URL": "https://example.invalid/v1?key=sk-CANARY",
    "a look-alike": "honеst",
    "a full-width name": "ｈｏｎｅｓｔ",
    "another case": "HONEST",
    "a zero behind it": "honest\0",
    "a blank behind it": "honest ",
    "nothing": "",
    "a template": "{self.__class__} %s ${HOME} $(id)",
    "escapes of a terminal": "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e",
    "the longest": "\U0001f9e0" * 256,
}


@pytest.mark.fault("R75")
@pytest.mark.spec("M5", "H4")
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_provider_that_there_is_not_is_refused_on_its_port_in_printable_words(
    town: RawGame, name: str
) -> None:
    with unharmed(town):
        channel = town.open(name)
        assert town.why_closed(channel) == "unknown-provider"
        printable = town.closing_message(channel).replace("\U0001f9e0", "")
        assert printable.isascii() or printable.isprintable()


@pytest.mark.spec("M5", "H3")
def test_a_provider_that_has_a_port_gets_no_second_one_not_even_when_the_first_is_closed(
    town: RawGame, victim: Victim
) -> None:
    second = town.open(victim.provider_id)
    assert town.why_closed(second) == "provider-in-use"
    victim.tell(Close())
    town.why_closed(victim.channel)
    third = town.open(victim.provider_id)
    assert town.why_closed(third) == "provider-in-use"


@pytest.mark.fault("R79")
@pytest.mark.spec("M5")
def test_ports_that_are_opened_and_closed_in_haste_are_each_refused_once(town: RawGame) -> None:
    """As many as fit on the connection besides those of the other tests; what follows on a closed port is ignored."""
    with unharmed(town):
        channels = [town.open(f"nobody-{number}") for number in range(900)]
        for channel in channels:
            town.tell(channel, Close(), Poll(1), hello(), submit(), Cancel("a-1"), Close())
        assert {town.why_closed(channel) for channel in channels} == {"unknown-provider"}
        assert {len(town.heard[channel]) for channel in channels} == {1}
    assert town.heard[CONTROL_CHANNEL] == []
