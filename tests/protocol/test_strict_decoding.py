"""Rules M2 and M3: what the decoder lets through, what it refuses, and by which name."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import engine_intelligence
from engine_intelligence.protocol.codec import (
    MessageDecoder,
    ProtocolError,
    encode_json,
    encode_msgpack,
    host_control_decoder,
    host_message_decoder,
    realm_control_decoder,
    realm_message_decoder,
)
from engine_intelligence.protocol.messages import HostMessage, RealmMessage
from engine_intelligence.testing.strategies import host_messages, realm_messages

SOURCE = Path(engine_intelligence.__file__).parent
CANARY = "sk-CANARY"

ENCODERS = {"json": msgspec.json.encode, "msgpack": msgspec.msgpack.encode}
WRITERS = {"json": encode_json, "msgpack": encode_msgpack}


def verdict(decoder: MessageDecoder[Any], data: bytes) -> str | None:
    """The reason for which data is refused, or `None` if it is read. Any other exception is the test's failure."""
    try:
        decoder.decode(data)
    except ProtocolError as error:
        return error.reason
    return None


def refusal(decoder: MessageDecoder[Any], data: bytes) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        decoder.decode(data)
    return caught.value


@pytest.mark.spec("M2")
@pytest.mark.parametrize("encoding", ["json", "msgpack"])
@given(message=realm_messages())
def test_every_realm_message_comes_back_equal(encoding: str, message: RealmMessage) -> None:
    assert realm_message_decoder(encoding).decode(WRITERS[encoding](message)) == message


@pytest.mark.spec("M2")
@pytest.mark.parametrize("encoding", ["json", "msgpack"])
@given(message=host_messages())
def test_every_host_message_comes_back_equal(encoding: str, message: HostMessage) -> None:
    assert host_message_decoder(encoding).decode(WRITERS[encoding](message)) == message


SUBMISSION = {"id": "a", "session": {"providerId": "p", "id": "s"}, "input": "x"}
LIMITS = {
    "maxInputChars": 1,
    "maxOutputChars": 1,
    "maxConcurrentActivities": 1,
    "maxPendingEventsPerActivity": 2,
    "maxPollEvents": 1,
}
HELLO: dict[str, object] = {
    "kind": "intelligence-hello",
    "protocol": 1,
    "providerId": "p",
    "limits": LIMITS,
    "features": [],
}

INVALID_FROM_A_REALM: dict[str, object] = {
    "bool for int": {"kind": "intelligence-poll", "maxEvents": True},
    "float for int": {"kind": "intelligence-poll", "maxEvents": 1.5},
    "whole float for int": {"kind": "intelligence-poll", "maxEvents": 1.0},
    "text for int": {"kind": "intelligence-poll", "maxEvents": "1"},
    "null for int": {"kind": "intelligence-poll", "maxEvents": None},
    "int for text": {"kind": "intelligence-cancel", "activityId": 1},
    "list for text": {"kind": "intelligence-cancel", "activityId": ["a"]},
    "list for object": {"kind": "intelligence-submit", "submission": ["a", ["p", "s"], "x"]},
    "missing field": {"kind": "intelligence-poll"},
    "missing inner field": {
        "kind": "intelligence-submit",
        "submission": {"id": "a", "session": {"providerId": "p"}, "input": "x"},
    },
    "missing session": {"kind": "intelligence-submit", "submission": {"id": "a", "input": "x"}},
    "unknown field": {"kind": "intelligence-close", "now": 1},
    "unknown field in submit": {"kind": "intelligence-submit", "submission": SUBMISSION, "priority": 1},
    "unknown field in poll": {"kind": "intelligence-poll", "maxEvents": 1, "priority": 1},
    "unknown field in cancel": {"kind": "intelligence-cancel", "activityId": "a", "force": True},
    "unknown inner field": {"kind": "intelligence-submit", "submission": {**SUBMISSION, "model": "big"}},
    "unknown session field": {
        "kind": "intelligence-submit",
        "submission": {**SUBMISSION, "session": {"providerId": "p", "id": "s", "path": "/"}},
    },
    "snake case": {"kind": "intelligence-poll", "max_events": 1},
    "unknown kind": {"kind": "intelligence-eval"},
    "kind of the other side": {"kind": "intelligence-events", "events": []},
    "kind of a control channel": {"kind": "channel-open", "channel": 1, "providerId": "p"},
    "kind that is no text": {"kind": 1},
    "no kind": {"maxEvents": 1},
    "no object": 1,
    "a list": [{"kind": "intelligence-close"}],
    "null": None,
    "hello without limits": {k: v for k, v in HELLO.items() if k != "limits"},
    "hello with a limit of zero": {**HELLO, "limits": {**LIMITS, "maxPollEvents": 0}},
    "hello with a negative limit": {**HELLO, "limits": {**LIMITS, "maxInputChars": -1}},
    "hello with a bool limit": {**HELLO, "limits": {**LIMITS, "maxInputChars": True}},
    "hello with an unknown limit": {**HELLO, "limits": {**LIMITS, "maxTools": 1}},
    "hello with features that are no texts": {**HELLO, "features": [1]},
    "hello with a float for its protocol": {**HELLO, "protocol": 1.0},
}

INVALID_FROM_A_HOST: dict[str, object] = {
    "event of an unknown type": {
        "kind": "intelligence-events",
        "events": [{"type": "tool-call", "activityId": "a", "sequence": 1}],
    },
    "event without a type": {"kind": "intelligence-events", "events": [{"activityId": "a", "sequence": 1}]},
    "bool for a sequence": {
        "kind": "intelligence-events",
        "events": [{"type": "cancelled", "activityId": "a", "sequence": True}],
    },
    "float for a sequence": {
        "kind": "intelligence-events",
        "events": [{"type": "cancelled", "activityId": "a", "sequence": 1.0}],
    },
    "unknown field in events": {"kind": "intelligence-events", "events": [], "more": True},
    "unknown field in rejected": {
        "kind": "intelligence-rejected",
        "activityId": "a",
        "error": {"code": "intelligence-closed", "expected": "", "hint": "", "detail": {}},
        "later": 1,
    },
    "unknown field in closed": {"kind": "intelligence-closed", "code": 1},
    "unknown field in a delta": {
        "kind": "intelligence-events",
        "events": [{"type": "text-delta", "activityId": "a", "sequence": 1, "text": "x", "role": "system"}],
    },
    "unknown field in an event": {
        "kind": "intelligence-events",
        "events": [{"type": "cancelled", "activityId": "a", "sequence": 1, "later": 1}],
    },
    "unknown finish": {
        "kind": "intelligence-events",
        "events": [
            {
                "type": "completed",
                "activityId": "a",
                "sequence": 1,
                "session": {"providerId": "p", "id": "s"},
                "output": "x",
                "finish": "because",
            }
        ],
    },
    "unknown error code": {
        "kind": "intelligence-rejected",
        "activityId": "a",
        "error": {"code": "intelligence-other", "expected": "", "hint": "", "detail": {}},
    },
    "text for events": {"kind": "intelligence-events", "events": "none"},
    "reason that is no text": {"kind": "intelligence-closed", "reason": 1},
    "kind of the other side": {"kind": "intelligence-poll", "maxEvents": 1},
}


@pytest.mark.fault("R52", "R74")
@pytest.mark.spec("M2", "M3")
@pytest.mark.parametrize("encoding", ["json", "msgpack"])
@pytest.mark.parametrize("raw", INVALID_FROM_A_REALM.values(), ids=INVALID_FROM_A_REALM.keys())
def test_a_realm_message_of_the_wrong_shape_is_invalid(encoding: str, raw: object) -> None:
    assert refusal(realm_message_decoder(encoding), ENCODERS[encoding](raw)).reason == "message-invalid"


@pytest.mark.spec("M2", "M3")
@pytest.mark.parametrize("encoding", ["json", "msgpack"])
@pytest.mark.parametrize("raw", INVALID_FROM_A_HOST.values(), ids=INVALID_FROM_A_HOST.keys())
def test_a_host_message_of_the_wrong_shape_is_invalid(encoding: str, raw: object) -> None:
    assert refusal(host_message_decoder(encoding), ENCODERS[encoding](raw)).reason == "message-invalid"


CANCEL_JSON = '{"kind":"intelligence-cancel","activityId":"a"}'
GARBLED_JSON: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"hello",
    "cut": CANCEL_JSON[:-1].encode(),
    "trailing text": CANCEL_JSON.encode() + b"x",
    "two messages": CANCEL_JSON.encode() * 2,
    "NaN": b'{"kind":"intelligence-poll","maxEvents":NaN}',
    "Infinity": b'{"kind":"intelligence-poll","maxEvents":Infinity}',
    "a lone high surrogate": b'{"kind":"intelligence-cancel","activityId":"\\ud800"}',
    "a lone low surrogate": b'{"kind":"intelligence-cancel","activityId":"\\udc00x"}',
    "surrogates in the wrong order": b'{"kind":"intelligence-cancel","activityId":"\\udc00\\ud800"}',
    "an encoded surrogate": b'{"kind":"intelligence-cancel","activityId":"\xed\xa0\x80"}',
    "invalid UTF-8": b'{"kind":"intelligence-cancel","activityId":"\xff"}',
    "overlong UTF-8": b'{"kind":"intelligence-cancel","activityId":"\xc0\x80"}',
    "UTF-8 that is cut": b'{"kind":"intelligence-cancel","activityId":"\xe2\x82"}',
    "UTF-16": CANCEL_JSON.encode("utf-16"),
    "UTF-16 without a mark": CANCEL_JSON.encode("utf-16-le"),
    "UTF-32": CANCEL_JSON.encode("utf-32"),
    "a byte order mark": b"\xef\xbb\xbf" + CANCEL_JSON.encode(),
    "a raw control character": b'{"kind":"intelligence-cancel","activityId":"\x00"}',
}
CANCEL_MSGPACK = msgspec.msgpack.encode({"kind": "intelligence-cancel", "activityId": "a"})
GARBLED_MSGPACK: dict[str, bytes] = {
    "nothing": b"",
    "cut": CANCEL_MSGPACK[:-1],
    "trailing bytes": CANCEL_MSGPACK + b"\x00",
    "two messages": CANCEL_MSGPACK * 2,
    "a byte that is never used": b"\xc1",
    "invalid UTF-8": CANCEL_MSGPACK[:-1] + b"\xff",
    "an encoded surrogate": CANCEL_MSGPACK[:-2] + b"\xa3\xed\xa0\x80",
    "a text that announces 4 GiB": CANCEL_MSGPACK[:-2] + b"\xdb\xff\xff\xff\xffa",
}


@pytest.mark.spec("M2", "M3")
@pytest.mark.parametrize("data", GARBLED_JSON.values(), ids=GARBLED_JSON.keys())
def test_what_is_no_json_text_is_garbled(data: bytes) -> None:
    assert refusal(realm_message_decoder("json"), data).reason == "frame-garbled"


@pytest.mark.spec("M2", "M3")
@pytest.mark.parametrize("data", GARBLED_MSGPACK.values(), ids=GARBLED_MSGPACK.keys())
def test_what_is_no_messagepack_is_garbled(data: bytes) -> None:
    assert refusal(realm_message_decoder("msgpack"), data).reason == "frame-garbled"


DEEP = 200_000


@pytest.mark.spec("M2", "M3", "M5")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(("json", b"[" * DEEP + b"]" * DEEP), id="json-list"),
        pytest.param(("json", b'{"a":' * DEEP + b"1" + b"}" * DEEP), id="json-object"),
        pytest.param(
            ("json", json.dumps(HELLO)[:-1].encode() + b',"later":' + b"[" * DEEP + b"]" * DEEP + b"}"),
            id="json-in-a-field-that-is-ignored",
        ),
        pytest.param(("msgpack", b"\x91" * DEEP + b"\x01"), id="msgpack-list"),
        pytest.param(("msgpack", b"\x81\xa1a" * DEEP + b"\x01"), id="msgpack-object"),
        pytest.param(
            (
                "msgpack",
                b"\x86" + msgspec.msgpack.encode(HELLO)[1:] + b"\xa5later" + b"\x91" * DEEP + b"\x01",
            ),
            id="msgpack-in-a-field-that-is-ignored",
        ),
    ],
)
def test_deep_nesting_is_an_invalid_message_and_no_recursion(data: tuple[str, bytes]) -> None:
    encoding, body = data
    assert refusal(realm_message_decoder(encoding), body).reason == "message-invalid"


@pytest.mark.spec("M2", "M3")
@pytest.mark.parametrize("digits", [20, 400, 5000])
def test_a_number_of_many_digits_is_read_or_refused_by_name(digits: int) -> None:
    decoder = realm_message_decoder("json")
    data = b'{"kind":"intelligence-poll","maxEvents":' + b"9" * digits + b"}"
    assert verdict(decoder, data) in (None, "message-invalid", "frame-garbled")


DECODERS: dict[str, MessageDecoder[Any]] = {
    "realm-json": realm_message_decoder("json"),
    "realm-msgpack": realm_message_decoder(),
    "host-json": host_message_decoder("json"),
    "host-msgpack": host_message_decoder(),
    "realm-control": realm_control_decoder(),
    "host-control": host_control_decoder(),
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
mutated_messages = st.one_of(realm_messages(), host_messages()).flatmap(
    lambda message: st.tuples(
        st.sampled_from([encode_json(message), encode_msgpack(message)]),
        st.integers(0, 2**16),
        st.binary(max_size=3),
    ).map(lambda cut: cut[0][: cut[1] % (len(cut[0]) + 1)] + cut[2] + cut[0][cut[1] % len(cut[0]) + 1 :])
)


@pytest.mark.spec("M2", "M3", "M5")
@pytest.mark.parametrize("name", DECODERS)
@given(
    data=st.one_of(
        st.binary(max_size=200),
        json_values.map(lambda value: json.dumps(value).encode()),
        json_values.map(lambda value: json.dumps(value).encode("utf-16")),
        mutated_messages,
    )
)
@example(data=b'{"kind":"intelligence-poll","maxEvents":1e999}')
@example(data=b'{"kind":"intelligence-poll","maxEvents":-0}')
def test_garbage_decodes_or_raises_the_one_error(name: str, data: bytes) -> None:
    assert verdict(DECODERS[name], data) in (None, "message-invalid", "frame-garbled")


LEAKY: dict[str, object] = {
    "kind": {"kind": CANARY},
    "kind that looks like a place": {"kind": f"x` - at `{CANARY}"},
    "field name": {"kind": "intelligence-close", CANARY: 1},
    "field name that looks like a place": {"kind": "intelligence-close", f"x` - at `{CANARY}": 1},
    "inner field name": {"kind": "intelligence-submit", "submission": {**SUBMISSION, CANARY: 1}},
    "value": {"kind": "intelligence-poll", "maxEvents": CANARY},
    "limit name": {**HELLO, "limits": {**LIMITS, CANARY: 1}},
    "whole message": CANARY,
}


@pytest.mark.spec("E2", "M3", "M5")
@pytest.mark.parametrize("encoding", ["json", "msgpack"])
@pytest.mark.parametrize("raw", LEAKY.values(), ids=LEAKY.keys())
def test_a_refusal_quotes_nothing_that_was_sent(encoding: str, raw: object) -> None:
    error = refusal(realm_message_decoder(encoding), ENCODERS[encoding](raw))
    assert CANARY not in f"{error} {error!r} {error.message} {error.reason} {error.__cause__}"


@pytest.mark.spec("E2", "M3")
@pytest.mark.parametrize("encoding", ["json", "msgpack"])
def test_a_refusal_is_a_short_sentence_however_long_the_message_was(encoding: str) -> None:
    raw = {"kind": "k" * 100_000}
    assert len(refusal(realm_message_decoder(encoding), ENCODERS[encoding](raw)).message) < 300


BANNED_MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "yaml", "multiprocessing"}
BANNED_CALLS = {"eval", "exec", "compile"}


def banned(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {(node.module or "").split(".")[0]}
        else:
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in BANNED_CALLS
            ):
                yield f"{path.name}:{node.lineno} calls {node.func.id}"
            continue
        for name in names & BANNED_MODULES:
            yield f"{path.name} imports {name}"


@pytest.mark.spec("M2", "M5")
def test_nothing_in_the_package_unpickles_or_evaluates() -> None:
    paths = sorted(SOURCE.rglob("*.py"))
    assert len(paths) > 20
    assert [finding for path in paths for finding in banned(path)] == []


@pytest.mark.spec("M2")
@settings(max_examples=50)
@given(text=st.text(alphabet=st.characters(codec=None, categories=["Cs", "L"]), min_size=1, max_size=10))
def test_texts_with_surrogates_are_never_read_from_json_text(text: str) -> None:
    data = json.dumps(
        {"kind": "intelligence-cancel", "activityId": text}
    ).encode()  # escapes what is not ASCII
    decoder = realm_message_decoder("json")
    if verdict(decoder, data) is None:
        encode_msgpack(decoder.decode(data))  # what was read can be written again
    else:
        assert verdict(decoder, data) == "frame-garbled"
