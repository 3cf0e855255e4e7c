"""Frames that are lost, repeated, swapped or replayed on their way to a realm, and halves of frames (rules D3, M3, C5)."""

import random
from collections.abc import Sequence

import pytest
from support.port_messages import PROVIDER, completed, delta, events, hello
from support.port_rigs import accepted, client_on, refusal_of
from support.port_streams import RawHost, raw_host

from engine_intelligence import (
    Completed,
    Deadlines,
    Failed,
    IntelligenceEvent,
    IntelligencePortClient,
    TextDelta,
)
from engine_intelligence.protocol.codec import encode_msgpack
from engine_intelligence.protocol.framing import encode_frame
from engine_intelligence.testing import ManualClock

WORDS = [f"{n} " for n in range(12)]
WHOLE = "".join(WORDS)
DEADLINES = Deadlines(activity_s=60.0, close_grace_s=1.0, unresponsive_s=10.0, first_text_s=20.0)


def sent(channel: int = 1) -> list[bytes]:
    """The frames of an Activity, each with one event."""
    messages = [events(delta(n, word)) for n, word in enumerate(WORDS, 1)]
    messages.append(events(completed(len(WORDS) + 1, WHOLE)))
    return [encode_frame(channel, encode_msgpack(message)) for message in messages]


def disturbed(kind: str, frames: list[bytes], chance: random.Random) -> list[bytes]:
    at = chance.randrange(len(frames))
    match kind:
        case "lost":
            return frames[:at] + frames[at + 1 :]
        case "repeated":
            return frames[: at + 1] + frames[at:]
        case "swapped":
            at = chance.randrange(len(frames) - 1)
            return [*frames[:at], frames[at + 1], frames[at], *frames[at + 2 :]]
        case "replayed":
            return frames[: at + 1] + frames[: at + 1] + frames[at + 1 :]
        case _:
            raise AssertionError(kind)


class Realm:
    def __init__(self) -> None:
        self.host: RawHost = raw_host()
        self.clock = ManualClock()
        self.client: IntelligencePortClient = client_on(
            self.host.stream.open(PROVIDER), clock=self.clock, deadlines=DEADLINES
        )

    def hear(self, frames: Sequence[bytes]) -> list[IntelligenceEvent]:
        """What a game polls of these frames."""
        self.host.sock.sendall(b"".join(frames))
        return [event for _ in range(4) for event in self.client.poll()]

    def reason(self) -> str | None:
        return refusal_of(self.client.submit("anyone?")).detail.reason


@pytest.mark.fault("R30")
@pytest.mark.spec("D3", "S6", "C5")
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["lost", "repeated", "swapped", "replayed"])
def test_a_text_is_whole_and_in_order_or_the_client_is_closed(kind: str, seed: int) -> None:
    realm = Realm()
    accepted(realm.client.submit("one"))
    heard = realm.hear(disturbed(kind, sent(), random.Random(f"{kind} {seed}")))
    realm.clock.advance(DEADLINES.activity_s + DEADLINES.close_grace_s)
    heard += realm.client.poll()
    ends = [event for event in heard if not isinstance(event, TextDelta)]
    text = "".join(event.text for event in heard if isinstance(event, TextDelta))
    assert WHOLE.startswith(text)
    if ends:
        # A second end is late and ignored; the loss of the only one is found by the deadline.
        assert len(ends) == 1
        assert isinstance(ends[0], Completed | Failed)
        assert text == WHOLE
    else:
        assert realm.reason() == "sequence-broken"
    realm.host.close()


@pytest.mark.fault("R30")
@pytest.mark.spec("M5", "S6")
def test_what_is_replayed_from_another_port_is_ignored() -> None:
    realm = Realm()
    other = client_on(realm.host.stream.open("other"), clock=realm.clock, provider_id="other")
    accepted(other.submit("hello"))
    heard = realm.hear(sent(channel=1))
    assert heard == []
    assert not realm.client.closed
    realm.host.close()


@pytest.mark.fault("R27")
@pytest.mark.spec("C5")
def test_half_a_frame_and_then_silence_is_the_silence_of_the_host() -> None:
    realm = Realm()
    accepted(realm.client.submit("one"))
    realm.hear([encode_frame(1, encode_msgpack(hello())), sent()[0], sent()[1][:-3]])
    for _ in range(int(DEADLINES.unresponsive_s)):
        realm.clock.advance(1.0)
        realm.client.poll()
    assert realm.reason() == "unresponsive"
    realm.host.close()


@pytest.mark.fault("R27")
@pytest.mark.spec("C5")
def test_a_frame_that_drips_and_is_never_whole_counts_as_silence() -> None:
    realm = Realm()
    realm.hear([encode_frame(1, encode_msgpack(hello()))])
    drops = iter(encode_frame(1, b"x" * 100))
    for _ in range(int(DEADLINES.unresponsive_s)):
        realm.host.sock.send(bytes([next(drops)]))
        realm.clock.advance(1.0)
        realm.client.poll()
    assert realm.reason() == "unresponsive"
    realm.host.close()


@pytest.mark.fault("R27", "R3")
@pytest.mark.spec("S6")
def test_half_a_frame_before_any_other_ends_an_activity_by_its_first_deadline() -> None:
    realm = Realm()
    accepted(realm.client.submit("one"))
    realm.hear([encode_frame(1, encode_msgpack(hello()))[:9]])
    realm.clock.advance(DEADLINES.first_text_s)
    (failed,) = realm.client.poll()
    assert isinstance(failed, Failed)
    assert failed.error.detail.reason == "timeout"
    realm.host.close()


@pytest.mark.fault("C22", "R24")
@pytest.mark.spec("M3", "D1")
def test_a_character_of_several_bytes_is_whole_wherever_the_connection_splits_it() -> None:
    word = "grüß 門番 🏰👩🏽‍🚀"
    frames = b"".join(encode_frame(1, encode_msgpack(events(delta(n, word)))) for n in (1, 2))
    for split in range(1, len(frames)):
        realm = Realm()
        accepted(realm.client.submit("one"))
        heard = realm.hear([frames[:split]]) + realm.hear([frames[split:]])
        assert [event.text for event in heard if isinstance(event, TextDelta)] == [word, word]
        realm.host.close()
