"""Rule D4: whatever a game hands in, `submit` and `cancel` return."""

from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest
from support.scene import make_scene

from engine_intelligence import (
    ActivitySubmission,
    Err,
    IntelligenceService,
    SessionRef,
    create_intelligence_port_client,
    intelligence_failure,
)
from engine_intelligence.ports.memory import memory_port_pair


class Spiteful:
    """Raises wherever it is looked at."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError("do not look at me")

    __str__ = __repr__ = __len__ = __bool__ = __iter__ = __eq__ = __hash__ = __format__ = _raise
    __lt__ = __contains__ = __getitem__ = __int__ = __index__ = _raise

    def __getattr__(self, name: str) -> object:
        raise RuntimeError("do not look at me")


class SpitefulText(str):
    """A str that raises wherever it is asked for something."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError("do not look at me")

    __str__ = __repr__ = __len__ = __bool__ = __eq__ = __hash__ = __format__ = _raise
    __lt__ = __contains__ = _raise
    encode = isascii = _raise  # type: ignore[assignment]


ABSURD: dict[str, object] = {
    "None": None,
    "zero": 0,
    "huge int": 10**5000,
    "float": float("nan"),
    "bool": True,
    "bytes": b"May I pass?",
    "list": ["May I pass?"],
    "dict": {"input": "May I pass?"},
    "class": str,
    "object": object(),
    "spiteful": Spiteful(),
}
ABSURD_TEXTS: dict[str, str] = {
    "empty": "",
    "huge": "x" * 10_000_000,
    "surrogate": "\ud800",
    "NUL": "\0",
    "spiteful text": SpitefulText("May I pass?"),
}


def runtime() -> IntelligenceService:
    return make_scene().runtime


def client() -> IntelligenceService:
    realm_end, _ = memory_port_pair()
    return create_intelligence_port_client("test.provider", realm_end)


both = pytest.mark.parametrize("make", [runtime, client])


def absurd(*others: str) -> pytest.MarkDecorator:
    named = {**ABSURD, **{name: ABSURD_TEXTS[name] for name in others}}
    return pytest.mark.parametrize("value", named.values(), ids=list(named))


@both
@absurd("empty", "huge", "surrogate")
@pytest.mark.spec("D4", "S2")
def test_an_absurd_input_is_an_invalid_request(
    make: Callable[[], IntelligenceService], value: object
) -> None:
    result = make().submit(cast(Any, value))
    assert isinstance(result, Err)
    assert (result.error.code, result.error.detail.field) == ("intelligence-invalid-request", "input")


@both
@pytest.mark.parametrize("value", ABSURD_TEXTS.values(), ids=list(ABSURD_TEXTS))
@pytest.mark.spec("D4")
def test_submit_of_an_absurd_text_returns(make: Callable[[], IntelligenceService], value: str) -> None:
    assert make().submit(value).ok in (True, False)


@both
@pytest.mark.parametrize(
    "value", list(ABSURD.values())[1:], ids=list(ABSURD)[1:]
)  # None stands for no session
@pytest.mark.spec("D4", "S2")
def test_an_absurd_session_is_an_invalid_request(
    make: Callable[[], IntelligenceService], value: object
) -> None:
    result = make().submit("May I pass?", cast(Any, value))
    assert isinstance(result, Err)
    assert (result.error.code, result.error.detail.field) == ("intelligence-invalid-request", "session")


@both
@absurd()
@pytest.mark.spec("D4", "S2")
def test_a_session_with_an_absurd_id_is_an_invalid_request(
    make: Callable[[], IntelligenceService], value: object
) -> None:
    result = make().submit("May I pass?", SessionRef("test.provider", cast(Any, value)))
    assert isinstance(result, Err)
    assert (result.error.code, result.error.detail.field) == ("intelligence-invalid-request", "session")


@both
@absurd()
@pytest.mark.spec("D4", "S2")
def test_a_session_of_an_absurd_provider_is_refused(
    make: Callable[[], IntelligenceService], value: object
) -> None:
    result = make().submit("May I pass?", SessionRef(cast(Any, value), "s-1"))
    assert isinstance(result, Err)
    msgspec.json.encode(intelligence_failure(result.error))


@both
@absurd(*ABSURD_TEXTS)
@pytest.mark.spec("D4", "S13")
def test_cancel_of_an_absurd_id_finds_no_activity(
    make: Callable[[], IntelligenceService], value: object
) -> None:
    service = make()
    assert service.submit("May I pass?").ok
    result = service.cancel(cast(Any, value))
    assert isinstance(result, Err)
    assert result.error.code == "intelligence-activity-not-found"


@both
@absurd(*ABSURD_TEXTS)
@pytest.mark.spec("D4")
def test_what_a_cancel_of_an_absurd_id_says_is_short_and_can_be_sent(
    make: Callable[[], IntelligenceService], value: object
) -> None:
    result = make().cancel(cast(Any, value))
    assert isinstance(result, Err)
    assert len(msgspec.json.encode(intelligence_failure(result.error))) < 2000
    assert len(f"{result.error} {result.error!r}") < 4000


@absurd("empty", "huge", "surrogate")
@pytest.mark.spec("D4", "S2")
def test_an_absurd_activity_id_is_an_invalid_request(value: object) -> None:
    submission = ActivitySubmission(cast(Any, value), SessionRef("test.provider", "s-1"), "May I pass?")
    result = make_scene().runtime.accept(submission)
    assert isinstance(result, Err)
    assert (result.error.code, result.error.detail.field) == ("intelligence-invalid-request", "id")


@absurd("empty", "surrogate")
@pytest.mark.spec("D4", "S5")
def test_an_absurd_identity_that_is_made_for_an_activity_is_refused(value: object) -> None:
    scene = make_scene(create_activity_id=lambda: cast(Any, value))
    assert not scene.runtime.submit("May I pass?").ok


@absurd("empty", "surrogate")
@pytest.mark.spec("D4", "S5")
def test_an_absurd_identity_that_is_made_for_a_session_is_refused(value: object) -> None:
    scene = make_scene(create_session_id=lambda: cast(Any, value))
    assert not scene.runtime.submit("May I pass?").ok


@pytest.mark.parametrize("which", ["create_activity_id", "create_session_id"])
@pytest.mark.spec("D4", "S5")
def test_a_maker_of_identities_that_raises_makes_no_submit_raise(which: str) -> None:
    def broken() -> str:
        raise OSError("no entropy")

    scene = make_scene(**cast(Any, {which: broken}))
    assert not scene.runtime.submit("May I pass?").ok


@pytest.mark.spec("D4", "S8")
def test_what_was_refused_has_taken_no_place() -> None:
    scene = make_scene(max_concurrent_activities=1)
    for value in ABSURD.values():
        scene.runtime.submit(cast(Any, value))
        scene.runtime.cancel(cast(Any, value))
    assert scene.runtime.held_activities == 0
    assert scene.runtime.submit("May I pass?").ok
