"""What a SOCKS5 proxy may answer, and what then becomes of it (C2)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from rookery.errors import UnreachableError
from rookery.runtime.crow.gates.socks5 import connect, is_host
from tests.patience import PATIENCE_S


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncIterator[tuple[tuple[str, int], bytearray]]:
    """A proxy that says this, one answer after each thing it hears, and hangs up."""
    heard = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            for answer in answers:
                heard.extend(await reader.read(4096))
                for at in range(len(answer)):  # in the smallest pieces there are
                    writer.write(answer[at : at + 1])
                    await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname(), heard


@pytest.mark.parametrize(
    "bound", [b"\x01" + bytes(6), b"\x04" + bytes(18), b"\x03\x04host\x00\x09"], ids=len
)
async def test_the_bytes_behind_the_answer_belong_to_the_host(bound: bytes) -> None:
    async with answering(b"\x05\x00", b"\x05\x00\x00" + bound + b"hi") as (proxy, heard):
        with await connect(proxy, b"host.onion", 1789) as sock:
            async with asyncio.timeout(PATIENCE_S):
                assert await asyncio.get_running_loop().sock_recv(sock, 1) == b"h"
        assert heard == b"\x05\x01\x00" + b"\x05\x01\x00\x03\x0ahost.onion\x06\xfd"


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([b"\x05\xff"], "wants to know who we are"),
        ([b"\x04\x00"], "speaks no SOCKS5"),
        ([b"\x05"], "hung up"),
        ([b"\x05\x00", b"\x05\x05\x00\x01" + bytes(6)], "refused"),
        ([b"\x05\x00", b"\x05\x09\x00\x01" + bytes(6)], "it failed"),
        ([b"\x05\x00", b"\x05\x00\x00\x07" + bytes(6)], "does not know"),
        ([b"\x05\x00", b"\x05\x00\x00\x01"], "hung up"),
    ],
)
async def test_every_other_answer_is_an_error(answers: list[bytes], reason: str) -> None:
    async with answering(*answers) as (proxy, _):
        with pytest.raises(UnreachableError, match=reason):
            await connect(proxy, b"host", 9)


def test_a_host_is_letters_digits_dots_and_dashes() -> None:
    assert is_host(b"a-b.c_d9")
    assert not any(is_host(name) for name in (b"", b"a b", b"a\n", b"~", b"x" * 256, b"\xc3\xbc"))
