"""One provider in the place of several: in which order they are asked, and when nobody else is."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from typing import get_args

import pytest
from support.backends import DoubleBackend, Hang
from support.loop import settle
from support.programs import SESSION, prompt_of, talk

from engine_intelligence import Cancelled, Completed, Failed, ProviderError, SetupError, Usage
from engine_intelligence.conversation import Turn
from engine_intelligence.failure import FailureReason
from engine_intelligence.providers.fallback import AVOIDED_S, FallbackBackend, Options, create
from engine_intelligence.providers.stream import Finish
from engine_intelligence.testing import ManualClock

# Nobody in these tests is slow, but for those that never say anything.
PATIENT_S = 60.0


def failing(reason: FailureReason = "network", retry_after_s: float | None = None) -> DoubleBackend:
    return DoubleBackend(ProviderError(f"it is {reason}", reason=reason, retry_after_s=retry_after_s))


def over(
    *members: DoubleBackend, first_text_s: float = PATIENT_S, clock: ManualClock | None = None
) -> FallbackBackend:
    """A fallback over members that are called a, b and so on."""
    named = dict(zip("abcdef", members, strict=False))
    return FallbackBackend(named, first_text_s=first_text_s, clock=clock or ManualClock())


async def told(backend: FallbackBackend, history: Sequence[Turn] = ()) -> list[str | Finish]:
    async with aclosing(backend.answer(prompt_of("Hello.", history))) as answer:
        return [piece async for piece in answer]


def heard(backend: FallbackBackend, history: Sequence[Turn] = ()) -> list[str | Finish]:
    return asyncio.run(told(backend, history))


def failure(backend: FallbackBackend) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        heard(backend)
    return raised.value


def asked(*members: DoubleBackend) -> list[int]:
    """How often each was asked."""
    return [len(member.prompts) for member in members]


# Who is asked


def test_only_the_first_is_asked_while_it_answers() -> None:
    first, second = DoubleBackend("He", "llo."), DoubleBackend("No.")
    assert heard(over(first, second)) == ["He", "llo."]
    assert asked(first, second) == [1, 0]


@pytest.mark.parametrize("reason", sorted(set(get_args(FailureReason)) - {"refused"}))
def test_for_every_failure_but_a_refusal_the_next_is_asked(reason: FailureReason) -> None:
    first, second = failing(reason), DoubleBackend("Hello.")
    assert heard(over(first, second)) == ["Hello."]


def test_what_one_refuses_is_not_asked_for_elsewhere() -> None:
    first, second = failing("refused"), DoubleBackend("Hello.")
    error = failure(over(first, second))
    assert (error.reason, error.cause) == ("refused", "it is refused")
    assert asked(second) == [0]


def test_an_answer_without_text_is_a_failure_like_another() -> None:
    first, second = DoubleBackend("", Finish(Usage(3, 0))), DoubleBackend("Hello.")
    assert heard(over(first, second)) == ["Hello."]
    assert first.unwound == 1


def test_what_one_raises_that_is_no_failure_of_a_provider_does_not_keep_the_next_from_being_asked() -> None:
    assert heard(over(DoubleBackend(KeyError("oven")), DoubleBackend("Hello."))) == ["Hello."]


def test_a_time_out_of_its_own_is_not_that_of_the_fallback() -> None:
    error = failure(over(DoubleBackend(TimeoutError()), failing("auth")))
    assert error.cause == "no provider answered: a (other), b (auth)"


def test_one_that_says_nothing_in_its_time_is_left_and_unwound_before_the_next_is_asked() -> None:
    first, second = DoubleBackend(Hang), DoubleBackend("Hello.")
    assert heard(over(first, second, first_text_s=0.01)) == ["Hello."]
    assert first.unwound == 1


def test_the_last_has_all_the_time_that_the_host_gives() -> None:
    async def play() -> None:
        last = DoubleBackend(Hang)
        task = asyncio.create_task(told(over(failing(), last, first_text_s=0.001)))
        await settle()
        assert last.prompts
        # Its time-out would have to come before this one, which is the longer.
        done, _ = await asyncio.wait([task], timeout=0.05)
        assert not done
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(play())


def test_after_the_first_text_a_failure_is_the_failure_of_the_activity() -> None:
    first = DoubleBackend("Hel", ProviderError("too much", reason="rate-limited", retry_after_s=5))
    second = DoubleBackend("No.")

    async def play() -> None:
        async with talk(over(first, second)) as stage:
            activity = stage.submit("Hello.")
            end = await stage.end(activity.id)
            assert isinstance(end, Failed)
            assert (end.error.detail.reason, end.error.detail.retry_after_seconds) == ("rate-limited", 5)
            assert stage.told.text(activity.id) == "Hel"

    asyncio.run(play())
    assert asked(second) == [0]


# One that failed


def test_one_that_failed_is_asked_last_for_a_while_and_then_first_again() -> None:
    clock, first, second = ManualClock(), failing("timeout"), DoubleBackend("Hello.")
    backend = over(first, second, clock=clock)
    heard(backend)
    clock.advance(AVOIDED_S - 1)
    heard(backend)
    assert asked(first, second) == [1, 2]
    clock.advance(1)
    heard(backend)
    assert asked(first, second) == [2, 3]


def test_one_that_asked_to_be_left_alone_is_left_for_so_long() -> None:
    clock, first, second = ManualClock(), failing("rate-limited", 3600.0), DoubleBackend("Hello.")
    backend = over(first, second, clock=clock)
    heard(backend)
    clock.advance(3599)
    heard(backend)
    assert asked(first) == [1]
    clock.advance(1)
    heard(backend)
    assert asked(first) == [2]


@pytest.mark.parametrize("reason", ["empty", "protocol", "truncated", "session-lost", "other"])
def test_a_failure_of_one_answer_says_nothing_of_the_next(reason: FailureReason) -> None:
    first = failing(reason)
    backend = over(first, DoubleBackend("Hello."))
    heard(backend)
    heard(backend)
    assert asked(first) == [2]


def test_one_that_failed_is_still_asked_if_the_others_fail_too() -> None:
    first, second = failing("network"), DoubleBackend("Hello.")
    backend = over(first, second)
    heard(backend)
    first.script, second.script = ("I am back.",), (ProviderError("nothing", reason="empty"),)
    assert heard(backend) == ["I am back."]
    second.script = ("Hello.",)
    assert heard(backend) == ["I am back."]  # which shows that it is the first again


# If all fail


def test_if_all_fail_the_last_of_the_list_speaks_and_all_are_named() -> None:
    error = failure(over(failing("auth"), failing("network", 7.0)))
    assert (error.reason, error.retry_after_s) == ("network", 7.0)
    assert error.cause == "no provider answered: a (auth), b (network)"


def test_who_speaks_does_not_depend_on_who_was_asked_last() -> None:
    backend = over(failing("auth"), failing("empty"))
    assert [failure(backend).reason for _ in range(2)] == ["empty", "empty"]


@pytest.mark.fault("C16")
def test_if_all_are_asked_too_much_the_shortest_wait_is_told() -> None:
    error = failure(
        over(failing("rate-limited", 5.0), failing("rate-limited"), failing("rate-limited", 60.0))
    )
    assert (error.reason, error.retry_after_s) == ("rate-limited", 5.0)


@pytest.mark.spec("E2")
def test_the_log_says_who_failed_and_how_without_what_may_be_a_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = DoubleBackend(ProviderError("bad key sk-proj-Zk81Qm4TtX9b", reason="auth"))
    with caplog.at_level(logging.WARNING):
        heard(over(first, DoubleBackend("Hello.")))
    (record,) = caplog.records
    assert record.getMessage().startswith("provider a failed before its first text (auth: ")
    assert "Zk81" not in caplog.text


# Cancels and closes


@pytest.mark.spec("S12")
def test_a_cancel_while_one_is_tried_unwinds_it_and_asks_nobody_else() -> None:
    first, second = DoubleBackend(Hang), DoubleBackend("No.")

    async def play() -> None:
        async with talk(over(first, second)) as stage:
            activity = stage.submit("Hello.")
            await stage.until(lambda: bool(first.prompts), "the first to be asked")
            assert stage.runtime.cancel(activity.id).ok
            assert isinstance(await stage.end(activity.id), Cancelled)

    asyncio.run(play())
    assert first.unwound == 1
    assert asked(second) == [0]


def test_a_cancel_while_one_speaks_unwinds_it() -> None:
    first = DoubleBackend("Hel", Hang)

    async def play() -> None:
        async with talk(over(first, DoubleBackend("No."))) as stage:
            activity = stage.submit("Hello.")
            await stage.until_text(activity.id)
            stage.runtime.cancel(activity.id)
            assert isinstance(await stage.end(activity.id), Cancelled)
            assert first.unwound == 1

    asyncio.run(play())


def test_only_the_first_is_warmed() -> None:
    first, second = DoubleBackend("Hello."), DoubleBackend("No.")
    over(first, second).warm()
    assert (first.warmed, second.warmed) == (1, 0)


def test_all_are_closed_also_if_one_of_them_cannot_be() -> None:
    first, second = DoubleBackend("Hello."), DoubleBackend("No.")
    first.on_close = RuntimeError("stuck")
    with pytest.raises(RuntimeError, match="stuck"):
        asyncio.run(over(first, second).close())
    assert (first.closes, second.closes) == (1, 1)


# Conversations


def test_each_sees_its_own_remote_ids_and_no_others() -> None:
    first = DoubleBackend("One.", Finish(remote="resp-1"))
    second = DoubleBackend("Two.", Finish(Usage(1, 2), "stop", remote="msg-2"))

    async def play() -> None:
        async with talk(over(first, second)) as stage:
            await stage.end(stage.submit("first").id)
            first.script = (ProviderError("gone", reason="empty"),)
            end = await stage.end(stage.submit("second").id)
            assert isinstance(end, Completed)
            assert (end.usage, end.finish) == (Usage(1, 2), "stop")
            await stage.end(stage.submit("third").id)

    asyncio.run(play())
    assert [[turn.remote for turn in prompt.history] for prompt in first.prompts] == [
        [],
        ["resp-1"],
        ["resp-1", None],
    ]
    assert [[turn.remote for turn in prompt.history] for prompt in second.prompts] == [
        [None],
        [None, "msg-2"],
    ]
    assert [turn.output for turn in second.prompts[1].history] == ["One.", "Two."]


@pytest.mark.parametrize("remote", ["resp-1", "{", '["a"]', '["a", 1]', "[1, 2]", ""])
def test_a_remote_id_from_before_there_was_a_fallback_is_nobody_s(remote: str) -> None:
    first = DoubleBackend("Hello.")
    heard(over(first, DoubleBackend("No.")), [Turn("a", "b", remote)])
    assert first.prompts[0].history == (Turn("a", "b"),)


def test_a_fallback_in_a_fallback_keeps_ids_apart_too() -> None:
    inner = DoubleBackend("Hello.", Finish(remote="resp-1"))
    outer = FallbackBackend(
        {"x": over(inner, DoubleBackend("No.")), "y": DoubleBackend("No.")}, first_text_s=PATIENT_S
    )

    async def play() -> None:
        async with talk(outer) as stage:
            await stage.end(stage.submit("first").id)
            await stage.end(stage.submit("second").id)
            assert stage.store.history(SESSION)[0].remote != "resp-1"

    asyncio.run(play())
    assert [turn.remote for turn in inner.prompts[1].history] == ["resp-1"]


# Options


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"providers": ()}, "providers"),
        ({"providers": ("a",)}, "providers must name two or more"),
        ({"providers": ("a", "b", "a")}, "'a'"),
        ({"providers": ("a", "\ud800")}, "providers"),
        ({"providers": ("a", "b"), "first_text_s": 0}, "first_text_s"),
        ({"providers": ("a", "b"), "first_text_s": float("nan")}, "first_text_s"),
        ({"providers": ("a", "b"), "first_text_s": True}, "first_text_s"),
    ],
)
def test_a_bad_option_is_named(options: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Options(**options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def shares(first_text_s: float | None, count: int = 3) -> dict[str, float]:
    """What each is told that it has, of a minute."""
    given: dict[str, float] = {}

    def make(id: str, each_s: float) -> DoubleBackend:
        given[id] = each_s
        return DoubleBackend("Hello.")

    options = Options(providers=tuple("abcdef"[:count]), first_text_s=first_text_s)
    create(options, make, first_text_s=60.0, where="here")
    return given


def test_by_default_each_has_an_even_share_of_the_time_to_the_first_text() -> None:
    assert shares(None) == {"a": 20.0, "b": 20.0, "c": 20.0}


def test_the_time_of_each_can_be_said() -> None:
    assert shares(29.0) == {"a": 29.0, "b": 29.0, "c": 29.0}


def test_a_time_that_leaves_nothing_for_the_last_is_refused() -> None:
    with pytest.raises(SetupError, match=r"here: .*first_text_s = 30"):
        shares(30.0)
