"""Rules C4 to C7: every way in which a client ends, and what is left then, which is nothing."""

import asyncio
import copy
import pickle
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.port_messages import completed, delta, events, failure, hello
from support.port_rigs import ClientRig, client_rig, refusal_of
from support.port_time import run

from engine_intelligence import ActivityRef, Deadlines, IntelligenceError, PortEnded, Result
from engine_intelligence.protocol.codec import ProtocolError
from engine_intelligence.protocol.messages import Closed, Events, HostMessage, Poll, Rejected
from engine_intelligence.testing import Raise

GRACE_S = 5.0


def assert_terminal(rig: ClientRig) -> None:
    """The state that every end leaves."""
    assert rig.client.closed
    assert rig.client.held_activities == 0
    assert rig.client.poll() == []
    assert rig.closed_code() == "intelligence-closed"
    cancelled = refusal_of(rig.client.cancel("a-1"))
    assert cancelled.code == "intelligence-closed"
    assert rig.port.closes == 1
    assert rig.port.wake is None


def every_call(rig: ClientRig) -> None:
    """Each call of the service, one after the other."""
    rig.client.poll()
    rig.client.submit("x")
    rig.client.cancel("a-1")
    rig.client.close()


def busy_rig(**hello_or_not: object) -> ClientRig:
    """A client with one of everything: an active Activity, a rejected one, buffered events, credit outstanding."""
    rig = client_rig(hello=hello()) if hello_or_not.get("greeted") else client_rig()
    for _ in range(3):
        rig.submit()
    rig.client.poll()
    rig.port.arrive(
        events(delta(1, "buffered", "a-1"), completed(1, "buffered", "a-2")), Rejected("a-3", failure())
    )
    rig.client.cancel("nobody")  # takes them in without delivering
    rig.port.take_sent()
    return rig


Ending = Callable[[ClientRig], object]


def host_closes(rig: ClientRig) -> object:
    rig.port.arrive(Closed())
    return rig.client.closed


def port_ends(rig: ClientRig) -> object:
    rig.port.end()
    return rig.client.closed


def port_raises(rig: ClientRig) -> object:
    rig.port.at_receive(Raise(OSError("the test makes receive raise")))
    return rig.client.closed


def frame_is_garbled(rig: ClientRig) -> object:
    rig.port.at_receive(Raise(ProtocolError("frame-garbled", "a frame arrived that is not a message")))
    return rig.client.closed


def sequence_breaks(rig: ClientRig) -> object:
    rig.port.arrive(events(delta(9, id="a-1")))
    return rig.client.closed


def submit_raises(rig: ClientRig) -> Result[ActivityRef, IntelligenceError]:
    rig.port.fail("submit")
    return rig.client.submit("hello")


def cancel_raises(rig: ClientRig) -> Result[None, IntelligenceError]:
    rig.port.fail("cancel")
    return rig.client.cancel("a-1")


def poll_raises(rig: ClientRig) -> object:
    rig.port.arrive(Events(()))  # frees the next poll
    rig.port.fail("poll")
    return rig.client.poll()


def close_raises(rig: ClientRig) -> object:
    rig.port.fail("close")
    return rig.client.close()


def close_is_answered(rig: ClientRig) -> object:
    task = rig.client.close()
    rig.port.arrive(Closed())
    return task.done


def close_is_not_answered(rig: ClientRig) -> object:
    task = rig.client.close()
    rig.clock.advance(GRACE_S)
    return task.done


def port_ends_in_close(rig: ClientRig) -> object:
    task = rig.client.close()
    rig.port.end()
    return task.done


ENDINGS: list[Ending] = [
    host_closes,
    port_ends,
    port_raises,
    frame_is_garbled,
    sequence_breaks,
    submit_raises,
    cancel_raises,
    poll_raises,
    close_raises,
    close_is_answered,
    close_is_not_answered,
    port_ends_in_close,
]
every_ending = pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.__name__)


# C4, C5: the state that is left


@pytest.mark.spec("C4", "C5", "C6")
@every_ending
def test_every_end_leaves_the_same_empty_state_and_releases_the_port_once(ending: Ending) -> None:
    rig = busy_rig()
    ending(rig)
    assert_terminal(rig)


@pytest.mark.spec("C4", "C5", "C6")
@every_ending
def test_a_port_that_cannot_be_released_changes_nothing_of_that(ending: Ending) -> None:
    rig = busy_rig()
    rig.port.close_fault = OSError("the test makes close raise")
    ending(rig)
    assert_terminal(rig)


@pytest.mark.spec("C4", "C5", "C6")
@every_ending
def test_after_every_end_nothing_is_sent(ending: Ending) -> None:
    rig = busy_rig()
    ending(rig)
    rig.port.take_sent()
    every_call(rig)
    assert rig.port.sent == []


@pytest.mark.spec("C4", "C5", "C6")
@every_ending
def test_after_every_end_the_port_is_not_read_again(ending: Ending) -> None:
    rig = busy_rig()
    ending(rig)
    before = rig.port.receives
    rig.port.arrive(events(delta(2)), hello())
    every_call(rig)
    assert (rig.client.closed, rig.port.receives) == (True, before)


@pytest.mark.spec("C6")
@every_ending
def test_after_every_end_close_gives_one_task_that_is_done(ending: Ending) -> None:
    rig = busy_rig()
    ending(rig)
    tasks = [rig.client.close() for _ in range(3)]
    assert all(task is tasks[0] for task in tasks)
    assert tasks[0].done


@pytest.mark.spec("C7")
@every_ending
def test_after_every_end_the_reason_is_a_sentence(ending: Ending) -> None:
    rig = busy_rig()
    ending(rig)
    reason = rig.client.close_reason
    assert reason is not None
    assert len(reason.split()) >= 3
    assert "\n" not in reason
    assert "Traceback" not in reason


@pytest.mark.spec("C5")
@pytest.mark.parametrize("ending", [submit_raises, cancel_raises], ids=lambda ending: ending.__name__)
def test_the_call_in_hand_gives_closed(
    ending: Callable[[ClientRig], Result[object, IntelligenceError]],
) -> None:
    assert refusal_of(ending(busy_rig())).code == "intelligence-closed"


@pytest.mark.spec("C5")
def test_the_events_picked_for_a_poll_whose_credit_cannot_be_sent_are_discarded() -> None:
    rig = busy_rig()
    assert poll_raises(rig) == []


@pytest.mark.spec("C5", "M4")
def test_a_renewal_that_cannot_be_sent_while_streaming_discards_the_events_of_that_poll() -> None:
    rig = client_rig(hello=hello())
    rig.submit()
    rig.client.poll()
    rig.port.fail("poll")
    rig.port.arrive(events(*(delta(n) for n in range(1, 257))))
    assert rig.client.poll() == []
    assert_terminal(rig)


@pytest.mark.spec("C5")
def test_a_hello_that_cannot_be_answered_ends_the_client() -> None:
    rig = client_rig()
    rig.submit()
    rig.port.fail("hello")
    rig.port.arrive(hello())
    assert rig.client.poll() == []
    assert_terminal(rig)


@pytest.mark.spec("C5", "S10")
def test_a_cancel_of_an_overflow_that_cannot_be_sent_ends_the_client() -> None:
    rig = client_rig()
    rig.submit()
    rig.port.fail("cancel")
    rig.port.arrive(events(delta(1, "x" * 65537)))
    assert rig.client.poll() == []
    assert_terminal(rig)


FAULTS = [
    RuntimeError("boom"),
    OSError(32, "Broken pipe"),
    PortEnded("peer-closed", "the other end is gone"),
    ValueError("too large"),
    MemoryError(),
    RecursionError(),
]


@pytest.mark.spec("C5", "D4")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize("place", ["submit", "cancel", "poll", "close", "receive"])
def test_no_call_raises_whatever_the_port_raises(fault: Exception, place: str) -> None:
    rig = busy_rig()
    rig.port.arrive(Events(()))
    rig.port.fault = fault
    if place == "receive":
        rig.port.at_receive(Raise(fault))
    else:
        rig.port.fail(place)
    every_call(rig)
    assert rig.port.closes == 1


@pytest.mark.spec("C5", "C6")
@given(failing=st.integers(1, 12), calls=st.lists(st.sampled_from("spcxah"), max_size=16))
def test_whichever_publication_raises_the_port_is_released_at_most_once(
    failing: int, calls: list[str]
) -> None:
    """Every call in every order; the n-th publication raises. Nothing is raised, and nothing is sent after it."""
    rig = client_rig()
    rig.port.at_send(Raise(rig.port.fault), when=failing)
    for call in calls:
        match call:
            case "s":
                rig.client.submit("x")
            case "p":
                rig.client.poll()
            case "c":
                rig.client.cancel("a-1")
            case "x":
                rig.client.close()
            case "a":
                rig.port.arrive(Events(()))
            case _:
                rig.port.arrive(hello())
    raised = sum(entry.startswith("send") for entry in rig.port.log) >= failing
    assert rig.port.closes <= 1
    if raised:
        assert_terminal(rig)
        assert len(rig.port.sent) == failing - 1


@pytest.mark.spec("C4", "C5")
def test_what_had_arrived_before_the_end_is_delivered_where_the_port_merely_ended() -> None:
    """A killed Host: its last messages are in the pipe, the terminal too, and no credit is due."""
    rig = client_rig(hello=hello())
    rig.submit()
    rig.client.poll()
    rig.port.arrive(events(delta(1, "last words"), completed(2, "last words")))
    rig.port.end()
    assert len(rig.client.poll()) == 2
    assert rig.client.poll() == []
    assert_terminal(rig)


@pytest.mark.spec("C4")
@every_ending
def test_after_every_end_the_buffered_text_is_let_go(ending: Ending) -> None:
    text = "".join(["buffered "] * 100)  # made here, so that nothing else has it
    rig = client_rig()
    rig.submit()
    rig.client.poll()
    before = sys.getrefcount(text)
    rig.port.arrive(events(delta(1, text)))
    rig.client.cancel("nobody")  # takes it in without delivering
    ending(rig)
    rig.port.fault.__traceback__ = None  # it holds the frames that the fault went through
    assert sys.getrefcount(text) == before


# C6: the close task


@pytest.mark.spec("C6")
def test_close_tells_the_host_once() -> None:
    rig = client_rig()
    rig.client.close()
    rig.client.close()
    assert rig.port.sent_kinds == ["close"]


@pytest.mark.spec("C6")
def test_close_is_not_done_before_the_host_has_answered() -> None:
    rig = client_rig()
    task = rig.client.close()
    rig.clock.advance(GRACE_S - 0.01)
    assert not task.done


@pytest.mark.spec("C6")
def test_close_is_done_when_the_host_has_answered() -> None:
    rig = client_rig()
    task = rig.client.close()
    rig.port.arrive(Closed())
    assert task.done


@pytest.mark.spec("C6")
def test_other_messages_of_the_host_do_not_end_a_close() -> None:
    rig = client_rig()
    rig.submit()
    task = rig.client.close()
    rig.port.arrive(events(delta(1)), Rejected("a-1", failure()), hello())
    assert not task.done


@pytest.mark.fault("R12")
@pytest.mark.spec("C6")
@pytest.mark.parametrize("grace_s", [0.25, 5.0, 60.0])
def test_close_is_done_within_the_grace_if_the_host_never_answers(grace_s: float) -> None:
    rig = client_rig(deadlines=Deadlines(close_grace_s=grace_s))
    task = rig.client.close()
    rig.clock.advance(grace_s)
    assert task.done
    assert rig.port.closes == 1


@pytest.mark.spec("C6")
def test_a_host_that_goes_on_talking_does_not_put_off_the_end_of_a_close() -> None:
    rig = client_rig(hello=hello())
    task = rig.client.close()
    for _ in range(10):
        rig.clock.advance(GRACE_S / 10)
        rig.port.arrive(Events(()))
        _ = task.done
    assert task.done


@pytest.mark.spec("C4", "C6")
@pytest.mark.parametrize("look", ["closed", "poll", "submit", "cancel"])
def test_the_notice_that_answers_a_close_releases_the_port_at_the_next_look(look: str) -> None:
    """A game that goes on with its frames does not have to keep the close task for the port to be released."""
    rig = client_rig()
    rig.client.close()
    rig.port.arrive(Closed())
    looks: dict[str, Callable[[], object]] = {
        "closed": lambda: rig.client.closed,
        "poll": rig.client.poll,
        "submit": lambda: rig.client.submit("x"),
        "cancel": lambda: rig.client.cancel("x"),
    }
    looks[look]()
    assert rig.port.closes == 1


@pytest.mark.spec("C6")
def test_wait_returns_at_once_where_the_close_is_done() -> None:
    rig = client_rig()
    task = rig.client.close()
    rig.port.arrive(Closed())
    assert task.wait()


@pytest.mark.spec("C6")
def test_wait_with_no_time_says_that_it_is_not_done() -> None:
    assert client_rig().client.close().wait(0) is False


@pytest.mark.spec("C6")
def test_wait_waits_at_the_port_until_the_host_has_answered() -> None:
    rig = client_rig()
    task = rig.client.close()
    idles: list[int] = []

    def the_host_takes_its_time() -> None:
        idles.append(1)
        if len(idles) == 3:
            rig.port.arrive(Closed())

    rig.port.far.on_idle = the_host_takes_its_time
    assert task.wait(60)
    assert len(idles) == 3


@pytest.mark.spec("C6")
def test_wait_ends_with_the_grace_of_the_close() -> None:
    rig = client_rig()
    task = rig.client.close()
    rig.port.far.on_idle = lambda: rig.clock.advance(1)
    assert task.wait()


@pytest.mark.spec("C6")
def test_a_close_can_be_awaited() -> None:
    rig = client_rig()

    async def main() -> None:
        task = rig.client.close()
        asyncio.get_running_loop().call_later(1, rig.port.arrive, Closed())
        await task
        assert task.done

    run(main())


@pytest.mark.spec("C6")
def test_a_close_can_be_awaited_by_several() -> None:
    rig = client_rig()

    async def wait_for_it() -> bool:
        await rig.client.close()
        return rig.client.close().done

    async def main() -> bool:
        asyncio.get_running_loop().call_later(1, rig.port.arrive, Closed())
        return all(await asyncio.gather(wait_for_it(), wait_for_it()))

    assert run(main())


@pytest.mark.spec("C6")
def test_a_close_after_the_host_closed_sends_nothing() -> None:
    rig = client_rig()
    rig.port.arrive(Closed())
    assert rig.client.closed
    rig.client.close()
    assert rig.port.sent == []


@pytest.mark.spec("C6")
def test_a_close_that_finds_the_notice_in_the_port_is_done() -> None:
    rig = client_rig()
    rig.port.arrive(Closed())
    assert rig.client.close().done


@pytest.mark.spec("C4", "C6")
def test_from_close_on_nothing_is_delivered_and_nothing_admitted() -> None:
    rig = busy_rig()
    rig.client.close()
    assert (rig.client.poll(), rig.closed_code()) == ([], "intelligence-closed")


# C7


@pytest.mark.spec("C7")
def test_an_open_client_says_so() -> None:
    rig = client_rig()
    assert (rig.client.closed, rig.client.close_reason) == (False, None)


@pytest.mark.spec("C7")
def test_the_reason_of_the_host_is_told_in_its_words() -> None:
    rig = client_rig()
    rig.port.arrive(Closed("model-missing", "The model file is not there: run the download first."))
    assert rig.client.closed
    assert "The model file is not there: run the download first." in (rig.client.close_reason or "")


@pytest.mark.spec("C5", "C7")
def test_the_reason_of_the_end_of_the_port_is_told_in_its_words() -> None:
    rig = client_rig()
    rig.port.end("host-crashed", "The Host was killed by signal 9.")
    assert rig.client.closed
    assert "The Host was killed by signal 9." in (rig.client.close_reason or "")


@pytest.mark.spec("C4", "C7")
@pytest.mark.parametrize("reason", ["model-missing", None])
def test_a_refused_call_carries_the_reason_of_the_host(reason: str | None) -> None:
    rig = client_rig()
    rig.port.arrive(Closed(reason, reason and "The model file is not there."))
    refused = refusal_of(rig.client.submit("hello"))
    assert refused.detail.reason == reason


@pytest.mark.spec("C7")
def test_the_first_reason_stands() -> None:
    rig = client_rig()
    rig.port.arrive(Closed("first", "The first reason."))
    assert rig.client.closed
    rig.client.close()
    assert "The first reason." in (rig.client.close_reason or "")


@pytest.mark.spec("E2", "C7")
def test_the_reason_quotes_nothing_that_a_port_raised() -> None:
    rig = client_rig()
    rig.port.fault = RuntimeError("authorization: Bearer sk-live-0123456789abcdef0123456789abcdef")
    rig.port.fail("submit")
    rig.client.submit("hello")
    assert "sk-live-0123456789abcdef" not in (rig.client.close_reason or "")


@pytest.mark.spec("C7")
def test_an_untold_reason_of_a_host_is_a_sentence_all_the_same() -> None:
    rig = client_rig()
    rig.port.arrive(Closed())
    assert rig.client.closed
    assert len((rig.client.close_reason or "").split()) >= 3


@pytest.mark.spec("D5")
@pytest.mark.parametrize("copying", [pickle.dumps, copy.copy, copy.deepcopy], ids=lambda f: f.__name__)
def test_a_client_refuses_to_be_pickled_and_says_what_to_save(copying: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match="SessionRef"):
        copying(client_rig().client)


@pytest.mark.spec("C4")
@pytest.mark.parametrize(
    "message",
    [
        hello(),
        hello(protocol=2),
        Closed("second", "The second reason."),
        Rejected("a-1", failure()),
        Events(()),
    ],
    ids=["hello", "other hello", "second notice", "rejection", "events"],
)
def test_what_comes_with_the_notice_but_behind_it_is_ignored(message: HostMessage) -> None:
    rig = client_rig()
    rig.submit()
    rig.port.take_sent()
    rig.port.arrive(Closed("first", "The first reason."), message)
    assert (rig.client.poll(), rig.client.close_reason, rig.port.sent) == ([], "The first reason.", [])
    assert_terminal(rig)


@pytest.mark.spec("C4")
def test_credit_that_was_outstanding_is_not_counted_after_the_end() -> None:
    rig = client_rig()
    rig.client.poll()
    assert rig.port.take_sent() == [Poll(256)]
    rig.port.arrive(Closed(), Events(()))
    rig.client.poll()
    assert rig.port.sent == []
