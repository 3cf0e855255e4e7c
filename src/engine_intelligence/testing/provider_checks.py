"""What every provider does, one behaviour at a time (section 4 of the contract)."""

from __future__ import annotations

import asyncio
import threading

from engine_intelligence.errors import MAX_ID_CHARS
from engine_intelligence.result import Ok
from engine_intelligence.runtime import create_intelligence_runtime
from engine_intelligence.scrubbing import is_encodable
from engine_intelligence.testing.conformance import Checks, require
from engine_intelligence.testing.provider_stage import ProviderStage, StageActivity
from engine_intelligence.testing.transcript import Transcript

CHECKS: Checks[ProviderStage] = Checks()

# Outside the basic plane, of several code points, of right to left, and what a text file or a protocol may end at.
_TEXTS = (
    "\U0001f9e0\U0001f6e1\ufe0f",
    "e\u0301 \u0647\u0644 \u65e5\u672c",
    "\x00\r\n\t\x7f\u2028\ufffd",
    " ",
)


@CHECKS.about("P7")
async def the_id_stays_the_same(stage: ProviderStage) -> None:
    """`id` is a text of 1 to 256 characters that UTF-8 can encode, the same at every look and for every provider of
    the factory: it scopes the sessions in save-games.
    """
    ids: list[object] = [stage.provider.id, stage.provider.id]
    other = stage.make_provider()
    try:
        ids.append(other.id)
    finally:
        await stage.close(other)
    for id in ids:
        good = isinstance(id, str) and 0 < len(id) <= MAX_ID_CHARS and is_encodable(id)
        require(good, "P7", f"the id is {ascii(id)[:80]}, not a text of 1 to {MAX_ID_CHARS} characters")
    require(len(set(ids)) == 1, "P7", f"the id changed: {', '.join(ascii(id) for id in ids)}")


@CHECKS.about("S6", "S1", "S14")
async def an_activity_ends_with_one_terminal(stage: ProviderStage) -> None:
    """`start` returns `Ok(None)` at once, and then exactly one terminal comes, which nothing follows, from whatever
    thread.
    """
    await stage.to_completion(stage.start())


@CHECKS.about("P3")
async def the_chunks_joined_are_the_output(stage: ProviderStage) -> None:
    """Where an Activity has said anything before it completes, its chunks joined are the output."""
    await stage.to_completion(stage.start())


@CHECKS.about("P2")
async def what_a_sink_is_handed_has_the_right_types(stage: ProviderStage) -> None:
    """Text and output are `str`, usage is a `Usage`, finish `"stop"` or `"length"`, a cause a text or an exception.
    A service ignores anything else.
    """
    sink = (await _ended(stage, stage.start())).sink
    require(not sink.mistyped, "P2", "; ".join(sink.mistyped))


@CHECKS.about("D1")
async def any_text_ends_with_one_terminal(stage: ProviderStage) -> None:
    """Whatever a realm may send, up to the longest input, leads to one terminal: a failure is one."""
    longest = "x" * stage.limits.max_input_chars
    for text in (*_TEXTS, longest):
        shown = ascii(text if len(text) <= 40 else f"{len(text)} characters")
        activity = await _ended(stage, stage.start(text), rule="D1", what=f"an Activity for {shown}")
        require(not activity.sink.late, "D1", f"an Activity for {shown} went on after its terminal")


@CHECKS.about("S12", "S15")
async def a_cancel_ends_an_activity_within_the_grace(stage: ProviderStage) -> None:
    """An Activity that is cancelled once it has begun to speak has a terminal within `cancel_grace_s`."""
    activity = stage.start()
    begun = await _begun(stage, activity, stage.deadlines.first_text_s)
    require(begun, "S15", f"an Activity said nothing for {stage.deadlines.first_text_s:g} s")
    await _cancelled(stage, activity, "an Activity that was cancelled while it spoke")


@CHECKS.about("S12")
async def a_cancel_before_the_first_text_ends_an_activity_within_the_grace(stage: ProviderStage) -> None:
    """An Activity that is cancelled at once has a terminal within `cancel_grace_s`."""
    await _cancelled(stage, stage.start(), "an Activity that was cancelled at once")


@CHECKS.about("S13", "S14")
async def a_second_cancel_does_nothing(stage: ProviderStage) -> None:
    """A cancel of what is being cancelled already raises nothing, and the Activity ends all the same."""
    activity = stage.start()
    stage.cancel(activity.id)
    await _cancelled(stage, activity, "an Activity that was cancelled twice", rule="S13")


@CHECKS.about("S13", "S14")
async def a_cancel_of_what_is_not_running_does_nothing(stage: ProviderStage) -> None:
    """A cancel of what has ended or never was raises nothing, and leaves other Activities alone."""
    ended = await _ended(stage, stage.start())
    running = stage.start()
    for id in (ended.id, "check-never-was", ""):
        stage.cancel(id)
    await stage.settle()
    require(not ended.sink.late, "S13", f"an Activity that had ended was ended again: {ended.sink.late}")
    await _ended(stage, running)
    require(
        running.sink.terminal == "complete",
        "S13",
        f"a cancel of another Activity ended this one with {running.sink.terminal}()",
    )


@CHECKS.about("S6", "P3")
async def two_activities_at_once_do_not_mix(stage: ProviderStage) -> None:
    """Two Activities of two sessions, begun one after the other, each complete in their own sink."""
    for number, activity in enumerate([stage.start(), stage.start()], 1):
        await stage.to_completion(activity, what=f"Activity {number} of two at once")


@CHECKS.about("P6", "S6")
async def activities_of_one_session_come_in_order(stage: ProviderStage) -> None:
    """Three Activities of one session, submitted at once to a runtime, complete in the order of submission, and the
    runtime has nothing to ignore.
    """
    runtime = create_intelligence_runtime(stage.provider, limits=stage.limits, deadlines=stage.deadlines)
    told, ids, session = Transcript(), list[str](), stage.session()
    try:
        for _ in range(min(3, stage.limits.max_concurrent_activities)):
            with stage.watch.at("S1", "start()"):
                started = runtime.submit(stage.input, session)
            require(isinstance(started, Ok), "P6", f"an Activity of a session was refused: {started}")
            ids += [started.value.id] if isinstance(started, Ok) else []

        def over() -> bool:
            told.take(runtime.poll())
            return len(told.ended) == len(ids)

        within_s = stage.deadlines.activity_s * len(ids)
        require(await stage.until(over, within_s), "P6", f"not all had ended within {within_s:g} s")
        await stage.settle()
        require(told.ended == ids, "P6", "Activities of one session ended in another order than submitted")
        ends = [str(getattr(told.terminal(id), "type", None)) for id in ids]
        require(set(ends) == {"completed"}, "P6", f"Activities of one session ended: {', '.join(ends)}")
        require(runtime.ignored_signals == 0, "S6", f"{runtime.ignored_signals} sink calls were ignored")
    finally:
        await runtime.close()


@CHECKS.about("P5")
async def a_session_is_usable_after_a_cancel(stage: ProviderStage) -> None:
    """A session of which an Activity was cancelled accepts the next one, and that completes."""
    session = stage.session()
    cancelled = stage.start(session=session)
    await _cancelled(stage, cancelled, "an Activity that was cancelled at once")
    after = await _ended(stage, stage.start(session=session), rule="P5", what="the Activity after a cancel")
    sink = after.sink
    require(
        sink.terminal == "complete",
        "P5",
        f"the Activity after a cancel ended with {sink.terminal}(): {sink.cause}",
    )


@CHECKS.about("S14")
async def a_failure_is_one_terminal(stage: ProviderStage) -> None:
    """Where the provider fails (`failing_input`), the Activity ends with one `fail`, and the next one completes."""
    if stage.failing_input is None:
        return
    sink = await stage.to_its_end(stage.start(stage.failing_input), what="an Activity that has to fail")
    require(sink.terminal == "fail", "S14", f"it has to fail, and ended with {sink.terminal}()")
    await stage.to_completion(stage.start(), what="the Activity after a failure")


@CHECKS.about("B4")
async def close_ends_while_activities_run(stage: ProviderStage) -> None:
    """`close` returns within `close_grace_s` and raises nothing, also while Activities run and when it is repeated."""
    stage.start()
    await _begun(stage, stage.start(), 0.5)
    await stage.close()
    await stage.close()


@CHECKS.about("H6")
async def close_leaves_nothing_behind(stage: ProviderStage) -> None:
    """After a `close` while an Activity runs, no task and no thread is there that was not there before."""
    await stage.close()
    # The second of two lives is looked at: a library may start something once for the whole process.
    for life in range(2):
        tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
        stage.provider = stage.make_provider()
        await _begun(stage, stage.start(), 0.5)
        await stage.close()
        left = await stage.leftovers(tasks, threads) if life else []
        require(not left, "H6", f"close() left behind: {', '.join(left)}")


async def _begun(stage: ProviderStage, activity: StageActivity, within_s: float) -> bool:
    """Wait until an Activity has said something, or has ended; whether it has."""
    return await stage.until(lambda: bool(activity.sink.texts) or activity.ended, within_s)


async def _ended(
    stage: ProviderStage, activity: StageActivity, *, rule: str = "S6", what: str = "an Activity"
) -> StageActivity:
    """Wait for a terminal, whichever it is."""
    within_s = stage.deadlines.activity_s
    ended = await stage.until(lambda: activity.ended, within_s)
    require(ended, rule, f"{what} had no terminal within {within_s:g} s")
    await stage.settle()
    return activity


async def _cancelled(stage: ProviderStage, activity: StageActivity, what: str, *, rule: str = "S12") -> None:
    """Cancel, and wait for the terminal. Which one it is, and what is said after it, is a race (rules S13, P2)."""
    stage.cancel(activity.id)
    grace_s = stage.deadlines.cancel_grace_s
    ended = await stage.until(lambda: activity.ended, grace_s)
    require(ended, rule, f"{what} had no terminal within {grace_s:g} s")
