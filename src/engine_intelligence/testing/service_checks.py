"""What every `IntelligenceService` does that can be seen from outside, one behaviour at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from engine_intelligence.activity import ActivityRef, Cancelled, Completed, SessionRef
from engine_intelligence.result import Err, Ok
from engine_intelligence.testing.bounded import bounded, until
from engine_intelligence.testing.conformance import Checks, ConformanceError, blamed, require
from engine_intelligence.testing.service_stage import ServiceStage, refusal

CHECKS: Checks[ServiceStage] = Checks()

# What a game may pass by mistake where a number of events is due.
_NO_SIZES: tuple[Any, ...] = (0, -1, -(2**70), True, False, 1.0, "1", b"1", [], float("nan"))
_NO_TEXTS: tuple[Any, ...] = ("", None, 7, b"hello", ["hello"])
_NOT_ENCODABLE = ("\ud800", "May I \udc80 pass?")
_NO_SESSIONS: tuple[Any, ...] = ("s-1", 7, {"id": "s-1"}, object())
_NO_IDS: tuple[Any, ...] = ("check-never-was", "", "\ud800", None, 7, b"a-1", [])


@CHECKS.about("S6", "D3", "S1")
async def an_activity_ends_with_one_terminal(stage: ServiceStage) -> None:
    """An accepted Activity gives deltas and one terminal, numbered from 1 without a gap, and nothing follows."""
    await stage.completion_of(stage.begin())


@CHECKS.about("S6", "S9")
async def all_activities_end_however_few_events_a_poll_takes(stage: ServiceStage) -> None:
    """As many Activities as there are places all end when every poll takes one event."""
    await stage.warm_up()
    started = [stage.begin() for _ in range(stage.service.limits.max_concurrent_activities)]
    within_s = stage.deadlines.activity_s
    ids = {each.id for each in started}
    over = await stage.until(lambda: ids <= set(stage.told.ended), within_s, lambda: stage.poll(1))
    require(over, "S9", f"with polls of one event not all Activities ended within {within_s:g} s")


@CHECKS.about("S11")
async def a_game_that_does_not_poll_loses_no_text(stage: ServiceStage) -> None:
    """After a pause without any poll the deltas joined are the output, where the provider keeps rule P3."""
    started = stage.begin()
    stage.poll()
    await stage.settle(lambda: None)
    terminal = await stage.completion_of(started)
    text = stage.told.text(started.id)
    require(
        text in ("", terminal.output),
        "S11",
        f"{len(text)} characters came in deltas, and the output has {len(terminal.output)}",
    )


@CHECKS.about("S7")
async def a_poll_returns_at_most_what_was_asked_for(stage: ServiceStage) -> None:
    """`poll(n)` returns at most `n` events, and never more than `max_poll_events`."""
    await stage.warm_up()
    most = stage.service.limits.max_poll_events
    started = [stage.begin() for _ in range(stage.service.limits.max_concurrent_activities)]
    ids = {each.id for each in started}
    sizes = (1, 2, None, most, most + 1, 2**70)

    def poll() -> None:
        for size in sizes:
            came = stage.poll(size)
            allowed = most if size is None else min(size, most)
            require(came <= allowed, "S7", f"poll({size}) returned {came} events, with {most} at most")

    await stage.settle(lambda: None)
    over = await stage.until(lambda: ids <= set(stage.told.ended), stage.deadlines.activity_s, poll)
    require(over, "S6", "not all accepted Activities ended")


@CHECKS.about("S7")
async def a_poll_of_no_sensible_size_returns_nothing(stage: ServiceStage) -> None:
    """A size that is not a positive int gives an empty list and costs no event."""
    started = stage.begin()

    def poll() -> None:
        for size in _NO_SIZES:
            came = stage.poll(size)
            require(came == 0, "S7", f"poll({size!r}) returned {came} events")
        stage.poll(1)

    await stage.end_of(started, poll=poll)
    require(isinstance(stage.terminal(started), Completed), "S7", "an event was lost to such a poll")


@CHECKS.about("S2", "D1", "D4")
async def an_invalid_request_is_refused(stage: ServiceStage) -> None:
    """What is no text, empty, too long or not encodable is `intelligence-invalid-request`, and takes no place."""
    await stage.warm_up()
    longest = stage.service.limits.max_input_chars
    for text in (*_NO_TEXTS, "x" * (longest + 1), *_NOT_ENCODABLE):
        what, rule = f"an input that is {ascii(text)[:40]}", "D1" if text in _NOT_ENCODABLE else "S2"
        error = refusal(stage.submit(text), "intelligence-invalid-request", rule, what)
        require(
            error.detail.field == "input",
            "S2",
            f"the refusal of an input names the field {error.detail.field!r}",
        )
    own = stage.service.provider_id
    for session in (*_NO_SESSIONS, SessionRef(own, ""), SessionRef(own, "\ud800")):
        shown = ascii(session)[:60]
        value = stage.submit(stage.input, session)
        refusal(value, "intelligence-invalid-request", "S2", f"a session that is {shown}")
    places = stage.service.limits.max_concurrent_activities
    taken = [stage.submit(stage.input) for _ in range(places)]
    free = sum(isinstance(each, ActivityRef) for each in taken)
    require(free == places, "S2", f"refused requests took places: {free} of {places} are left")


@CHECKS.about("S3")
async def a_session_of_another_provider_is_refused(stage: ServiceStage) -> None:
    """It is `intelligence-session-provider-mismatch`, with both names."""
    other = stage.service.provider_id + ".other"
    value = stage.submit(stage.input, SessionRef(other, "s-1"))
    error = refusal(value, "intelligence-session-provider-mismatch", "S3", "a session of another provider")
    named = (error.detail.expected_provider_id, error.detail.received_provider_id)
    require(named == (stage.service.provider_id, other), "S3", f"the refusal names {named}")


@CHECKS.about("S4")
async def a_session_is_begun_or_continued(stage: ServiceStage) -> None:
    """Without a session a new one is begun, with one it is kept, in the ref and in `Completed`."""
    begun = stage.begin()
    require(
        begun.session.provider_id == stage.service.provider_id,
        "S4",
        f"a new session is of provider {begun.session.provider_id!r}",
    )
    first = await stage.completion_of(begun)
    require(first.session == begun.session, "S4", "Completed holds another session than the ref")
    again = stage.begin(session=first.session)
    require(again.session == first.session, "S4", "the ref holds another session than was given")
    second = await stage.completion_of(again)
    require(second.session == first.session, "S4", "Completed holds another session than was given")


@CHECKS.about("S5")
async def identities_are_never_the_same(stage: ServiceStage) -> None:
    """Every Activity and every new session has an id of its own."""
    started = [stage.begin()]
    await stage.end_of(started[0])
    started += [stage.begin() for _ in range(stage.service.limits.max_concurrent_activities)]
    for what, made in (
        ("Activities", [each.id for each in started]),
        ("new sessions", [each.session.id for each in started]),
    ):
        require(all(made) and len(set(made)) == len(made), "S5", f"of {len(made)} {what} some share an id")
    await stage.end_of(*started)


@CHECKS.about("S8")
async def places_are_held_until_the_terminal_is_polled(stage: ServiceStage) -> None:
    """With `max_concurrent_activities` held, one more is `intelligence-capacity-exceeded`; a polled terminal frees a
    place.
    """
    await stage.warm_up()
    places = stage.service.limits.max_concurrent_activities
    started = [stage.begin() for _ in range(places)]
    await stage.settle(lambda: None)  # they may end meanwhile; their places are held all the same
    value = stage.submit(stage.input)
    error = refusal(value, "intelligence-capacity-exceeded", "S8", f"Activity {places + 1} of {places}")
    require(error.detail.limit == places, "S8", f"the refusal names the limit {error.detail.limit}")
    await stage.end_of(*started)
    freed = stage.submit(stage.input)
    require(isinstance(freed, ActivityRef), "S8", f"after every terminal was polled, a submit gave {freed}")


@CHECKS.about("S10")
async def an_overflow_ends_an_activity(stage: ServiceStage) -> None:
    """Where the provider says too much (`overflowing_input`), one `Failed` of `intelligence-output-overflow` comes, with
    the bound and the limit, and after no more text than that.
    """
    if stage.overflowing_input is None:
        return
    await stage.warm_up()
    started = stage.begin(stage.overflowing_input)
    error = (await stage.failure_of(started, "S10")).error
    limit = stage.service.limits.max_output_chars
    told = (error.code, error.detail.bound, error.detail.limit)
    expected = ("intelligence-output-overflow", "output-chars", limit)
    require(told == expected, "S10", f"an overflow ended with {told}, not {expected}")
    text = stage.told.text(started.id)
    require(len(text) <= limit, "S10", f"{len(text)} characters were delivered, with {limit} at most")


@CHECKS.about("S12", "S13")
async def a_cancel_ends_an_activity(stage: ServiceStage) -> None:
    """A cancel of what runs is `Ok`, also the second time, and a terminal comes within `cancel_grace_s`."""
    started = stage.begin(stage.endless_input)
    await stage.until(lambda: bool(stage.told.events(started.id)), 0.2)
    asked_late = stage.terminal(started) is not None
    error = stage.cancel(started.id)
    require(
        error is None or asked_late or stage.endless_input == stage.input,
        "S12",
        f"a cancel of a running Activity was refused: {error}",
    )
    again = stage.cancel(started.id)
    code = None if again is None else again.code
    require(
        code in (None, "intelligence-activity-not-found"), "S13", f"a second cancel was refused with {code}"
    )
    # The grace is the Host's; beyond it the end of an Activity has to reach this end.
    within_s = stage.deadlines.cancel_grace_s + stage.deadlines.close_grace_s
    over = await stage.until(lambda: stage.terminal(started) is not None, within_s)
    require(over, "S12", f"a cancelled Activity had no terminal within {within_s:g} s")
    await stage.settle()
    terminal = stage.terminal(started)
    require(
        isinstance(terminal, Cancelled | Completed), "S12", f"a cancelled Activity ended with {terminal!r}"
    )


@CHECKS.about("S13", "D4")
async def a_cancel_of_what_is_not_running_is_not_found(stage: ServiceStage) -> None:
    """It is `intelligence-activity-not-found`, whatever the id is, and other Activities go on."""
    ended = stage.begin()
    await stage.completion_of(ended)
    running = stage.begin()
    for id in (ended.id, *_NO_IDS):
        error = refusal(stage.cancel(id), "intelligence-activity-not-found", "S13", f"a cancel of {id!a}")
        named = error.detail.activity_id
        require(
            id == "\ud800" or named == (id if isinstance(id, str) else None),
            "S13",
            f"the refusal of a cancel of {id!a} names {named!a}",
        )
    await stage.completion_of(running)


@CHECKS.about("P6")
async def activities_of_one_session_come_in_order(stage: ServiceStage) -> None:
    """Two Activities of one session end in the order in which they were submitted, and do not mix."""
    await stage.warm_up()
    if stage.service.limits.max_concurrent_activities < 2:
        return
    first = stage.begin()
    second = stage.begin(session=first.session)
    await stage.end_of(first, second)
    ended = [id for id in stage.told.ended if id in (first.id, second.id)]
    require(ended == [first.id, second.id], "P6", "the second Activity of a session ended before the first")


@CHECKS.about("S14")
async def a_failure_of_the_provider_is_one_terminal(stage: ServiceStage) -> None:
    """Where the provider fails (`failing_input`), one `Failed` of `intelligence-provider-failed` comes."""
    if stage.failing_input is None:
        return
    error = (await stage.failure_of(stage.begin(stage.failing_input), "S14")).error
    require(error.code == "intelligence-provider-failed", "S14", f"a failure came as {error.code}")
    owner = error.detail.provider_id
    require(owner == stage.service.provider_id, "S14", f"a failure names the provider {owner!r}")


@CHECKS.about("D4")
async def a_result_is_neither_true_nor_false(stage: ServiceStage) -> None:
    """A result has `.ok` as a bool, and testing its truth raises `TypeError`."""
    for result, ok in (
        (stage.service.submit(""), False),
        (stage.service.cancel("check-never-was"), False),
    ):
        value: Any = result
        require(isinstance(value, Ok | Err), "D4", f"a refusal is {type(value).__name__}, not Err")
        require(value.ok is ok, "D4", f".ok of a refusal is {value.ok!r}")
        try:
            truth = bool(value)
        except TypeError:
            continue
        raise ConformanceError("D4", f"the truth of a result was {truth}, which is a trap")


@CHECKS.about("D5")
async def it_refuses_to_be_pickled_or_copied(stage: ServiceStage) -> None:
    """A service refuses with a message that says what to save instead."""
    copyings: list[tuple[str, Callable[[Any], object]]] = [
        ("pickle", lambda service: service.__reduce_ex__(2)),  # what pickle asks first
        ("copy", copy.copy),
        ("deepcopy", copy.deepcopy),
    ]
    for name, copying in copyings:
        try:
            copying(stage.service)
        except TypeError as error:
            said = str(error)
        else:
            raise ConformanceError("D5", f"a service was copied by {name}")
        require("SessionRef" in said, "D5", f"the refusal of {name} does not say what to save: {said}")


@CHECKS.about("C6", "S1")
async def every_close_returns_the_same_task(stage: ServiceStage) -> None:
    """`close` is idempotent: the same task every time, whose `done` can be looked at and which can be awaited, and
    which ends within `close_grace_s`.
    """
    stage.begin()
    with stage.watch.at("S1", "close()"), blamed("C6", "close()"):
        task, again = stage.service.close(), stage.service.close()
    require(task is again, "C6", "a second close() returned another task")
    with blamed("C6", "the close task"):
        done: Any = task.done
    require(isinstance(done, bool), "C6", f"done of the close task is {type(done).__name__}, not bool")

    async def wait() -> None:
        await task

    # One grace for the provider, and as much for the way to it and back.
    within_s = 2 * stage.deadlines.close_grace_s
    with stage.watch.at("C6", "awaiting the close task"), blamed("C6", "awaiting the close task"):
        ended = await bounded(wait(), within_s)
    require(ended, "C6", f"the close task had not ended within {within_s:g} s")
    require(task.done, "C6", "the close task was awaited, and is not done")
    require(stage.service.close() is task, "C6", "close() after the end returned another task")


@CHECKS.about("C4", "S7")
async def after_close_there_is_nothing(stage: ServiceStage) -> None:
    """From `close` on `submit` and `cancel` are `intelligence-closed`, and `poll` is empty, whatever was running."""
    started = stage.begin(stage.endless_input)
    task = stage.service.close()

    def look() -> None:
        refusal(stage.submit(stage.input), "intelligence-closed", "C4", "a submit after close()")
        refusal(stage.cancel(started.id), "intelligence-closed", "C4", "a cancel after close()")
        came = stage.poll()
        require(came == 0, "C4", f"a poll after close() returned {came} events")

    look()
    await until(lambda: task.done, 2 * stage.deadlines.close_grace_s, look)
    look()
