"""Messages to bytes and back, as MessagePack or as JSON text, strictly typed (rules M2, M3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from engine_intelligence.contracts import PortEnded
from engine_intelligence.protocol.messages import HostControl, HostMessage, RealmControl, RealmMessage

MessageT = TypeVar("MessageT")


class ProtocolError(PortEnded):
    """The other side sent what the protocol does not allow. It ends the port on which it came, and only that
    (rule M3).

    `reason` is one of `frame-too-large`, `frame-empty`, `frame-truncated`, `frame-garbled` (the bytes are no
    MessagePack or no JSON), `message-invalid` (of no known kind, or with a field that is missing, unknown or
    of the wrong type), `channel-invalid`, `sequence-broken`, `protocol-version` and `provider-mismatch`. The
    text is a sentence for a log and quotes nothing that was sent.
    """


class MessageDecoder(Generic[MessageT]):
    """Reads one message of a given union from bytes, as `msgpack` or as `json`.

    `decode` raises `ProtocolError` for anything else, and nothing but that.
    """

    def __init__(self, type: Any, encoding: str = "msgpack") -> None:
        decoder = msgspec.msgpack.Decoder if encoding == "msgpack" else msgspec.json.Decoder
        self._decode: Callable[[bytes], MessageT] = decoder(type, strict=True).decode

    def decode(self, data: bytes) -> MessageT:
        """The message that `data` holds."""
        try:
            return self._decode(data)
        except msgspec.ValidationError:
            # The decoder's own text may quote what was sent, the name of a field for one, so it is left out (E2).
            raise ProtocolError("message-invalid", "a message of an unknown shape arrived") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ProtocolError("frame-garbled", "a frame arrived that is not a message") from None
        except RecursionError:
            raise ProtocolError("message-invalid", "a message arrived that is nested too deeply") from None


encode_msgpack = msgspec.msgpack.Encoder().encode
encode_json = msgspec.json.Encoder().encode


def realm_message_decoder(encoding: str = "msgpack") -> MessageDecoder[RealmMessage]:
    """Reads what a realm sends on a port."""
    return MessageDecoder(RealmMessage, encoding)


def host_message_decoder(encoding: str = "msgpack") -> MessageDecoder[HostMessage]:
    """Reads what a Host sends on a port."""
    return MessageDecoder(HostMessage, encoding)


def realm_control_decoder() -> MessageDecoder[RealmControl]:
    """Reads what a realm sends on the control channel."""
    return MessageDecoder(RealmControl)


def host_control_decoder() -> MessageDecoder[HostControl]:
    """Reads what a Host sends on the control channel."""
    return MessageDecoder(HostControl)
