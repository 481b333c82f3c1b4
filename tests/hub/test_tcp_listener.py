"""The listener for devices, and hostile connections."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from rookery.hub.settings import HubListenerLimits
from rookery.hub.tcp_listener import HubListener
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.wire.fleet.tlv import Tlv
from tests.hub.device import until
from tests.hub.identities import identity
from tests.patience import PATIENCE_S

LIMITS = HubListenerLimits(
    connections_max=12,
    address_connections_max=6,
    authenticate_s=0.3,
    received_bytes_max=4096,
    address_per_s=1000.0,
    address_burst=1000.0,
)


class OpenListener:
    """A listener that welcomes every authenticated connection."""

    def __init__(self, limits: HubListenerLimits) -> None:
        self.welcomed: list[str | None] = []
        self.listener = HubListener(identity("hub"), self._welcome, limits)
        self.address = ("", 0)

    async def _welcome(self, line: SealedConnection) -> None:
        self.welcomed.append(line.peer)
        while await line.receive() is not None:
            pass

    async def knock(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self.address)

    async def dial(self) -> SealedConnection:
        hub = identity("hub")
        return await SealedConnection.dial(
            identity("alice"), hub.hashname, hub.keys, *self.address, timeout_s=PATIENCE_S
        )


async def opened(limits: HubListenerLimits) -> OpenListener:
    listener = OpenListener(limits)
    listener.address = await listener.listener.listen("127.0.0.1", 0)
    return listener


@pytest.fixture
async def listener() -> AsyncIterator[OpenListener]:
    listener = await opened(LIMITS)
    yield listener
    await listener.listener.close()
    assert listener.listener.connections == 0


async def test_who_has_proved_its_name_is_let_in(listener: OpenListener) -> None:
    """F8"""
    line = await listener.dial()
    await until(lambda: listener.welcomed == [identity("alice").hashname])
    line.close()
    await until(lambda: listener.listener.connections == 0)


async def closed(reader: asyncio.StreamReader) -> None:
    """Wait until the listener has closed it."""
    async with asyncio.timeout(PATIENCE_S):
        try:
            while await reader.read(1024):
                pass
        except ConnectionResetError:
            pass


async def test_who_says_nothing_is_shown_out(listener: OpenListener) -> None:
    reader, writer = await listener.knock()
    await closed(reader)
    writer.close()
    assert listener.listener.tally["slow"] == 1
    assert not listener.welcomed


async def test_who_says_a_byte_at_a_time_gets_no_more_time_for_it(listener: OpenListener) -> None:
    reader, writer = await listener.knock()
    header = b"\x00\x02\x04\x00"  # KEY of 1024 bytes
    for octet in header:
        writer.write(bytes([octet]))
        await asyncio.sleep(0.01)
    await closed(reader)
    writer.close()
    assert listener.listener.tally["slow"] == 1


@pytest.mark.parametrize(
    "rubbish",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\x02\xff\xff" + bytes(4000),
        b"\x00\x02\x00\x08" + bytes(8),
        b"\x00\x03\x00\x1c" + bytes(28),
    ],
    ids=["http", "a length that lies", "no handshake", "sealed before any key"],
)
async def test_rubbish_ends_the_connection_at_once(listener: OpenListener, rubbish: bytes) -> None:
    reader, writer = await listener.knock()
    writer.write(rubbish)
    await closed(reader)
    writer.close()
    await until(lambda: listener.listener.tally["rubbish"] == 1)
    assert not listener.welcomed


async def test_one_address_may_hold_so_many_connections_and_no_more(listener: OpenListener) -> None:
    held = [await listener.knock() for _ in range(LIMITS.address_connections_max)]
    await until(lambda: listener.listener.connections == LIMITS.address_connections_max)
    reader, writer = await listener.knock()
    await closed(reader)
    assert listener.listener.tally["address_full"] == 1
    for _, each in [*held, (reader, writer)]:
        each.close()
    await until(lambda: listener.listener.connections == 0)
    (await listener.dial()).close()


@pytest.mark.parametrize(
    ("limits", "fate"),
    [
        (HubListenerLimits(address_per_s=0.001, address_burst=2.0), "too_often"),
        (HubListenerLimits(knocks_per_s=0.001, knocks_burst=2.0), "busy"),
    ],
)
async def test_one_address_and_all_together_may_knock_only_so_often(
    limits: HubListenerLimits, fate: str
) -> None:
    listener = await opened(limits)
    try:
        for _ in range(2):
            (await listener.dial()).close()
        reader, writer = await listener.knock()
        await closed(reader)
        writer.close()
        assert listener.listener.tally[fate] == 1
    finally:
        await listener.listener.close()


async def test_a_device_that_talks_too_much_is_cut_off(listener: OpenListener) -> None:
    line = await listener.dial()
    line.send(Tlv(9, os.urandom(8000)))
    await until(lambda: line.is_closed)


async def test_closing_the_listener_ends_those_who_are_inside() -> None:
    listener = await opened(LIMITS)
    line = await listener.dial()
    await until(lambda: bool(listener.welcomed))
    await listener.listener.close()
    await until(lambda: line.is_closed)
