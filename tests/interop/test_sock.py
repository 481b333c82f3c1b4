"""Sockets through telehash-js and for it (T4)."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator

import pytest

from rookery.link.channels.sock_rules import Rules
from tests.interop.js_peer import JsPeerError
from tests.interop.rook import PAIRWISE, Neighbours

pytestmark = [pytest.mark.interop, pytest.mark.parametrize("wire", PAIRWISE, ids=str)]

SIZE = 200_000


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """A TCP server that says what it hears."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_they_connect_through_us_where_our_rules_allow_it(
    neighbours: Neighbours, port: int
) -> None:
    rook, js, _ = neighbours
    rook.on_sock(Rules())
    with pytest.raises(JsPeerError, match="denied"):
        await js.call("sockConnect", hashname=rook.hashname, ip="127.0.0.1", port=port, expect=1)
    rook.on_sock(Rules.parse([f"tcp 127.0.0.1:{port}"]))
    result = await js.call(
        "sockConnect", hashname=rook.hashname, ip="127.0.0.1", port=port, bytes=SIZE, expect=SIZE
    )
    sent, received = result["sent"], result["received"]
    assert isinstance(sent, dict)
    assert isinstance(received, dict)
    assert sent["bytes"] == received["bytes"] == SIZE
    assert sent["sha256"] == received["sha256"]


async def test_we_connect_through_them(neighbours: Neighbours, port: int) -> None:
    _, js, link = neighbours
    await js.call("sockServe", allow=True)
    sent = os.urandom(SIZE)
    stream = await link.connect("127.0.0.1", port)
    stream.write(sent)
    received = await stream.readexactly(SIZE)
    stream.close()
    assert hashlib.sha256(received).hexdigest() == hashlib.sha256(sent).hexdigest()
