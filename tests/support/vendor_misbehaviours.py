"""What a double of a vendor does with a request: the ways in which real servers do it wrong, or not at all."""

from __future__ import annotations

import asyncio
import email.utils
import time
from collections.abc import Mapping

import msgspec

from support.vendor_behaviours import begin, say
from support.vendor_double import STREAM_HEADERS, Behaviour, Exchange
from support.vendor_speech import Fault, ResponsesSpeech, error_body, speech

JSON = {"content-type": "application/json"}


def quoting(exchange: Exchange) -> str:
    """A message of an error as indiscreet as any: it quotes the key and the request."""
    request = exchange.request
    return f"Incorrect API key provided: {request.key}. Authorization: Bearer {request.key}; body: {request.body!r}"


# Requests that are refused


def answers(
    status: int,
    fault: Fault,
    headers: Mapping[str, str] | None = None,
) -> Behaviour:
    """An error response."""

    async def behave(exchange: Exchange) -> None:
        body = error_body(exchange.request.target, fault, quoting(exchange))
        await exchange.whole(status, body, headers)

    return behave


def asks_for_pause_until(seconds_from_now: float) -> Behaviour:
    """A rate limit whose end is told as a date (RFC 9110, section 5.6.7)."""

    async def behave(exchange: Exchange) -> None:
        until = email.utils.formatdate(time.time() + seconds_from_now, usegmt=True)
        await answers(429, "rate", {"retry-after": until})(exchange)

    return behave


def echoes_key_everywhere(status: int, fault: Fault) -> Behaviour:
    """An error response with the key in its headers and in its body, also where a client looks for a code."""

    async def behave(exchange: Exchange) -> None:
        key = exchange.request.key
        body = msgspec.json.decode(error_body(exchange.request.target, fault, quoting(exchange)))
        body["error"] |= {"code": key, "param": key, "type": key}
        headers = {"x-request-id": key, "set-cookie": f"key={key}", "location": f"/v1?key={key}"}
        await exchange.whole(status, msgspec.json.encode(body), headers)

    return behave


async def redirects_elsewhere(exchange: Exchange) -> None:
    """To another server, with the key in the address."""
    target = f"{exchange.elsewhere}{exchange.request.target}?key={exchange.request.key}"
    await exchange.whole(307, b"", {"location": target})


# Answers that begin


def breaks_off_with(fault: Fault, *texts: str, by_event: bool = False) -> Behaviour:
    """An error in the middle of a stream, after these pieces; `by_event` in the second way where there is one."""

    async def behave(exchange: Exchange) -> None:
        words = await begin(exchange, *texts)
        if by_event and isinstance(words, ResponsesSpeech):
            await exchange.piece(words.error_event(fault, quoting(exchange)))
        else:
            await exchange.piece(words.failure(fault, quoting(exchange)))
        await exchange.end()

    return behave


def breaks_off_now(exchange: Exchange) -> None:
    """Write an error into a stream that another behaviour holds open, without giving the loop a turn."""
    error = speech(exchange.request.target).failure("server", quoting(exchange))
    exchange.connection.transport.write(b"%x\r\n%b\r\n" % (len(error), error))


def fails_at_once(fault: Fault) -> Behaviour:
    """An error as the first item of a stream."""

    async def behave(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.piece(speech(exchange.request.target).failure(fault, quoting(exchange)))
        await exchange.end()

    return behave


def falls_silent_after(*texts: str) -> Behaviour:
    """These pieces, and then nothing while the client is there."""

    async def behave(exchange: Exchange) -> None:
        await begin(exchange, *texts)
        await exchange.left.wait()

    return behave


async def says_nothing(exchange: Exchange) -> None:
    """No byte, while the client is there."""
    await exchange.left.wait()


async def reads_for_long(exchange: Exchange) -> None:
    """A status and headers, and no token while the client is there."""
    await exchange.head()
    await exchange.left.wait()


def generates_on(pieces_for_nobody: int) -> Behaviour:
    """It does not notice that its client has left, until it has generated so many pieces for nobody."""

    async def behave(exchange: Exchange) -> None:
        words = await begin(exchange)
        while exchange.generated_for_nobody < pieces_for_nobody:
            if exchange.left.is_set():
                exchange.generated_for_nobody += 1
                await asyncio.sleep(0)
            else:
                await say(exchange, words, "on ")

    return behave


def ends_without_mark(*texts: str) -> Behaviour:
    """A stream that ends in good order, without what says that the answer has ended."""

    async def behave(exchange: Exchange) -> None:
        await begin(exchange, *texts)
        await exchange.end()

    return behave


def closes_after(*texts: str) -> Behaviour:
    """A connection that is closed in the middle of a stream."""

    async def behave(exchange: Exchange) -> None:
        await begin(exchange, *texts)
        exchange.close()

    return behave


def resets_after(*texts: str) -> Behaviour:
    """A connection that is reset in the middle of a stream."""

    async def behave(exchange: Exchange) -> None:
        await begin(exchange, *texts)
        exchange.reset()

    return behave


async def resets_at_once(exchange: Exchange) -> None:
    """A connection that is reset before the status."""
    exchange.reset()


async def resets_in_headers(exchange: Exchange) -> None:
    """A connection that is reset in the middle of the headers."""
    await exchange.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/ev")
    exchange.reset()


def refuses_with(*texts: str) -> Behaviour:
    """A refusal in events of its own, where the interface has such."""

    async def behave(exchange: Exchange) -> None:
        words = await begin(exchange)
        for text in texts:
            await exchange.piece(words.refusal(text) or b"")
        await exchange.piece(words.finish("stop"))
        await exchange.piece(words.closing())
        await exchange.end()

    return behave


# Bodies that are no answer


def body(content: bytes, headers: Mapping[str, str] = JSON) -> Behaviour:
    """A body with status 200."""

    async def behave(exchange: Exchange) -> None:
        await exchange.whole(200, content, headers)

    return behave


def stream_of(content: bytes) -> Behaviour:
    """A stream of events with status 200 that holds these bytes."""

    async def behave(exchange: Exchange) -> None:
        await exchange.head()
        if content:
            await exchange.piece(content)
        await exchange.end()

    return behave


# Events by whose names each interface would know text, or the end.
_OTHER_SHAPES = {
    "/chat/completions": b'data: {"choices": "none"}\n\ndata: [1, 2]\n\n',
    "/responses": b'event: response.output_text.delta\ndata: {"type": "response.output_text.delta", "delta": 7}\n\n',
    "/messages": b'event: content_block_delta\ndata: ["content_block_delta"]\n\n',
}


async def says_in_another_shape(exchange: Exchange) -> None:
    """Events that are JSON and otherwise not of the interface."""
    path = exchange.request.target.partition("?")[0]
    await stream_of(next(data for end, data in _OTHER_SHAPES.items() if path.endswith(end)))(exchange)


async def says_no_json(exchange: Exchange) -> None:
    """An event that is no JSON."""
    is_messages = exchange.request.target.partition("?")[0].endswith("/messages")
    name = b"event: content_block_delta\n" if is_messages else b""
    await stream_of(name + b"data: hello\n\n")(exchange)


def cut_in_event(*texts: str) -> Behaviour:
    """These pieces, and a further one whose JSON breaks off in an event that is ended."""

    async def behave(exchange: Exchange) -> None:
        words = await begin(exchange, *texts)
        await exchange.piece(words.text("open.").rstrip()[:-8] + b"\n\n")
        await exchange.end()

    return behave


async def says_bad_gzip(exchange: Exchange) -> None:
    """A compressed stream that is damaged."""
    await exchange.head(200, {**STREAM_HEADERS, "content-encoding": "gzip"})
    await exchange.piece(b"\x1f\x8b\x08\x00 no gzip at all")
    await exchange.end()
