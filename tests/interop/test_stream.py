"""Streams with telehash-js: a megabyte and more, byte for byte (T4)."""

import hashlib
import os

import pytest

from rookery.runtime.endpoint.channels.stream import LinkStream
from tests.interop.rook import PAIRWISE, Neighbours

pytestmark = [pytest.mark.interop, pytest.mark.parametrize("wire", PAIRWISE, ids=str)]

SIZE = (1 << 20) + 4321
WRITE_SIZE = 1 << 16


async def echo(stream: LinkStream) -> None:
    async for data in stream:
        stream.write(data)
        await stream.drain()


async def test_what_they_send_arrives_and_comes_back_whole(neighbours: Neighbours) -> None:
    rook, js, _ = neighbours
    rook.on_stream(echo)
    result = await js.call("streamSend", hashname=rook.hashname, bytes=SIZE, expect=SIZE)
    sent, received = result["sent"], result["received"]
    assert isinstance(sent, dict)
    assert isinstance(received, dict)
    assert sent["bytes"] == received["bytes"] == SIZE
    assert sent["sha256"] == received["sha256"]


async def test_what_we_send_arrives_and_comes_back_whole(neighbours: Neighbours) -> None:
    _, js, link = neighbours
    await js.call("streamServe", mode="echo")
    sent = os.urandom(SIZE)
    async with link.stream() as stream:
        for start in range(0, SIZE, WRITE_SIZE):
            stream.write(sent[start : start + WRITE_SIZE])
        assert await stream.readexactly(SIZE) == sent
    arrived = await js.event("streamEnded")
    assert (arrived["bytes"], arrived["sha256"]) == (SIZE, hashlib.sha256(sent).hexdigest())
