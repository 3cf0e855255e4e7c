"""What games do while a server does what it does. Each returns the id of the Activity that it is about, which has ended."""

from providers.vendors.stage import DEADLINES, EARLIER_INPUT, INPUT, Stage
from support.vendor_misbehaviours import breaks_off_now

from engine_intelligence import Completed, Err, Ok, ProviderError


async def waits(stage: Stage) -> str:
    """Submit, and poll until the end."""
    activity_id = stage.submit(INPUT)
    await stage.terminal(activity_id)
    return activity_id


async def submits_two_at_once(stage: Stage) -> str:
    """Submit twice in one frame, and wait for both ends. It is about the second."""
    first, second = stage.submit(EARLIER_INPUT), stage.submit(INPUT)
    await stage.terminal(second)
    assert isinstance(stage.told.terminal(first), Completed)
    return second


async def comes_with_a_lost_session(stage: Stage) -> str:
    """Submit in a session of which the store does not know any more."""

    def lost() -> None:
        raise ProviderError("this conversation was dropped", reason="session-lost")

    stage.store.on_history = lost
    activity_id = await waits(stage)
    stage.store.on_history = lambda: None
    return activity_id


async def waits_out_first_text(stage: Stage) -> str:
    """Wait for a first text until its time is over, from when the double has the request."""
    activity_id = stage.submit(INPUT)
    await stage.frames(lambda: bool(stage.double.exchanges))
    return await _too_late(stage, activity_id, DEADLINES.first_text_s)


async def waits_out_stall(stage: Stage) -> str:
    """Wait for more text until its time is over, from when some text was heard."""
    activity_id = stage.submit(INPUT)
    await stage.frames(lambda: bool(stage.told.text(activity_id)))
    return await _too_late(stage, activity_id, DEADLINES.stall_s)


async def _too_late(stage: Stage, activity_id: str, seconds: float) -> str:
    stage.clock.advance(seconds)
    await stage.terminal(activity_id)
    return activity_id


async def cancels_when_asked(stage: Stage) -> str:
    """Cancel when the double has the request."""
    activity_id = stage.submit(INPUT)
    await stage.frames(lambda: bool(stage.double.exchanges))
    return await _cancelled(stage, activity_id)


async def cancels_when_answered(stage: Stage) -> str:
    """Cancel when the double is done with the request, and the provider has had some frames to look at it."""
    activity_id = stage.submit(INPUT)
    await stage.frames(lambda: bool(stage.double.exchanges) and stage.double.idle)
    frames = iter(range(30))
    await stage.frames(lambda: next(frames, None) is None)
    return await _cancelled(stage, activity_id)


async def cancels_after_text(stage: Stage) -> str:
    """Cancel when some text has come."""
    activity_id = stage.submit(INPUT)
    await stage.frames(lambda: bool(stage.told.text(activity_id)))
    return await _cancelled(stage, activity_id)


async def cancels_beside_an_error(stage: Stage) -> str:
    """Cancel when some text has come, and in the same moment an error of the double is on its way."""
    activity_id = stage.submit(INPUT)
    await stage.frames(lambda: bool(stage.told.text(activity_id)))
    breaks_off_now(stage.double.exchanges[-1])
    return await _cancelled(stage, activity_id)


async def cancels_again_and_again(stage: Stage) -> str:
    """Cancel twice in a frame, once more when it is over, and what never was."""
    activity_id = stage.submit(INPUT)
    await stage.frames(lambda: bool(stage.told.text(activity_id)))
    assert isinstance(stage.runtime.cancel(activity_id), Ok)
    stage.runtime.cancel(activity_id)  # accepted or not found, as the end may have come meanwhile
    await stage.terminal(activity_id)
    for id_ in (activity_id, "never-was"):
        refused = stage.runtime.cancel(id_)
        assert isinstance(refused, Err)
        assert refused.error.code == "intelligence-activity-not-found"
    return activity_id


async def _cancelled(stage: Stage, activity_id: str) -> str:
    assert isinstance(stage.runtime.cancel(activity_id), Ok)
    await stage.terminal(activity_id)
    return activity_id
