"""`check_provider` accepts what keeps the contract, and names the rule of each way of breaking it."""

import asyncio
from collections.abc import AsyncGenerator, Iterator

import pytest
from testing.broken_providers import BROKEN, Broken
from testing.good_providers import FAILS, Good, Released, TakesItsTime

from engine_intelligence import Prompt, StreamProvider
from engine_intelligence.providers import scripted
from engine_intelligence.providers.backend import provider_over
from engine_intelligence.testing import (
    PROVIDER_CHECKS,
    ConformanceError,
    Script,
    ScriptedProvider,
    check_provider,
)
from engine_intelligence.testing.provider_checks import CHECKS


@pytest.fixture(autouse=True)
def threads_are_let_go() -> Iterator[None]:
    Released.event.clear()
    yield
    Released.event.set()


async def speak(prompt: Prompt) -> AsyncGenerator[str, None]:
    for chunk in ("Who ", "goes ", "there?"):
        await asyncio.sleep(0.001)
        if prompt.input == FAILS:
            raise LookupError("no such model")
        yield chunk


def write(submission: object) -> Script:
    fails = getattr(submission, "input", "") == FAILS
    return Script(deltas=("Who ", "goes there?"), failure="it was asked to fail" if fails else None)


@pytest.mark.parametrize("check", PROVIDER_CHECKS)
@pytest.mark.parametrize("make", [Good, TakesItsTime], ids=lambda make: make.__name__)
def test_a_provider_that_keeps_the_contract_passes(make: type[Good], check: str) -> None:
    check_provider(make, failing_input=FAILS, only=check)


@pytest.mark.spec("P2", "P3", "P5", "P6", "P7", "S12", "S14")
@pytest.mark.parametrize("check", PROVIDER_CHECKS)
def test_a_provider_of_one_generator_passes(check: str) -> None:
    check_provider(lambda: StreamProvider("p", speak), failing_input=FAILS, only=check)


@pytest.mark.parametrize("check", PROVIDER_CHECKS)
def test_a_provider_that_goes_on_when_it_is_told_passes(check: str) -> None:
    check_provider(
        lambda: ScriptedProvider("p", write), failing_input=FAILS, drive=ScriptedProvider.advance, only=check
    )


def test_the_provider_that_a_host_makes_of_a_script_passes() -> None:
    options = scripted.Options(text="Who goes there?", interval_s=0.001)
    check_provider(lambda: provider_over(scripted.create(options), "p"))


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_a_broken_provider_is_rejected_by_its_rule(broken: Broken) -> None:
    with pytest.raises(ConformanceError) as found:
        check_provider(broken.make, only=broken.check, **broken.options)
    assert found.value.rule == broken.rule, str(found.value)


def test_all_checks_are_made_up_to_the_last() -> None:
    last = BROKEN[-1]
    assert last.check == PROVIDER_CHECKS[-1]
    with pytest.raises(ConformanceError) as found:
        check_provider(last.make, **last.options)
    assert found.value.rule == last.rule


def test_every_check_rejects_something_for_each_of_its_rules() -> None:
    proved = {(broken.check, broken.rule) for broken in BROKEN}
    assert {(check.name, rule) for check in CHECKS for rule in check.rules} <= proved


def test_a_check_may_be_made_inside_a_running_loop() -> None:
    async def main() -> None:
        check_provider(Good, only=PROVIDER_CHECKS[1])

    asyncio.run(main())


def test_what_a_factory_raises_is_raised_as_it_is() -> None:
    def make() -> Good:
        raise LookupError("no key is set")

    with pytest.raises(LookupError, match="no key is set"):
        check_provider(make)


def test_a_check_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no check 'it is fast'"):
        check_provider(Good, only="it is fast")


def test_a_finding_says_the_rule_and_what_was_seen() -> None:
    with pytest.raises(AssertionError, match=r"^rule S6: an Activity went on after complete\(\): text$"):
        check_provider(BROKEN[4].make, only=BROKEN[4].check)


def test_a_blocked_thread_is_told_by_its_place() -> None:
    blocking = next(broken for broken in BROKEN if str(broken) == "BlocksInStart")
    with pytest.raises(ConformanceError, match=r"start\(\) blocked its thread for more than 0.5 s, at "):
        check_provider(blocking.make, only=blocking.check, blocked_s=0.5)
