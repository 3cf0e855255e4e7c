"""What a double of a vendor does with a request: one good answer, in each of the forms that are allowed."""

from __future__ import annotations

import zlib

from support.vendor_double import STREAM_HEADERS, Behaviour, Exchange
from support.vendor_speech import Finish, Speech, speech


async def begin(exchange: Exchange, *texts: str) -> Speech:
    """The head of a stream, and an answer as far as these pieces."""
    words = speech(exchange.request.target)
    await exchange.head()
    await exchange.piece(words.opening())
    for text in texts:
        await say(exchange, words, text)
    return words


async def say(exchange: Exchange, words: Speech, text: str) -> None:
    """A piece of text."""
    exchange.said += text
    await exchange.piece(words.text(text))


def says(*texts: str, finish: Finish = "stop") -> Behaviour:
    """A whole answer, a piece at a time."""

    async def behave(exchange: Exchange) -> None:
        words = await begin(exchange, *texts)
        await exchange.piece(words.finish(finish))
        await exchange.piece(words.closing())
        await exchange.end()

    return behave


def whole_answer(exchange: Exchange, *texts: str) -> bytes:
    """All events of an answer."""
    words = speech(exchange.request.target)
    exchange.said = "".join(texts)
    said = b"".join(words.text(text) for text in texts)
    return words.opening() + said + words.finish("stop") + words.closing()


def says_byte_by_byte(*texts: str) -> Behaviour:
    """A whole answer of which each byte is a write and a chunk of its own."""

    async def behave(exchange: Exchange) -> None:
        await exchange.head()
        for byte in whole_answer(exchange, *texts):
            await exchange.piece(bytes([byte]))
        await exchange.end()

    return behave


def says_in_pairs(*texts: str) -> Behaviour:
    """A whole answer in writes of two bytes, of which some begin in the middle of each character of three or four."""

    async def behave(exchange: Exchange) -> None:
        await exchange.head()
        answer = whole_answer(exchange, *texts)
        for start in range(0, len(answer), 2):
            await exchange.piece(answer[start : start + 2])
        await exchange.end()

    return behave


def says_compressed(*texts: str) -> Behaviour:
    """A whole answer in gzip, of which each event can be read when it comes."""

    async def behave(exchange: Exchange) -> None:
        words = speech(exchange.request.target)
        await exchange.head(200, {**STREAM_HEADERS, "content-encoding": "gzip"})
        pack = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        exchange.said = "".join(texts)
        said = [words.text(text) for text in texts]
        for part in (words.opening(), *said, words.finish("stop"), words.closing()):
            await exchange.piece(pack.compress(part) + pack.flush(zlib.Z_SYNC_FLUSH))
        await exchange.piece(pack.flush())
        await exchange.end()

    return behave


def says_with_garnish(*texts: str) -> Behaviour:
    """A whole answer with all that the form allows: comments, ids, times, line ends of two characters, no blanks."""

    async def behave(exchange: Exchange) -> None:
        await exchange.head()
        plain = whole_answer(exchange, *texts)
        dressed = plain.replace(b"data: ", b"id: 7\nretry: 100\ndata:").replace(b"\n", b"\r\n")
        await exchange.piece(b": processing\r\n\r\n" + dressed)
        await exchange.end()

    return behave


def says_its_end_twice(*texts: str) -> Behaviour:
    """An answer whose finish comes twice before what it took, and whose end mark comes twice."""

    async def behave(exchange: Exchange) -> None:
        words = await begin(exchange, *texts)
        await exchange.piece(words.finish("stop") + words.finish("stop"))
        await exchange.piece(words.closing() + words.closing())
        await exchange.end()

    return behave


def says_and_stays(*texts: str) -> Behaviour:
    """An answer after whose end mark the stream is not ended while the client is there."""

    async def behave(exchange: Exchange) -> None:
        words = await begin(exchange, *texts)
        await exchange.piece(words.finish("stop") + words.closing())
        await exchange.left.wait()

    return behave


def says_halves_of_a_character(*texts: str) -> Behaviour:
    """A whole answer with a character whose halves, in the notation of JSON, come in two pieces."""

    async def behave(exchange: Exchange) -> None:
        words = await begin(exchange, *texts)
        for half in (b"\\ud83c", b"\\udff0"):
            await exchange.piece(words.text("half").replace(b"half", half))
            exchange.said += "\N{REPLACEMENT CHARACTER}"  # neither is a character (rule D1)
        # Responses tells the whole again at its end.
        await exchange.piece(words.finish("stop").replace(b"halfhalf", b"\\ud83c\\udff0"))
        await exchange.piece(words.closing().replace(b"halfhalf", b"\\ud83c\\udff0"))
        await exchange.end()

    return behave


def says_and_closes(*texts: str) -> Behaviour:
    """A whole answer, and the connection is closed, which a client may find out with its next request."""

    async def behave(exchange: Exchange) -> None:
        await says(*texts)(exchange)
        exchange.close()

    return behave


def thinks_and_says(thought: str, *texts: str) -> Behaviour:
    """A whole answer that begins with what the model thinks, which is no text of it."""

    async def behave(exchange: Exchange) -> None:
        words = await begin(exchange)
        await exchange.piece(words.thought(thought))
        for text in texts:
            await say(exchange, words, text)
        await exchange.piece(words.finish("stop") + words.closing())
        await exchange.end()

    return behave


def says_line_of(length: int) -> Behaviour:
    """A whole answer with one line of so many bytes."""

    async def behave(exchange: Exchange) -> None:
        words = await begin(exchange)
        bare = max(map(len, words.text("x").split(b"\n")))
        await say(exchange, words, "x" * (length - bare + 1))
        await exchange.piece(words.finish("stop") + words.closing())
        await exchange.end()

    return behave
