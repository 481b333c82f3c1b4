"""The gate that the guide builds, run from the page itself on a simulated I2C bus (C2)."""

import ast
import asyncio
import random
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from rookery.runtime.crow.gates.gate import CrowGate, CrowReceiver
from rookery.runtime.crow.outcome import DeliveryStatus
from rookery.runtime.crow.tower import CrowTower
from tests.runtime.crow.recorder import CrowRecorder, packet

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "write-a-gate.md"
LINES_MAX = 40


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def page() -> ModuleType:
    """The page's code as a module."""
    module = ModuleType("write_a_gate")
    for block in blocks():
        exec(compile(block, str(PAGE), "exec"), module.__dict__)
    return module


class SimulatedBus:
    """Messages arrive in the next turn of the loop, in order, unless they are lost."""

    def __init__(self, loss: float = 0.0) -> None:
        self._devices: dict[int, Callable[[bytes], None]] = {}
        self._loss = loss
        self._random = random.Random(1)
        self.is_busy = False

    def listen(self, device: int, heard: Callable[[bytes], None] | None) -> None:
        if heard is None:
            self._devices.pop(device, None)
        else:
            self._devices[device] = heard

    def write(self, device: int, message: bytes) -> bool:
        if self.is_busy:
            return False
        if self._random.random() >= self._loss:
            asyncio.get_running_loop().call_soon(self.deliver, device, message)
        return True

    def deliver(self, device: int, message: bytes) -> None:
        heard = self._devices.get(device)
        if heard is not None:
            heard(message)


def gate(
    page: ModuleType, receiver: CrowReceiver, bus: SimulatedBus, own: int, peer: int
) -> CrowGate:
    made: CrowGate = page.I2cGate(receiver, bus, own, {peer})
    return made


def dropped(gate: CrowGate) -> dict[str, int]:
    return dict(gate.codec.counters.dropped)  # type: ignore[attr-defined]


def test_the_gate_is_as_short_as_the_page_says() -> None:
    gate_block = blocks()[0]
    assert len(gate_block.splitlines()) <= LINES_MAX
    assert "in 40 lines" in PAGE.read_text()
    ast.parse(gate_block)


async def test_the_page_prints_what_it_says(
    page: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    await page.greet(SimulatedBus())
    printed = capsys.readouterr().out.strip()
    assert f"`{printed}`" in PAGE.read_text()


async def test_every_message_crosses_a_lossy_bus_exactly_once(page: ModuleType) -> None:
    """C3."""
    bus = SimulatedBus(loss=0.1)
    async with CrowTower() as alice, CrowTower() as bob:
        alice.add_gate(gate(page, alice, bus, 0x21, 0x22))
        bob.add_gate(gate(page, bob, bus, 0x22, 0x21))
        async with asyncio.TaskGroup() as group:
            sends = [
                group.create_task(alice.send(b"\x14\x22", b"%d" % n, qos=2, ackquant_ms=10))
                for n in range(200)
            ]
        delivered = [send.result().status for send in sends].count(DeliveryStatus.DELIVERED)
        await bob.close()
        got = [int(arrived.packet.data) async for arrived in bob]
        assert len(got) == len(set(got)) >= delivered > 190


async def test_it_keeps_to_its_own_rules(page: ModuleType) -> None:
    """Strangers, nonsense, a busy bus and a cut address are dropped and counted by reason."""
    bus, recorder = SimulatedBus(), CrowRecorder()
    made = gate(page, recorder, bus, 0x21, 0x22)
    hostile = random.Random(7)
    bus.deliver(0x21, b"")
    bus.deliver(0x21, b"\x23" + packet(b"\x14\x21").serialize())
    for _ in range(100):
        bus.deliver(0x21, b"\x22" + hostile.randbytes(hostile.randrange(7)))
    made.send(packet(b"\x14"))
    made.send(packet(b"\x14\x23"))
    bus.is_busy = True
    made.send(packet(b"\x14\x22"))
    assert dropped(made) == {"denied": 4, "malformed": 100, "full": 1}
    assert recorder.arrivals == []
    bus.deliver(0x21, b"\x22" + packet(b"\x14\x21").serialize())
    assert recorder.arrivals == [(packet(b"\x14\x21"), b"\x22\x14")]
    await made.close()
    bus.deliver(0x21, b"\x22" + packet(b"\x14\x21").serialize())
    assert len(recorder.arrivals) == 1
