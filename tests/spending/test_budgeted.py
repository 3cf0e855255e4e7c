"""A provider that keeps to its budgets is a provider like any other, and what it refuses never reaches the one inside."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from support.spending_parts import WallClock, account, submission, tokens_of

from engine_intelligence import (
    Cancelled,
    Completed,
    Err,
    Failed,
    Ok,
    TextDelta,
    create_intelligence_runtime,
)
from engine_intelligence.activity import IntelligenceEvent, Usage
from engine_intelligence.errors import ProviderError, closed
from engine_intelligence.providers.scripted import Script, ScriptedProvider
from engine_intelligence.providers.stream import Finish, Prompt, StreamProvider
from engine_intelligence.spending.budget import Account
from engine_intelligence.spending.budgeted import Budgeted
from engine_intelligence.spending.ledger import Ledger
from engine_intelligence.spending.watch import Watch
from engine_intelligence.testing import ManualProvider, check_provider
from engine_intelligence.testing.strict_sink import StrictSink


async def speak(prompt: Prompt) -> AsyncGenerator[str | Finish, None]:
    if prompt.input == "fail":
        raise ProviderError("the oven is cold", reason="unavailable")
    for word in ("Who ", "goes ", "there?"):
        await asyncio.sleep(0.01)
        yield word
    yield Finish(Usage(3, 4))


@pytest.mark.spec("P1", "P2", "P5", "P6", "S6", "S12", "S13", "S14", "B4")
def test_a_budgeted_provider_keeps_the_contract(path: Path) -> None:
    def make() -> Budgeted:
        accounts = [account("oracle", a_minute=10**6, a_day=10**9), account(None, a_minute=10**6)]
        return Budgeted(StreamProvider("oracle", speak), accounts, Watch(Ledger(path)))

    check_provider(make, failing_input="fail")


class Stand:
    """A provider by hand, behind a budget."""

    def __init__(self, ledger: Ledger, *accounts: Account) -> None:
        self.ledger = ledger
        self.inner = ManualProvider("oracle")
        self.provider = Budgeted(self.inner, accounts, Watch(ledger))

    def start(self, id: str = "activity-1") -> StrictSink:
        sink = StrictSink()
        assert isinstance(self.provider.start(submission(id), sink), Ok)
        return sink


Stands = Callable[..., Stand]


@pytest.fixture
def stand(ledger: Ledger) -> Stands:
    return lambda *accounts: Stand(ledger, *accounts)


def test_it_has_the_id_of_the_provider_and_warms_it(ledger: Ledger) -> None:
    warmed: list[bool] = []
    inner = StreamProvider("oracle", speak, on_warm=lambda: warmed.append(True))
    provider = Budgeted(inner, [account()], Watch(ledger))
    provider.warm()
    assert (provider.id, warmed) == ("oracle", [True])


def test_a_provider_that_cannot_be_warmed_is_not(stand: Stands) -> None:
    stand(account()).provider.warm()


def test_an_activity_beyond_a_budget_ends_at_once_and_does_not_reach_the_provider(stand: Stands) -> None:
    made = stand(account(a_minute=1))
    made.start()
    sink = made.start("activity-2")
    assert sink.terminal == "fail"
    assert made.inner.starts == ["activity-1"]


def end_of(events: list[IntelligenceEvent]) -> Failed:
    (failed,) = (event for event in events if isinstance(event, Failed))
    return failed


@pytest.mark.spec("E1")
def test_a_game_is_told_how_long_until_the_budget_is_free(ledger: Ledger, clock: WallClock) -> None:
    inner = ScriptedProvider("oracle", lambda _: Script(deltas=("yes",)))
    runtime = create_intelligence_runtime(Budgeted(inner, [account(a_minute=1)], Watch(ledger)))
    assert runtime.submit("May I?").ok
    clock.advance(ms=45_500)
    assert runtime.submit("May I?").ok
    detail = end_of(runtime.poll()).error.detail
    assert (detail.reason, detail.retry_after_seconds) == ("rate-limited", 14.5)


def say_all(provider: ScriptedProvider) -> None:
    while provider.advance():
        pass


@pytest.mark.spec("P5")
def test_a_session_is_usable_after_a_refusal(ledger: Ledger, clock: WallClock) -> None:
    inner = ScriptedProvider("oracle", lambda _: Script(deltas=("yes",)))
    runtime = create_intelligence_runtime(Budgeted(inner, [account(a_minute=1)], Watch(ledger)))
    first = runtime.submit("May I?")
    assert isinstance(first, Ok)
    say_all(inner)
    runtime.poll()
    runtime.submit("May I?", first.value.session)
    assert end_of(runtime.poll()).error.detail.reason == "rate-limited"
    clock.advance(s=60)
    runtime.submit("May I?", first.value.session)
    say_all(inner)
    assert [type(event) for event in runtime.poll()] == [TextDelta, Completed]


def test_an_activity_that_passes_the_daily_budget_goes_on_and_the_next_is_refused(stand: Stands) -> None:
    made = stand(account(a_day=10))
    first = made.start()
    made.inner.sinks["activity-1"].text("x" * 400)
    made.inner.sinks["activity-1"].text("and more")
    made.inner.sinks["activity-1"].complete("x" * 400 + "and more")
    assert first.terminal == "complete"
    assert made.start("activity-2").terminal == "fail"


def test_every_account_is_charged(stand: Stands) -> None:
    made = stand(account("oracle"), account(None))
    made.start()
    made.inner.sinks["activity-1"].complete("four")
    assert (tokens_of(made.ledger, "oracle"), tokens_of(made.ledger, None)) == (2, 2)


@pytest.mark.spec("S14")
def test_what_a_provider_said_before_it_refused_is_counted(stand: Stands) -> None:
    made = stand(account())

    def refuse(given: object, sink: StrictSink) -> Err:  # type: ignore[type-arg]
        sink.text("four")
        return Err(closed())

    made.inner.on_start = refuse  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(made.provider.start(submission(), StrictSink()), Err)
    assert tokens_of(made.ledger) == 2


@pytest.mark.spec("S14")
def test_what_a_provider_raises_in_start_is_raised(stand: Stands) -> None:
    made = stand(account())

    def explode(*_: object) -> Ok[None]:
        raise RuntimeError("the moon is in the wrong house")

    made.inner.on_start = explode
    with pytest.raises(RuntimeError, match="moon"):
        made.provider.start(submission(), StrictSink())


def test_a_ledger_that_cannot_be_used_ends_activities_and_none_reaches_the_provider(
    stand: Stands, path: Path
) -> None:
    path.parent.mkdir()
    path.write_bytes(b"rubbish" * 1000)
    made = stand(account())
    sink = made.start()
    assert (sink.terminal, made.inner.starts) == ("fail", [])


def test_what_runs_when_the_ledger_breaks_is_answered_all_the_same(stand: Stands, path: Path) -> None:
    made = stand(account())
    sink = made.start()
    made.ledger.close()
    path.write_bytes(b"rubbish" * 1000)
    assert made.inner.sinks["activity-1"].complete("the answer")
    assert sink.output == "the answer"
    assert made.start("activity-2").terminal == "fail"


def test_a_close_counts_what_is_left_without_an_end(stand: Stands) -> None:
    made = stand(account())
    made.start()
    made.inner.sinks["activity-1"].text("four")
    asyncio.run(made.provider.close())
    assert tokens_of(made.ledger) == 2


def test_a_close_counts_also_where_the_provider_fails_to_close(stand: Stands) -> None:
    made = stand(account())

    async def explode() -> None:
        raise RuntimeError("stuck")

    made.inner.on_close = explode
    made.start()
    made.inner.sinks["activity-1"].text("four")
    with pytest.raises(RuntimeError, match="stuck"):
        asyncio.run(made.provider.close())
    assert tokens_of(made.ledger) == 2


@pytest.mark.spec("B5")
def test_what_is_said_after_the_close_is_not_counted(stand: Stands) -> None:
    made = stand(account())
    made.start()
    asyncio.run(made.provider.close())
    made.inner.sinks["activity-1"].complete("four")
    assert tokens_of(made.ledger) == 0


def test_the_ledger_is_closed_with_the_last_provider_and_not_before(ledger: Ledger, path: Path) -> None:
    watch = Watch(ledger)
    first, second = (Budgeted(ManualProvider(name), [account(name)], watch) for name in ("oracle", "smith"))
    assert isinstance(first.start(submission(), StrictSink()), Ok)
    asyncio.run(first.close())
    asyncio.run(first.close())
    assert len(list(path.parent.iterdir())) > 1
    asyncio.run(second.close())
    assert [file.name for file in path.parent.iterdir()] == ["spending.sqlite3"]


def test_a_cancelled_activity_is_counted_by_its_text(ledger: Ledger) -> None:
    async def play() -> list[IntelligenceEvent]:
        begun = asyncio.Event()

        async def talk(prompt: Prompt) -> AsyncGenerator[str, None]:
            yield "x" * 40
            begun.set()
            await asyncio.Event().wait()

        provider = Budgeted(StreamProvider("oracle", talk), [account()], Watch(ledger))
        runtime = create_intelligence_runtime(provider)
        started = runtime.submit("Talk.")
        assert isinstance(started, Ok)
        await begun.wait()
        runtime.cancel(started.value.id)
        events = runtime.poll()
        while not any(isinstance(event, Cancelled) for event in events):
            await asyncio.sleep(0)
            events += runtime.poll()
        await runtime.close()
        return events

    asyncio.run(play())
    assert tokens_of(ledger) == 20
