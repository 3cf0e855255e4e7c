"""`docs/contract.md` shows messages that the real decoders read, and the reasons that the code gives."""

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from engine_intelligence.errors import ERROR_TEXTS
from engine_intelligence.host.binding import HEARTBEAT_S
from engine_intelligence.limits import Deadlines, IntelligenceLimits
from engine_intelligence.ports.host_stream import MAX_OUTBOX_BYTES, MAX_PORTS
from engine_intelligence.protocol.bootstrap import HostBootstrap, decode_bootstrap, decode_game_port
from engine_intelligence.protocol.codec import (
    MessageDecoder,
    encode_json,
    encode_msgpack,
    host_message_decoder,
    realm_message_decoder,
)
from engine_intelligence.protocol.framing import MAX_FRAME_BYTES, FrameReader, encode_frame
from engine_intelligence.protocol.messages import (
    HostControl,
    HostMessage,
    Poll,
    RealmControl,
    RealmMessage,
)

PAGE = "docs/contract.md"
ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "engine_intelligence"

Blocks = Callable[[str], list[tuple[str, str, str]]]
Table = Callable[[str, str], list[list[str]]]

DECODERS: dict[str, MessageDecoder[Any]] = {
    "realm": realm_message_decoder("json"),
    "Host": host_message_decoder("json"),
    "control, realm": MessageDecoder(RealmControl, "json"),
    "control, Host": MessageDecoder(HostControl, "json"),
}


def examples(blocks: Blocks) -> list[tuple[str, str]]:
    return [(title, text) for language, title, text in blocks(PAGE) if language == "json"]


def kinds(union: Any) -> set[str]:
    """The tags of a union of messages, or of one message."""
    return {each.__struct_config__.tag for each in get_args(union) or (union,)}


def test_every_message_on_the_page_is_read_by_the_real_decoder_and_written_the_same(blocks: Blocks) -> None:
    for side, text in examples(blocks):
        if side in ("bootstrap", "game port"):
            continue
        message = DECODERS[side].decode(text.encode())
        assert json.loads(encode_json(message)) == json.loads(text)


def test_every_kind_of_message_and_of_event_is_on_the_page(blocks: Blocks) -> None:
    for side, union in {
        "realm": RealmMessage,
        "Host": HostMessage,
        "control, realm": RealmControl,
        "control, Host": HostControl,
    }.items():
        shown = {json.loads(text)["kind"] for title, text in examples(blocks) if title == side}
        assert shown == kinds(union)
    events = [event["type"] for _, text in examples(blocks) for event in json.loads(text).get("events", ())]
    assert set(events) == {"text-delta", "completed", "failed", "cancelled"}


def test_the_errors_on_the_page_have_the_texts_of_the_code(blocks: Blocks) -> None:
    errors: list[dict[str, Any]] = []
    for _, text in examples(blocks):
        message = json.loads(text)
        errors += [holder["error"] for holder in (message, *message.get("events", ())) if "error" in holder]
    assert errors
    for error in errors:
        assert (error["expected"], error["hint"]) == ERROR_TEXTS[error["code"]]


def test_the_limits_and_deadlines_on_the_page_are_the_defaults(blocks: Blocks) -> None:
    texts = [json.loads(text) for _, text in examples(blocks)]
    limits = [text["limits"] for text in texts if "limits" in text]
    assert len(limits) == 3
    assert all(each == msgspec.to_builtins(IntelligenceLimits()) for each in limits)
    assert [text["deadlines"] for text in texts if "deadlines" in text] == [msgspec.to_builtins(Deadlines())]


def test_the_frame_on_the_page_is_the_frame_that_is_sent(blocks: Blocks) -> None:
    (shown,) = [text for _, title, text in blocks(PAGE) if title == "frame"]
    data = bytes.fromhex(shown)
    assert data == encode_frame(1, encode_msgpack(Poll(256)))
    (frame,) = FrameReader().feed(data)
    assert (frame.channel, MessageDecoder[Any](RealmMessage).decode(frame.body)) == (1, Poll(256))


def test_the_bootstrap_on_the_page_is_one_that_a_host_reads(blocks: Blocks) -> None:
    (shown,) = [text for title, text in examples(blocks) if title == "bootstrap"]
    bootstrap = decode_bootstrap(shown)
    assert isinstance(bootstrap, HostBootstrap)
    assert json.loads(encode_json(bootstrap)) == json.loads(shown)


def test_the_port_of_a_game_on_the_page_is_one_that_a_game_reads(blocks: Blocks) -> None:
    (shown,) = [text for title, text in examples(blocks) if title == "game port"]
    assert json.loads(encode_json(decode_game_port(shown))) == json.loads(shown)


@pytest.mark.parametrize(
    "claim",
    [
        f"1 to {MAX_FRAME_BYTES} |",
        f"takes up to {MAX_PORTS} ports",
        f"| {MAX_OUTBOX_BYTES // 2**20} MiB wait for a realm",
        "sends this every second," if HEARTBEAT_S == 1 else f"sends this every {HEARTBEAT_S:g} seconds,",
    ],
)
def test_the_numbers_on_the_page_are_those_of_the_code(claim: str) -> None:
    assert claim in " ".join((ROOT / PAGE).read_text(encoding="utf-8").split())


CALLS_WITH_A_REASON = {
    "PortEnded",
    "ProtocolError",
    "SetupError",
    "closed",
    "Closed",
    "close",
    "stop",
    "_refuse",
}


def reasons_in(source: str) -> Iterator[str]:
    """The names in kebab-case with which the code ends a port. Those of a pull end none, and are left out."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in CALLS_WITH_A_REASON:
            texts = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
            yield from (
                text for text in texts if isinstance(text, str) and text.islower() and " " not in text
            )


PULLING_ONLY = {"missing-pip", "disk-full", "cache-unusable"}
STARTING_ONLY = {  # raised where a game or a Host is started, before there is a port
    "no-host",
    "port-lost",
    "freeze-support-missing",
    "host-not-started",
    "game-not-found",
    "game-not-executable",
}
LOOKING_ONLY = {"store-missing", "store-unusable"}  # of the command that looks at a store
INSIDE_AN_EXPRESSION = {"host-closed"}


def test_the_table_of_reasons_has_each_reason_of_the_code_and_no_other(table: Table) -> None:
    shown = [cells[0].strip("`") for cells in table(PAGE, "reason")]
    given = {
        reason
        for path in SOURCE.rglob("*.py")
        if "cli" not in path.relative_to(SOURCE).parts
        for reason in reasons_in(path.read_text(encoding="utf-8"))
    }
    assert len(shown) == len(set(shown))
    assert set(shown) == (given - PULLING_ONLY - STARTING_ONLY - LOOKING_ONLY) | INSIDE_AN_EXPRESSION
