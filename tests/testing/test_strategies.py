"""The strategies make what they say, all of it, and nothing else."""

import subprocess
import sys
from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from engine_intelligence import (
    ActivityRequest,
    Cancelled,
    Completed,
    Failed,
    IntelligenceEvent,
    IntelligenceLimits,
    Ok,
    TextDelta,
    create_intelligence_runtime,
)
from engine_intelligence.protocol.codec import (
    encode_json,
    encode_msgpack,
    host_message_decoder,
    realm_message_decoder,
)
from engine_intelligence.protocol.messages import (
    Cancel,
    Close,
    Closed,
    Events,
    Heartbeat,
    Hello,
    HostMessage,
    Poll,
    RealmMessage,
    Rejected,
    Submit,
)
from engine_intelligence.testing import ManualProvider, Transcript, strategies

T = TypeVar("T")


def encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# Found, and not made small: that takes a hundred times as long, and here it tells nothing.
SEARCH = settings(max_examples=2000, database=None, phases=[Phase.generate])


def exists(strategy: st.SearchStrategy[T], condition: Callable[[T], bool]) -> bool:
    """Whether the strategy makes something of the kind; `find` raises where it does not."""
    find(strategy, condition, settings=SEARCH)
    return True


@given(text=strategies.texts(min_chars=2, max_chars=7))
def test_texts_can_be_encoded_and_have_the_length_that_is_asked_for(text: str) -> None:
    assert encodable(text)
    assert 2 <= len(text) <= 7


@pytest.mark.parametrize("part", ["\U0001f9e0", "\x00", "\n", "\u0301", "\u2028"], ids=ascii)
def test_texts_hold_awkward_characters(part: str) -> None:
    assert exists(strategies.texts(), lambda text: part in text)


def test_texts_may_be_empty() -> None:
    assert exists(strategies.texts(), lambda text: not text)


def test_texts_hold_lone_surrogates_where_they_are_asked_for() -> None:
    assert exists(strategies.texts(surrogates=True), lambda text: not encodable(text))


@given(request=strategies.requests(provider_id="p", limits=IntelligenceLimits(max_input_chars=5)))
def test_requests_are_admitted(request: ActivityRequest) -> None:
    runtime = create_intelligence_runtime(ManualProvider("p"), limits=IntelligenceLimits(max_input_chars=5))
    assert isinstance(runtime.submit(request.input, request.session), Ok)


@given(limits=strategies.limits())
def test_limits_are_limits(limits: IntelligenceLimits) -> None:
    assert isinstance(limits, IntelligenceLimits)


@pytest.mark.parametrize("kind", [TextDelta, Completed, Failed, Cancelled])
def test_events_are_of_every_kind(kind: type) -> None:
    assert exists(strategies.events(), lambda event: isinstance(event, kind))


@given(events=strategies.event_sequences())
def test_sequences_of_events_are_in_an_order_in_which_they_may_come(events: list[IntelligenceEvent]) -> None:
    told = Transcript()
    told.take(events)
    assert sorted(told.ended) == sorted(told.activities)
    for id in told.activities:
        terminal = told.terminal(id)
        if isinstance(terminal, Completed):
            assert terminal.output == told.text(id)


def test_sequences_of_events_interleave() -> None:
    def mixed(events: list[IntelligenceEvent]) -> bool:
        ids = [event.activity_id for event in events]
        return len(set(ids)) > 1 and ids != sorted(ids, key=ids.index)

    assert exists(strategies.event_sequences(), mixed)


def test_sequences_of_events_may_be_unfinished_where_that_is_asked_for() -> None:
    def unfinished(events: list[IntelligenceEvent]) -> bool:
        return bool(events) and all(isinstance(event, TextDelta) for event in events)

    assert exists(strategies.event_sequences(ended=False), unfinished)


@given(message=strategies.realm_messages())
def test_realm_messages_are_read_by_both_decoders(message: RealmMessage) -> None:
    assert realm_message_decoder().decode(encode_msgpack(message)) == message
    assert realm_message_decoder("json").decode(encode_json(message)) == message


@given(message=strategies.host_messages())
def test_host_messages_are_read_by_both_decoders(message: HostMessage) -> None:
    assert host_message_decoder().decode(encode_msgpack(message)) == message
    assert host_message_decoder("json").decode(encode_json(message)) == message


@pytest.mark.parametrize("kind", [Submit, Poll, Cancel, Close, Hello])
def test_realm_messages_are_of_every_kind(kind: type) -> None:
    assert exists(strategies.realm_messages(), lambda message: isinstance(message, kind))


@pytest.mark.parametrize("kind", [Events, Rejected, Closed, Hello, Heartbeat])
def test_host_messages_are_of_every_kind(kind: type) -> None:
    assert exists(strategies.host_messages(), lambda message: isinstance(message, kind))


@given(data=st.data(), whole=st.binary(max_size=50))
def test_chunks_joined_are_the_whole_and_none_is_empty(data: st.DataObject, whole: bytes) -> None:
    chunks = data.draw(strategies.chunkings(whole))
    assert b"".join(chunks) == whole
    assert all(chunks)


@given(data=st.data(), whole=st.binary(max_size=50))
def test_chunks_that_may_be_empty_joined_are_the_whole(data: st.DataObject, whole: bytes) -> None:
    assert b"".join(data.draw(strategies.chunkings(whole, empty=True))) == whole


def test_chunks_may_be_single_bytes_or_the_whole() -> None:
    assert exists(strategies.chunkings(b"abc"), lambda chunks: len(chunks) == 3)
    assert exists(strategies.chunkings(b"abc"), lambda chunks: len(chunks) == 1)


WITHOUT_HYPOTHESIS = """
import sys
sys.modules["hypothesis"] = None  # as if it were not installed
import engine_intelligence.testing as kit
assert kit.ManualClock and kit.check_provider and "pytest" not in sys.modules
for load in (lambda: kit.strategies, lambda: __import__("engine_intelligence.testing.strategies")):
    try:
        load()
    except ImportError as error:
        assert "pip install hypothesis" in str(error), error
    else:
        raise AssertionError("it was loaded")
try:
    kit.nothing
except AttributeError as error:
    assert "nothing" in str(error)
else:
    raise AssertionError("it was found")
"""


def test_without_hypothesis_the_kit_works_and_the_strategies_say_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_HYPOTHESIS], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_kit_alone_loads_no_hypothesis() -> None:
    probe = "import sys, engine_intelligence.testing; assert not {'hypothesis', 'pytest'} & set(sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
