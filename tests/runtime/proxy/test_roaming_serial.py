"""M8: a device that moves from one host to another is followed."""

import asyncio
from pathlib import Path

import pytest

from rookery.errors import DeniedError, UnreachableError
from rookery.mesh.proxy.exit_memory import Exit
from rookery.mesh.proxy.opening import SerialTarget
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.proxy.connector import Connector
from rookery.runtime.proxy.forward import serial_forward
from rookery.runtime.proxy.roaming_serial import RoamingSerialStream
from rookery.runtime.proxy.serial_devices import SerialDevices
from rookery.runtime.proxy.service import ProxyService
from tests.patience import PATIENCE_S
from tests.runtime.proxy.clients import Client
from tests.runtime.proxy.servers import Gadget
from tests.runtime.proxy.town import ALICE, BOB, CAROL, Town


class Hosts(Town):
    """Bob and Carol, each with a place to plug a line in."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folders = {BOB: folder / "bob", CAROL: folder / "carol"}
        self.services = {}
        for hashname, place in self.folders.items():
            place.mkdir()
            devices = SerialDevices(folder=str(place))
            self.services[hashname] = ProxyService(ProxyRules.parse(["serial *"]), devices=devices)
            self.serve(hashname, self.services[hashname].handle)
        self.alice = Connector(self.opener(ALICE), self.exits)

    def exits(self) -> list[Exit]:
        return [Exit(name, service.services(), 1) for name, service in self.services.items()]

    def plug(self, hashname: str) -> Gadget:
        return Gadget(self.folders[hashname] / "meter")


async def test_a_reader_follows_the_line_from_host_to_host(tmp_path: Path) -> None:
    async with Hosts(tmp_path) as hosts:
        meter = hosts.plug(BOB)
        async with (
            RoamingSerialStream(hosts.alice, SerialTarget("meter")) as line,
            asyncio.timeout(PATIENCE_S),
        ):
            for hashname in (CAROL, BOB, BOB, CAROL):
                await line.write(b"?")
                assert await meter.read(1) == b"?"
                reading = asyncio.get_running_loop().create_task(line.read())
                meter.write(b"4")
                assert await reading == b"4"
                reading = asyncio.get_running_loop().create_task(line.read())
                await asyncio.sleep(0)
                meter.unplug()
                meter = hosts.plug(hashname)
                meter.write(b"2")
                assert await reading == b"2"
                assert line.exit == hashname
            assert line.found == 5
        meter.unplug()


async def test_what_is_written_while_it_is_away_waits(tmp_path: Path) -> None:
    async with (
        Hosts(tmp_path) as hosts,
        RoamingSerialStream(hosts.alice, SerialTarget("meter")) as line,
        asyncio.timeout(PATIENCE_S),
    ):
        writing = asyncio.get_running_loop().create_task(line.write(b"hello"))
        await asyncio.sleep(0.05)
        meter = hosts.plug(CAROL)
        await writing
        assert await meter.read(5) == b"hello"
        meter.unplug()


async def test_a_line_that_stays_away_is_an_error_at_last(tmp_path: Path) -> None:
    async with (
        Hosts(tmp_path) as hosts,
        RoamingSerialStream(hosts.alice, SerialTarget("meter"), patience_s=0.2) as line,
    ):
        with pytest.raises(UnreachableError, match="nowhere"):
            await line.read()


async def test_a_line_that_is_forbidden_is_not_waited_for(tmp_path: Path) -> None:
    async with Hosts(tmp_path) as hosts:
        hosts.services[BOB] = ProxyService()
        hosts.serve(BOB, hosts.services[BOB].handle)
        async with RoamingSerialStream(hosts.alice, SerialTarget("meter"), BOB) as line:
            with pytest.raises(DeniedError):
                await line.read()


async def test_a_closed_line_is_looked_for_no_more(tmp_path: Path) -> None:
    async with Hosts(tmp_path) as hosts:
        line = RoamingSerialStream(hosts.alice, SerialTarget("meter"))
        await line.close()
        with pytest.raises(UnreachableError, match="closed"):
            await line.read()


async def test_a_host_that_is_out_of_reach_has_lost_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tunnel would be waited for: perhaps it is only the way that is gone."""
    monkeypatch.setattr("rookery.runtime.proxy.roaming_serial.STRANDED_S", 0.01)
    async with (
        Hosts(tmp_path) as hosts,
        RoamingSerialStream(hosts.alice, SerialTarget("meter")) as line,
        asyncio.timeout(PATIENCE_S),
    ):
        lost = hosts.plug(BOB)
        await line.write(b"?")
        reading = asyncio.get_running_loop().create_task(line.read())
        hosts.opened[-1][1].is_stalled = True
        hosts.leave(BOB)
        found = hosts.plug(CAROL)
        found.write(b"42")
        assert await reading == b"42"
        assert (line.exit, line.is_stalled) == (CAROL, False)
        for meter in (lost, found):
            meter.unplug()


async def test_a_client_of_a_forward_notices_no_move(tmp_path: Path) -> None:
    async with Hosts(tmp_path) as hosts:
        meter = hosts.plug(BOB)
        async with (
            await serial_forward(hosts.alice, "meter") as listener,
            Client(listener.address) as client,
        ):
            for hashname in (CAROL, CAROL, BOB):
                client.send(b"?")
                assert await meter.read(1) == b"?"
                meter.unplug()
                meter = hosts.plug(hashname)
                meter.write(b"42")
                assert await client.exactly(2) == b"42"
        meter.unplug()


async def test_a_forward_does_not_wait_for_a_line_that_was_never_there(tmp_path: Path) -> None:
    async with (
        Hosts(tmp_path) as hosts,
        await serial_forward(hosts.alice, "meter", CAROL) as listener,
        Client(listener.address) as client,
    ):
        with pytest.raises(ConnectionResetError):
            await client.rest()
        assert str(listener.last_error) == "serial meter: gone"
