"""The relay carries real packets, and carries out the rules of its passage."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from random import Random

import pytest

from rookery.runtime.net.link_emulator import LinkEmulator
from rookery.sim.network.network import Conditions
from rookery.sim.network.weather import Weather, WeatheredLink
from tests.patience import PATIENCE_S
from tests.ports import free_port

HOST = "127.0.0.1"


@asynccontextmanager
async def echoing() -> AsyncIterator[tuple[str, int]]:
    """Somebody who says everything back, on TCP and UDP of one port."""
    loop = asyncio.get_running_loop()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
        finally:
            writer.close()

    class Echo(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
            transport.sendto(data, addr)

    port = free_port()
    transport, _ = await loop.create_datagram_endpoint(Echo, local_addr=(HOST, port))
    try:
        async with await asyncio.start_server(talk, HOST, port):
            yield HOST, port
    finally:
        transport.close()


@asynccontextmanager
async def relayed(weather: Weather) -> AsyncIterator[LinkEmulator]:
    async with echoing() as target:
        relay = await LinkEmulator.open(WeatheredLink(weather, Random(1)), target)
        try:
            yield relay
        finally:
            await relay.close()


async def ask(relay: LinkEmulator, data: bytes, within_s: float = PATIENCE_S) -> bytes | None:
    """What comes back of a datagram."""
    loop = asyncio.get_running_loop()
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
        sock.setblocking(False)
        sock.connect(relay.place)
        await loop.sock_sendall(sock, data)
        try:
            return await asyncio.wait_for(loop.sock_recv(sock, 2000), within_s)
        except TimeoutError:
            return None


async def test_datagrams_take_as_long_as_the_weather_says() -> None:
    async with relayed(Weather(conditions=Conditions(delay_s=0.05))) as relay:
        began = time.monotonic()
        assert await ask(relay, b"hello") == b"hello"
        assert time.monotonic() - began >= 0.1


async def test_nothing_passes_a_cut_and_streams_go_on_after_it() -> None:
    async with relayed(Weather()) as relay:
        reader, writer = await asyncio.open_connection(*relay.place)
        writer.write(b"one\n")
        assert await asyncio.wait_for(reader.readline(), PATIENCE_S) == b"one\n"
        relay.link.is_cut = True
        writer.write(b"two\n")
        assert await ask(relay, b"lost", within_s=0.2) is None
        relay.link.is_cut = False
        assert await asyncio.wait_for(reader.readline(), PATIENCE_S) == b"two\n"
        assert await ask(relay, b"found") == b"found"
        writer.close()


async def test_a_stream_arrives_whole_and_in_order_whatever_the_weather() -> None:
    rough = Weather(conditions=Conditions(delay_s=0.001, jitter_s=0.005, loss=0.1))
    sent = bytes(range(256)) * 400
    async with relayed(rough) as relay:
        reader, writer = await asyncio.open_connection(*relay.place)
        for start in range(0, len(sent), 1000):
            writer.write(sent[start : start + 1000])
            await writer.drain()
        received = await asyncio.wait_for(reader.readexactly(len(sent)), PATIENCE_S)
        writer.close()
    assert received == sent


async def test_the_end_of_a_stream_passes_too() -> None:
    async with relayed(Weather()) as relay:
        reader, writer = await asyncio.open_connection(*relay.place)
        writer.write(b"bye")
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(3), PATIENCE_S) == b"bye"
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        writer.close()


async def test_an_end_that_hangs_up_meanwhile_is_no_trouble(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with relayed(Weather(conditions=Conditions(delay_s=0.05))) as relay:
        for _ in range(3):
            _, writer = await asyncio.open_connection(*relay.place)
            writer.write(b"never mind\n")
            await writer.drain()
            writer.transport.abort()
        assert await ask(relay, b"hello") == b"hello"
    assert caplog.text == ""
