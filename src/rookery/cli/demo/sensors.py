"""Sensors: crow devices that publish to a broker, one over a serial line, the others by UDP."""

import asyncio
import math
import os
import pty
import time
import tty
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress

import msgspec

from rookery.cli.crow.options import BROKER_PORT
from rookery.cli.demo.folder import DemoFolder
from rookery.cli.demo.ports import HOST
from rookery.cli.demo.site_plan import SITES
from rookery.cli.observers import observe_broker
from rookery.runtime.crow.broker import CrowBroker
from rookery.runtime.crow.client import CrowClient
from rookery.runtime.crow.gates.serial_gate import CrowSerialGate
from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.tower import CrowTower
from rookery.wire.crow import address

_READ_SIZE = 4096


@contextmanager
def null_modem() -> Iterator[tuple[str, str]]:
    """Two pseudo-terminals joined on the event loop, as a serial cable would; the paths of both."""
    loop = asyncio.get_running_loop()
    masters, slaves = zip(*(pty.openpty() for _ in range(2)), strict=True)
    left, right = masters
    try:
        for slave in slaves:  # held open, or the cable would see a hang-up
            tty.setraw(slave)
        for source, target in ((left, right), (right, left)):
            os.set_blocking(source, False)
            loop.add_reader(source, _carry, source, target)
        yield os.ttyname(slaves[0]), os.ttyname(slaves[1])
    finally:
        for descriptor in masters:
            loop.remove_reader(descriptor)
        for descriptor in (*masters, *slaves):
            os.close(descriptor)


def _carry(source: int, target: int) -> None:
    with suppress(OSError):  # an end that takes nothing more loses it, as a serial line does
        os.write(target, os.read(source, _READ_SIZE))


PUBLISH_S = 2.0
PORT = BROKER_PORT
QUANTITIES = ("temperature", "humidity", "power")  # of each site's device
PATTERNS = tuple(f"{site}/#" for site in SITES)

_PERIOD_S = 300.0


@asynccontextmanager
async def sensors(folder: DemoFolder, port: int) -> AsyncIterator[str]:
    """The broker and a device at each site; the broker's address."""
    async with AsyncExitStack() as stack:
        tower = await stack.enter_async_context(CrowTower())
        broker = await stack.enter_async_context(CrowBroker(tower))
        await stack.enter_async_context(observe_broker(broker, folder.broker, PATTERNS))
        gate = await CrowUdpGate.bind(tower, HOST, port)
        tower.add_gate(gate)
        ours, theirs = stack.enter_context(null_modem())
        tower.add_gate(CrowSerialGate(tower, ours))
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        for number, site in enumerate(SITES):
            device = await stack.enter_async_context(CrowTower())
            client = await _wired(device, theirs if number == 0 else None, gate.address)
            stack.callback(tasks.create_task(_measure(client, site, number)).cancel)
        yield address.format(gate.address)


async def _wired(device: CrowTower, line: str | None, broker: bytes) -> CrowClient:
    """A client of the broker over the serial line, or over UDP."""
    if line is None:
        device.add_gate(await CrowUdpGate.bind(device, HOST, 0))
        return device.client(broker)
    gate = CrowSerialGate(device, line)
    device.add_gate(gate)
    return device.client(gate.address)


async def _measure(client: CrowClient, site: str, number: int) -> None:
    """Publish measurements with QoS 0, as a sensor does."""
    while True:
        swing = math.sin(time.time() * 2 * math.pi / _PERIOD_S + number)
        values = (19 + 2 * number + 3 * swing, 50 - 8 * swing, 120 + 40 * swing)
        for quantity, value in zip(QUANTITIES, values, strict=True):
            data = msgspec.json.encode({"value": round(value, 1)})
            await client.publish(f"{site}/{quantity}", data, qos=0)
        await asyncio.sleep(PUBLISH_S)
