"""What both ends of every `MessagePort` do, one behaviour at a time."""

from __future__ import annotations

import re

from engine_intelligence.activity import ActivitySubmission, SessionRef, TextDelta
from engine_intelligence.contracts import PortEnded
from engine_intelligence.protocol.messages import Cancel, Close, Events, HostMessage, RealmMessage, Submit
from engine_intelligence.testing.bounded import until
from engine_intelligence.testing.conformance import Checks, blamed, require
from engine_intelligence.testing.port_stage import PortStage, refused

CHECKS: Checks[PortStage] = Checks()

MANY = 2000
_TEXT = "\U0001f9e0 \u00fcn\u00efcode \x00 \r\n\u2028"
_BIG = "0123456789abcdef" * 2048  # 32 KiB: sixty of them are more than a socket holds
_BIG_MESSAGES = 60
_REASON = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def _submit(number: int, text: str = "hello") -> RealmMessage:
    return Submit(ActivitySubmission(f"a-{number}", SessionRef("check", "s-1"), text))


def _events(number: int, text: str = "x") -> HostMessage:
    return Events((TextDelta("a-1", number, text),))


@CHECKS.about("S6")
async def messages_of_a_realm_come_in_order(stage: PortStage) -> None:
    """All that a realm sends arrives once and in order."""
    sent: list[RealmMessage] = [Cancel(f"a-{number}") for number in range(MANY)]
    stage.from_realm(sent)
    await stage.until(lambda: len(stage.host_received) >= MANY)
    _require_same(sent, stage.host_received)


@CHECKS.about("S6")
async def messages_of_a_host_come_in_order(stage: PortStage) -> None:
    """All that a Host sends arrives once and in order."""
    sent = [_events(number) for number in range(1, MANY + 1)]
    stage.from_host(sent)
    await stage.until(lambda: len(stage.realm_received) >= MANY)
    _require_same(sent, stage.realm_received)


@CHECKS.about("S1", "C3")
async def nothing_has_arrived_where_nothing_was_sent(stage: PortStage) -> None:
    """`receive` of either end returns an empty sequence at once."""
    for _ in range(3):
        stage.receive()
    require(
        not (stage.realm_ended or stage.host_ended),
        "C3",
        f"a new port was over: {stage.realm_ended or stage.host_ended}",
    )
    received = [*stage.realm_received, *stage.host_received]
    require(not received, "C3", f"{len(received)} messages arrived that nobody had sent")


@CHECKS.about("M2")
async def what_arrives_is_equal_to_what_was_sent(stage: PortStage) -> None:
    """What arrives is equal down to its type, with any text in it."""
    stage.from_realm([_submit(1, _TEXT)])
    stage.from_host([_events(1, _TEXT)])
    await stage.until(lambda: bool(stage.host_received and stage.realm_received))
    require(bool(stage.host_received and stage.realm_received), "M2", "a message did not arrive")
    for sent, came in (
        (_submit(1, _TEXT), stage.host_received[0]),
        (_events(1, _TEXT), stage.realm_received[0]),
    ):
        same = type(sent) is type(came) and sent == came
        require(same, "M2", f"{sent!a} was sent, and {ascii(came)[:200]} arrived")


@CHECKS.about("S1")
async def a_send_does_not_wait_for_the_other_end(stage: PortStage) -> None:
    """What is more than the system holds is sent in both directions without the other end reading, and arrives once
    it reads.
    """
    up = [_submit(number, _BIG) for number in range(_BIG_MESSAGES)]
    down = [_events(number, _BIG) for number in range(1, _BIG_MESSAGES + 1)]
    for one, other in zip(up, down, strict=True):
        stage.from_realm([one])
        stage.from_host([other])
    await stage.until(lambda: len(stage.host_received) >= len(up) and len(stage.realm_received) >= len(down))
    _require_same(up, stage.host_received)
    _require_same(down, stage.realm_received)


@CHECKS.about("C5")
async def what_a_host_sent_is_handed_out_before_its_end(stage: PortStage) -> None:
    """What a Host sent before it closed arrives, and then the realm's `receive` raises `PortEnded`."""
    sent = [_events(number) for number in range(1, 4)]
    stage.from_host(sent)
    await stage.end_host(rule="B2")
    await stage.until(lambda: stage.realm_ended is not None)
    require(stage.realm_ended is not None, "C5", "the realm was not told of the end of its Host")
    require(
        stage.realm_received == sent, "C5", f"{len(stage.realm_received)} of {len(sent)} last words arrived"
    )


@CHECKS.about("B6")
async def what_a_realm_sent_is_handed_out_before_its_end(stage: PortStage) -> None:
    """What a realm sent before it closed arrives, and then the Host's `receive` raises `PortEnded`."""
    sent: list[RealmMessage] = [Cancel(f"a-{number}") for number in range(3)]
    stage.from_realm(sent)
    await stage.end_realm(rule="C4")
    await stage.until(lambda: stage.host_ended is not None)
    require(stage.host_ended is not None, "B6", "the Host was not told of the end of its realm")
    # A port may say of itself that it is closed.
    came = [message for message in stage.host_received if not isinstance(message, Close)]
    require(came == sent, "B6", f"{len(came)} of {len(sent)} last words arrived")


@CHECKS.about("C4", "C5")
async def a_closed_end_of_a_realm_is_over(stage: PortStage) -> None:
    """Closing it twice is closing it once; then `send` and `receive` raise `PortEnded`."""
    for _ in range(2):
        await stage.close_realm(rule="C4")
    realm = stage.pair.realm
    refused(lambda: realm.send(Cancel("a-1")), "C5", "send() of a closed end of a realm")
    refused(realm.receive, "C5", "receive() of a closed end of a realm")


@CHECKS.about("B2", "B3")
async def a_closed_end_of_a_host_is_over(stage: PortStage) -> None:
    """Closing it twice is closing it once; then `send` and `receive` raise `PortEnded`."""
    for _ in range(2):
        await stage.close_host(rule="B2")
    host = stage.pair.host
    refused(lambda: host.send(_events(1)), "B3", "send() of a closed end of a Host")
    refused(host.receive, "B3", "receive() of a closed end of a Host")


@CHECKS.about("C5")
async def a_realm_cannot_send_after_the_end(stage: PortStage) -> None:
    """Once the Host's end was seen, `send` raises `PortEnded`, and so does every further `receive`."""
    await stage.end_host(rule="B2")
    await stage.until(lambda: stage.realm_ended is not None)
    require(stage.realm_ended is not None, "C5", "the realm was not told of the end of its Host")
    realm = stage.pair.realm
    refused(lambda: realm.send(Cancel("a-1")), "C5", "send() after the end")
    refused(realm.receive, "C5", "a further receive() after the end")


@CHECKS.about("B3")
async def a_host_cannot_send_after_the_end(stage: PortStage) -> None:
    """Once the realm's end was seen, `send` raises `PortEnded`, and so does every further `receive`."""
    await stage.end_realm(rule="C4")
    await stage.until(lambda: stage.host_ended is not None)
    require(stage.host_ended is not None, "B6", "the Host was not told of the end of its realm")
    host = stage.pair.host
    refused(lambda: host.send(_events(1)), "B3", "send() after the end")
    refused(host.receive, "B3", "a further receive() after the end")


@CHECKS.about("C7")
async def the_end_has_a_name_and_a_sentence(stage: PortStage) -> None:
    """`reason` is a name in kebab-case, and `message` a sentence for a log."""
    await stage.end_host(rule="B2")
    await stage.until(lambda: stage.realm_ended is not None)
    end = stage.realm_ended or PortEnded("", "")
    require(bool(_REASON.fullmatch(end.reason)), "C7", f"the reason of the end is {end.reason!r}")
    require(len(end.message.split()) >= 3, "C7", f"the message of the end is {end.message!r}")


@CHECKS.about("M4")
async def a_host_is_woken_by_a_message(stage: PortStage) -> None:
    """What was given to `listen` is called once something has arrived."""
    wakes: list[int] = []
    stage.pair.host.listen(lambda: wakes.append(1))
    stage.from_realm([_submit(1)])
    woken = await until(lambda: bool(wakes), stage.within_s)
    stage.pair.host.listen(None)
    require(woken, "M4", "a Host that listens was not woken by a message")


@CHECKS.about("B6")
async def a_host_is_woken_by_the_end_of_its_realm(stage: PortStage) -> None:
    """What was given to `listen` is called at the end of the realm, and `receive` then raises `PortEnded`."""
    wakes: list[int] = []
    stage.pair.host.listen(lambda: wakes.append(1))
    await stage.end_realm(rule="C4")
    woken = await until(lambda: bool(wakes), stage.within_s)
    require(woken, "B6", "a Host that listens was not woken by the end of its realm")
    await stage.until(lambda: stage.host_ended is not None)
    require(stage.host_ended is not None, "B6", "the Host was not told of the end of its realm")


@CHECKS.about("B2")
async def who_stopped_listening_is_not_woken(stage: PortStage) -> None:
    """After `listen(None)` nothing is called."""
    wakes: list[int] = []
    stage.pair.host.listen(lambda: wakes.append(1))
    stage.pair.host.listen(None)
    stage.from_realm([_submit(1)])
    await stage.until(lambda: bool(stage.host_received))
    require(not wakes, "B2", "a Host that had stopped listening was woken")


@CHECKS.about("C6")
async def a_realm_waits_only_as_long_as_it_says(stage: PortStage) -> None:
    """`idle` of a realm's end returns by itself where nothing arrives, and then there is nothing to receive."""
    with stage.watch.at("C6", "idle(0.01)"), blamed("C6", "idle(0.01)"):
        stage.pair.realm.idle(0.01)
    stage.receive()
    require(not stage.realm_received, "C3", "something arrived that nobody had sent")


def _require_same(
    sent: list[RealmMessage] | list[HostMessage], came: list[RealmMessage] | list[HostMessage]
) -> None:
    if came == sent:
        return
    differs = next((at for at, pair in enumerate(zip(sent, came, strict=False)) if pair[0] != pair[1]), None)
    where = "" if differs is None else f"; message {differs + 1} is another one"
    require(False, "S6", f"{len(came)} messages arrived of {len(sent)}{where}")
