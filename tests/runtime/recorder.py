"""A receiver that remembers what its gate reports, and lets a test wait for it."""

import asyncio
from collections.abc import Callable

from rookery.wire.link.lob import Packet
from rookery.wire.link.path import Path
from rookery.wire.octets import Octets
from tests.patience import PATIENCE_S


class Recorder:
    def __init__(self) -> None:
        self.packets: list[tuple[Path, Packet]] = []
        self.drains: list[int] = []  # how many packets each batch had brought
        self.lost_paths: list[Path] = []
        self.react: Callable[[Path, Packet], None] = lambda path, packet: None
        self._happened = asyncio.Event()

    def received(self, path: Path, packet: Packet) -> None:
        self.packets.append((path, packet))
        self.react(path, packet)
        self._happened.set()

    def received_sealed(self, path: Path, body: Octets) -> None:
        self.received(path, Packet(b"", bytes(body)))

    def drained(self) -> None:
        self.drains.append(len(self.packets) - sum(self.drains))
        self._happened.set()

    def lost(self, path: Path) -> None:
        self.lost_paths.append(path)
        self._happened.set()

    @property
    def bodies(self) -> list[bytes]:
        return [packet.body for _, packet in self.packets]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until what was reported makes `condition` true."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._happened.clear()
                await self._happened.wait()

    async def packet(self, count: int = 1) -> tuple[Path, Packet]:
        """The newest packet, once there are `count` in all."""
        await self.until(lambda: len(self.packets) >= count)
        return self.packets[-1]
