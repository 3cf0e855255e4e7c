"""The double does to a client what it says, or the cases would show less than they claim."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from support.vendor_behaviours import says, says_byte_by_byte, whole_answer
from support.vendor_double import Behaviour, VendorDouble
from support.vendor_misbehaviours import (
    ends_without_mark,
    falls_silent_after,
    generates_on,
    resets_after,
    resets_at_once,
)

HANG_S = 20.0
REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: double\r\nauthorization: Bearer zanzibar\r\ncontent-length: 2\r\n\r\n{}"

Client = Callable[[VendorDouble, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def meet(behaviour: Behaviour, client: Client) -> None:
    """Let a client that has sent one request do the rest."""

    async def run() -> None:
        async with asyncio.timeout(HANG_S), VendorDouble() as double:
            double.will(behaviour)
            host, port = double.address.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            try:
                writer.write(REQUEST)
                await client(double, reader, writer)
            finally:
                writer.transport.abort()
            assert double.raised == []

    asyncio.run(run())


def test_each_byte_of_an_answer_comes_by_itself() -> None:
    pieces: list[bytes] = []

    async def client(double: VendorDouble, reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        while not b"".join(pieces).endswith(b"0\r\n\r\n"):
            pieces.append(await reader.read(1 << 16))
        assert b"".join(pieces).count(b"\r\n") == 2 * len(whole_answer(double.exchanges[0], "門")) + 2

    meet(says_byte_by_byte("門"), client)
    # What comes with it are the length of its chunk and two line ends.
    assert max(map(len, pieces)) == len(b"1\r\nx\r\n")


@pytest.mark.parametrize("behaviour", [resets_at_once, resets_after("The gate ")])
def test_a_reset_is_one(behaviour: Behaviour) -> None:
    async def client(_: VendorDouble, reader: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        with pytest.raises(ConnectionResetError):
            await reader.read()  # up to the end

    meet(behaviour, client)


def test_a_stream_without_a_mark_is_ended_in_good_order() -> None:
    async def client(_: VendorDouble, reader: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        answer = await reader.readuntil(b"\r\n0\r\n\r\n")
        assert b"The gate " in answer
        assert b"[DONE]" not in answer

    meet(ends_without_mark("The gate "), client)


def test_a_client_that_leaves_is_noticed_by_a_server_that_is_silent() -> None:
    async def client(
        double: VendorDouble, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"The gate ")
        assert not double.exchanges[0].ended.is_set()
        writer.close()
        await double.exchanges[0].ended.wait()
        assert double.exchanges[0].left.is_set()

    meet(falls_silent_after("The gate "), client)


def test_a_server_that_goes_on_counts_what_it_generates_for_nobody() -> None:
    async def client(
        double: VendorDouble, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"on ")
        writer.close()
        await double.exchanges[0].ended.wait()
        assert double.exchanges[0].generated_for_nobody == 7

    meet(generates_on(7), client)


def test_requests_are_told_apart_on_one_connection() -> None:
    async def client(
        double: VendorDouble, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n0\r\n\r\n")
        await double.exchanges[0].ended.wait()
        writer.write(REQUEST)
        await reader.readuntil(b"\r\n0\r\n\r\n")
        assert [exchange.request.key for exchange in double.exchanges] == ["zanzibar", "zanzibar"]
        assert [exchange.request.json for exchange in double.exchanges] == [{}, {}]

    meet(says("The gate is open."), client)
