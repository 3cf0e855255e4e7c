import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scene import make_scene

from engine_intelligence import ActivitySubmission, Completed, Err, SessionRef, intelligence_failure

SHIELD = "🛡"  # one code point, two units of UTF-16, four bytes of UTF-8
LONE = ["\ud800", "\udfff", "\ud83d\udee1", "\udee1\ud83d", "May I \udc80 pass?"]


def encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@pytest.mark.fault("R61")
@pytest.mark.spec("D1")
def test_the_length_of_an_input_is_counted_in_code_points() -> None:
    scene = make_scene(max_input_chars=4)
    assert scene.runtime.submit(SHIELD * 4).ok


@pytest.mark.fault("R61")
@pytest.mark.spec("D1")
def test_an_input_of_one_code_point_too_many_is_refused() -> None:
    scene = make_scene(max_input_chars=4)
    result = scene.runtime.submit(SHIELD * 5)
    assert isinstance(result, Err)
    assert (result.error.code, result.error.detail.field) == ("intelligence-invalid-request", "input")


@pytest.mark.spec("D1")
def test_combined_characters_count_by_their_code_points() -> None:
    scene = make_scene(max_input_chars=2)
    assert scene.runtime.submit("e\u0301").ok
    assert not scene.runtime.submit("e\u0301!").ok


@pytest.mark.spec("D1", "S10")
def test_the_length_of_an_output_is_counted_in_code_points() -> None:
    scene = make_scene(max_output_chars=4)
    id, sink = scene.begin()
    sink.text(SHIELD * 4)
    sink.complete(SHIELD * 4)
    terminal = scene.terminal(id)
    assert isinstance(terminal, Completed)
    assert (scene.told.text(id), terminal.output) == (SHIELD * 4, SHIELD * 4)


@pytest.mark.spec("D1")
@pytest.mark.parametrize("input", LONE, ids=ascii)
def test_an_input_that_utf_8_cannot_encode_is_refused(input: str) -> None:
    scene = make_scene()
    result = scene.runtime.submit(input)
    assert isinstance(result, Err)
    assert (result.error.code, result.error.detail.field) == ("intelligence-invalid-request", "input")


@pytest.mark.spec("D1")
@pytest.mark.parametrize("id", LONE, ids=ascii)
def test_a_session_that_utf_8_cannot_encode_is_refused(id: str) -> None:
    scene = make_scene()
    result = scene.runtime.submit("May I pass?", SessionRef("test.provider", id))
    assert isinstance(result, Err)
    assert (result.error.code, result.error.detail.field) == ("intelligence-invalid-request", "session")


@pytest.mark.spec("D1")
@pytest.mark.parametrize("id", LONE, ids=ascii)
def test_an_activity_id_that_utf_8_cannot_encode_is_refused(id: str) -> None:
    scene = make_scene()
    result = scene.runtime.accept(ActivitySubmission(id, SessionRef("test.provider", "s-1"), "May I pass?"))
    assert isinstance(result, Err)
    assert (result.error.code, result.error.detail.field) == ("intelligence-invalid-request", "id")


@pytest.mark.spec("D1")
@pytest.mark.parametrize("id", LONE, ids=ascii)
def test_what_a_cancel_of_such_an_id_says_can_be_sent(id: str) -> None:
    scene = make_scene()
    result = scene.runtime.cancel(id)
    assert isinstance(result, Err)
    msgspec.json.encode(intelligence_failure(result.error))


@pytest.mark.spec("D1")
@pytest.mark.parametrize("provider_id", LONE, ids=ascii)
def test_what_a_session_of_such_a_provider_is_refused_with_can_be_sent(provider_id: str) -> None:
    scene = make_scene()
    result = scene.runtime.submit("May I pass?", SessionRef(provider_id, "s-1"))
    assert isinstance(result, Err)
    msgspec.json.encode(intelligence_failure(result.error))


@pytest.mark.spec("D1")
def test_a_lone_surrogate_that_a_provider_streams_is_repaired() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.text("He\ud800llo")
    scene.poll()
    assert scene.told.text(id) == "He\ufffdllo"


@pytest.mark.spec("D1")
def test_a_lone_surrogate_in_a_complete_output_is_repaired() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.complete("He\udfffllo")
    terminal = scene.terminal(id)
    assert isinstance(terminal, Completed)
    assert terminal.output == "He\ufffdllo"


@pytest.mark.fault("R43")
@pytest.mark.spec("D1")
def test_a_lone_surrogate_in_a_cause_does_not_reach_the_realm() -> None:
    scene = make_scene()
    id, sink = scene.begin()
    sink.fail("the model \ud800 is tired")
    assert encodable(scene.failure(id).error.detail.cause or "")


@pytest.mark.spec("D1", "S11")
def test_two_halves_of_a_pair_that_come_apart_stay_encodable_when_merged() -> None:
    scene = make_scene(max_pending_events_per_activity=2)
    id, sink = scene.begin()
    sink.text("a\ud83d")
    sink.text("\udee1b")
    scene.poll()
    assert scene.told.text(id) == "a\ufffd\ufffdb"


@pytest.mark.spec("D1")
@given(st.lists(st.text(st.characters(), max_size=6), max_size=6))
def test_whatever_a_provider_streams_reaches_the_realm_encodable(chunks: list[str]) -> None:
    scene = make_scene()
    id, sink = scene.begin()
    for chunk in chunks:
        sink.text(chunk)
    sink.complete("".join(chunks))
    terminal = scene.terminal(id)
    assert isinstance(terminal, Completed)
    assert terminal.output == scene.told.text(id)
    assert encodable(terminal.output)
