"""A tower's place taken by a list: remembers what crow gates report, and lets a test wait."""

import asyncio
from collections.abc import Callable

from rookery.wire.crow.packet import CrowPacket
from tests.patience import PATIENCE_S


class CrowRecorder:
    def __init__(self) -> None:
        self.arrivals: list[tuple[CrowPacket, bytes]] = []
        self.drains: list[int] = []  # after how many arrivals
        self._happened = asyncio.Event()

    def received(self, packets: list[CrowPacket], return_hop: bytes) -> None:
        self.arrivals += [(packet, return_hop) for packet in packets]
        self._happened.set()

    def drained(self, *, is_more: bool = False) -> None:
        self.drains.append(len(self.arrivals))
        self._happened.set()

    @property
    def data(self) -> list[bytes]:
        return [packet.data for packet, _ in self.arrivals]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until what was reported makes `condition` true."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._happened.clear()
                await self._happened.wait()

    async def arrival(self, count: int = 1) -> tuple[CrowPacket, bytes]:
        """The newest packet and its way back, once there are `count` in all."""
        await self.until(lambda: len(self.arrivals) >= count)
        return self.arrivals[-1]


async def eventually(condition: Callable[[], bool]) -> None:
    """For what nothing reports: a counter, a table."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - counters are no events
            await asyncio.sleep(0.001)


def packet(address: bytes, data: bytes = b"hello", *, stage: int = 0, seqid: int = 7) -> CrowPacket:
    """A QoS 0 packet whose time code survives every header."""
    return CrowPacket(0, False, address, stage, seqid, 0, 204, data)
