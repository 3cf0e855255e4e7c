"""Rules S2 to S5, for both kinds of service."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from support.scene import make_scene

from engine_intelligence import (
    Completed,
    Err,
    IntelligenceLimits,
    IntelligenceService,
    Ok,
    SessionRef,
    create_intelligence_port_client,
    create_intelligence_runtime,
)
from engine_intelligence.ports.memory import memory_port_pair
from engine_intelligence.testing import ManualProvider


@dataclass
class Service:
    """A service that is left alone, and what it has done."""

    service: IntelligenceService
    work: Callable[[], int]
    """How many messages it has sent, or how often it has called its provider."""
    made: list[str] = field(default_factory=list[str])

    @property
    def held(self) -> int:
        return int(self._any().held_activities)

    def _any(self) -> Any:
        return self.service


def maker(made: list[str], prefix: str) -> Callable[[], str]:
    def make() -> str:
        made.append(f"{prefix}-{len(made) + 1}")
        return made[-1]

    return make


def runtime(limits: IntelligenceLimits) -> Service:
    provider, made = ManualProvider(), list[str]()
    service = create_intelligence_runtime(
        provider,
        limits=limits,
        create_activity_id=maker(made, "a"),
        create_session_id=maker(made, "s"),
    )
    return Service(service, lambda: len(provider.calls), made)


def client(limits: IntelligenceLimits) -> Service:
    realm_end, host_end = memory_port_pair()
    made, received = list[str](), list[object]()
    service = create_intelligence_port_client(
        "test.provider",
        realm_end,
        limits=limits,
        create_activity_id=maker(made, "a"),
        create_session_id=maker(made, "s"),
    )

    def work() -> int:
        received.extend(host_end.receive())
        return len(received)

    return Service(service, work, made)


LIMITS = IntelligenceLimits(max_input_chars=8, max_concurrent_activities=2)
INVALID: dict[str, tuple[str, SessionRef | None]] = {
    "empty": ("", None),
    "too long": ("x" * 9, None),
    "not encodable": ("\ud800", None),
    "session not encodable": ("x", SessionRef("test.provider", "\ud800")),
    "empty with a session": ("", SessionRef("test.provider", "s-9")),
}
OTHER = SessionRef("other.provider", "s-9")

both = pytest.mark.parametrize("make", [runtime, client])
invalid = pytest.mark.parametrize(("input", "session"), INVALID.values(), ids=list(INVALID))
Make = Callable[[IntelligenceLimits], Service]


@both
@invalid
@pytest.mark.spec("S2")
def test_an_invalid_request_is_refused(make: Make, input: str, session: SessionRef | None) -> None:
    result = make(LIMITS).service.submit(input, session)
    assert isinstance(result, Err)
    assert result.error.code == "intelligence-invalid-request"


@both
@invalid
@pytest.mark.spec("S2")
def test_no_identity_is_made_for_an_invalid_request(
    make: Make, input: str, session: SessionRef | None
) -> None:
    made = make(LIMITS)
    made.service.submit(input, session)
    assert made.made == []


@both
@invalid
@pytest.mark.spec("S2")
def test_no_place_is_taken_by_an_invalid_request(make: Make, input: str, session: SessionRef | None) -> None:
    made = make(LIMITS)
    made.service.submit(input, session)
    assert made.held == 0


@both
@invalid
@pytest.mark.spec("S2")
def test_neither_port_nor_provider_sees_an_invalid_request(
    make: Make, input: str, session: SessionRef | None
) -> None:
    made = make(LIMITS)
    made.service.submit(input, session)
    assert made.work() == 0


@pytest.mark.fault("R61")
@both
@pytest.mark.spec("S2")
def test_the_longest_input_is_accepted(make: Make) -> None:
    assert make(LIMITS).service.submit("x" * 8).ok


@both
@pytest.mark.spec("S2")
def test_an_invalid_request_says_so_also_when_there_is_no_place(make: Make) -> None:
    service = make(LIMITS).service
    service.submit("x")
    service.submit("x")
    result = service.submit("")
    assert isinstance(result, Err)
    assert result.error.code == "intelligence-invalid-request"


@both
@pytest.mark.spec("S3")
def test_a_session_of_another_provider_is_refused_by_both_names(make: Make) -> None:
    result = make(LIMITS).service.submit("x", OTHER)
    assert isinstance(result, Err)
    detail = result.error.detail
    assert (result.error.code, detail.expected_provider_id, detail.received_provider_id) == (
        "intelligence-session-provider-mismatch",
        "test.provider",
        "other.provider",
    )


@both
@pytest.mark.spec("S3")
def test_no_identity_is_made_for_a_session_of_another_provider(make: Make) -> None:
    made = make(LIMITS)
    made.service.submit("x", OTHER)
    assert made.made == []


@both
@pytest.mark.spec("S3")
def test_no_place_is_taken_for_a_session_of_another_provider(make: Make) -> None:
    made = make(LIMITS)
    made.service.submit("x", OTHER)
    assert made.held == 0


@both
@pytest.mark.spec("S3")
def test_neither_port_nor_provider_sees_a_session_of_another_provider(make: Make) -> None:
    made = make(LIMITS)
    made.service.submit("x", OTHER)
    assert made.work() == 0


@both
@pytest.mark.spec("S3")
@pytest.mark.parametrize(
    "other", ["Test.provider", "test.provider ", "test.provide", "", "tеst.provider"], ids=ascii
)
def test_a_provider_is_known_by_its_exact_name(make: Make, other: str) -> None:
    assert not make(LIMITS).service.submit("x", SessionRef(other, "s-9")).ok


@both
@pytest.mark.spec("S4", "S5")
def test_a_submit_without_a_session_begins_one(make: Make) -> None:
    made = make(LIMITS)
    result = made.service.submit("x")
    assert isinstance(result, Ok)
    assert result.value.session.provider_id == "test.provider"
    assert sorted([result.value.id, result.value.session.id]) == sorted(made.made)


@both
@pytest.mark.spec("S4")
def test_a_submit_with_a_session_continues_it(make: Make) -> None:
    session = SessionRef("test.provider", "s-9")
    result = make(LIMITS).service.submit("x", session)
    assert isinstance(result, Ok)
    assert result.value.session == session


@both
@pytest.mark.spec("S4", "S5")
def test_no_session_id_is_made_where_one_is_given(make: Make) -> None:
    made = make(LIMITS)
    result = made.service.submit("x", SessionRef("test.provider", "s-9"))
    assert isinstance(result, Ok)
    assert made.made == [result.value.id]


@pytest.mark.spec("S4")
def test_a_new_session_is_in_the_submission_and_in_what_is_completed() -> None:
    scene = make_scene()
    started = scene.submit()
    scene.provider.sinks[started.id].complete("Halt!")
    terminal = scene.terminal(started.id)
    assert isinstance(terminal, Completed)
    assert [scene.provider.submissions[0].session, terminal.session] == [started.session] * 2


@pytest.mark.spec("S4")
def test_a_session_that_was_given_is_in_the_submission_and_in_what_is_completed() -> None:
    scene = make_scene()
    session = SessionRef("test.provider", "s-9")
    id, sink = scene.begin(session=session)
    sink.complete("Halt!")
    terminal = scene.terminal(id)
    assert isinstance(terminal, Completed)
    assert [scene.provider.submissions[0].session, terminal.session] == [session] * 2


@pytest.mark.spec("S5")
def test_an_id_that_is_made_twice_is_an_invalid_request() -> None:
    scene = make_scene(create_activity_id=lambda: "same")
    scene.submit()
    result = scene.runtime.submit("x")
    assert isinstance(result, Err)
    assert (result.error.code, result.error.detail.field) == ("intelligence-invalid-request", "id")


@pytest.mark.spec("S5")
def test_an_id_that_is_made_twice_leaves_the_running_activity_alone() -> None:
    scene = make_scene(create_activity_id=lambda: "same")
    id, sink = scene.begin()
    scene.runtime.submit("x")
    sink.complete("Halt!")
    assert isinstance(scene.terminal(id), Completed)
    assert scene.provider.starts == ["same"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: create_intelligence_runtime(ManualProvider()),
        lambda: create_intelligence_port_client("test.provider", memory_port_pair()[0]),
    ],
    ids=["runtime", "client"],
)
@pytest.mark.spec("S5")
def test_the_default_identities_are_long_and_never_the_same(make: Callable[[], IntelligenceService]) -> None:
    made: list[str] = []
    for _ in range(50):
        result = make().submit("x")
        assert isinstance(result, Ok)
        made += [result.value.id, result.value.session.id]
    assert len(set(made)) == len(made)
    # 128 bits are 22 characters in base64, and more in any other alphabet.
    assert min(len(id) for id in made) >= 22


@pytest.mark.spec("S5")
def test_the_default_identities_are_not_those_of_a_seeded_generator() -> None:
    import random

    made: list[str] = []
    for _ in range(2):
        random.seed(7)
        result = create_intelligence_runtime(ManualProvider()).submit("x")
        assert isinstance(result, Ok)
        made += [result.value.id, result.value.session.id]
    assert len(set(made)) == len(made)
