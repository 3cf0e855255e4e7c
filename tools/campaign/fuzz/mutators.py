"""Changes that keep an input readable: of the value that it holds, or of the frames of a stream.

A fuzzer that only knows bytes seldom changes a length together with what it is the length of, so that nearly all
of its inputs are refused at the first byte that it touched.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from engine_intelligence.protocol.framing import Frame

Change: TypeAlias = Callable[[bytes, random.Random], bytes]

_NUMBERS: list[Any] = [0, 1, -1, 127, 128, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**64 - 1, -(2**63)]
_TEXTS: list[Any] = [
    "",
    "a",
    "p",
    "q",
    "\x00",
    "\x1b[2J",
    "é",
    "\U0001f9e0",
    "x" * 40,
    "../..",
    "intelligence-closed",
]
_OTHERS: list[Any] = [None, True, False, 0.5, -0.0, float("inf"), float("nan"), [], {}, [[[]]], {"a": {}}]


def of_value(read: Callable[[bytes], Any], write: Callable[[Any], bytes], names: Sequence[str]) -> Change:
    """Changes the value that a body holds; a body that holds none is left alone."""

    def change(data: bytes, chance: random.Random) -> bytes:
        try:
            value = read(data)
        except Exception:  # noqa: BLE001 - no value of this format
            return data
        for _ in range(1 + chance.randrange(2)):
            value = changed(value, chance, names)
        try:
            return write(value)
        except Exception:  # noqa: BLE001 - a value that this format cannot hold
            return data

    return change


def of_frames(change_body: Change, prefix_bytes: int) -> Change:
    """Changes the frames of a stream, after as many bytes as are none of it."""

    def change(data: bytes, chance: random.Random) -> bytes:
        prefix, frames = data[:prefix_bytes], cut_loosely(data[prefix_bytes:])
        if not frames:
            return data
        place = chance.randrange(len(frames))
        frame = frames[place]
        match chance.randrange(6):
            case 0:
                frames[place] = Frame(chance.choice([0, 1, 2, 3, 0xFFFF]), frame.body)
            case 1:
                frames.insert(chance.randrange(len(frames) + 1), frame)
            case 2:
                del frames[place]
            case 3:
                frames.append(frames.pop(place))
            case _:
                frames[place] = Frame(frame.channel, change_body(frame.body, chance))
        return prefix + b"".join(struct.pack(">IH", len(body), channel) + body for channel, body in frames)

    return change


def cut_loosely(data: bytes) -> list[Frame]:
    """The whole frames at the beginning, of any length."""
    frames: list[Frame] = []
    while len(data) >= 6:
        length, channel = struct.unpack(">IH", data[:6])
        if len(data) < 6 + length:
            break
        frames.append(Frame(channel, data[6 : 6 + length]))
        data = data[6 + length :]
    return frames


def changed(value: Any, chance: random.Random, names: Sequence[str]) -> Any:
    """Plain data with one thing changed, at any depth."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        return _changed_dict(dict(value), chance, names)  # pyright: ignore[reportUnknownArgumentType] - any plain data
    if isinstance(value, list) and chance.random() < 0.85:
        return _changed_list(list(value), chance, names)  # pyright: ignore[reportUnknownArgumentType] - any plain data
    if isinstance(value, str) and chance.random() < 0.5:
        place = chance.randrange(len(value) + 1)
        return value[:place] + chance.choice(_TEXTS) + value[place + chance.randrange(2) :]
    pools: list[Sequence[Any]] = [_NUMBERS, _TEXTS, names, _OTHERS]
    return chance.choice(chance.choice(pools))


def _changed_dict(value: dict[Any, Any], chance: random.Random, names: Sequence[str]) -> dict[Any, Any]:
    key = chance.choice(list(value))
    match chance.randrange(8):
        case 0:
            del value[key]
        case 1:
            value[chance.choice(names)] = chance.choice(_OTHERS)
        case 2:
            value[chance.choice(names)] = value.pop(key)
        case 3:
            value[chance.choice(names)] = chance.choice(_TEXTS)
        case _:
            value[key] = changed(value[key], chance, names)
    return value


def _changed_list(value: list[Any], chance: random.Random, names: Sequence[str]) -> list[Any]:
    if not value:
        return [chance.choice(_OTHERS)]
    place = chance.randrange(len(value))
    match chance.randrange(5):
        case 0:
            del value[place]
        case 1:
            value.insert(place, value[chance.randrange(len(value))])
        case 2:
            value.append(changed(value[place], chance, names))
        case _:
            value[place] = changed(value[place], chance, names)
    return value


def mutator(name: str, names: Sequence[str]) -> Change:
    """The changes that suit a target."""
    of_msgpack = of_value(msgspec.msgpack.decode, msgspec.msgpack.encode, names)
    if name == "framing":
        return of_frames(of_msgpack, 1)
    if name.endswith("-stream"):
        return of_frames(of_msgpack, 0)
    if name.endswith("-json") or name in ("bootstrap", "saved-session"):
        return of_value(msgspec.json.decode, msgspec.json.encode, names)
    return of_msgpack
