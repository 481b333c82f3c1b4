"""Crow within the process: a tower to itself, or to another tower.

hop   | id |
      | 1  |
"""

import asyncio
from collections import deque
from typing import Self

from rookery.runtime.crow.gates.codec import CrowGateCodec, CrowGateCounters
from rookery.runtime.crow.gates.gate import CrowDropReason, CrowReceiver, checked_id
from rookery.wire.crow.packet import CrowPacket

ID = 1
QUEUE_MAX = 1024


class CrowLoopGate:
    """Gives back to its own tower what that sends, in the next turn of the loop."""

    def __init__(self, receiver: CrowReceiver, *, gate_id: int = ID) -> None:
        self.id = checked_id(gate_id)
        self._receiver = receiver
        self._codec = CrowGateCodec(receiver)
        self._loop = asyncio.get_running_loop()
        self._other: CrowLoopGate = self
        self._queue: deque[bytes] = deque()
        self._is_closed = False

    @classmethod
    def pair(
        cls, receiver: CrowReceiver, other: CrowReceiver, *, gate_id: int = ID
    ) -> tuple[Self, Self]:
        """Two gates, each of which gives to the other's tower."""
        one, two = cls(receiver, gate_id=gate_id), cls(other, gate_id=gate_id)
        one._other, two._other = two, one
        return one, two

    @property
    def counters(self) -> CrowGateCounters:
        return self._codec.counters

    def send(self, packet: CrowPacket) -> None:
        data = self._codec.leave(packet)
        if data is None:
            return
        if self._is_closed or self._other._is_closed:
            self._codec.drop(CrowDropReason.UNREACHABLE)
        elif len(self._other._queue) >= QUEUE_MAX:
            self._codec.drop(CrowDropReason.FULL)
        else:
            self._codec.sent(len(data))
            self._other._take(data)

    async def close(self) -> None:
        self._is_closed = True
        self._queue.clear()

    def _take(self, data: bytes) -> None:
        if not self._queue:
            self._loop.call_soon(self._deliver)
        self._queue.append(data)

    def _deliver(self) -> None:
        queue, self._queue = self._queue, deque()
        return_hop = bytes([self.id])
        for data in queue:
            self._codec.enter(data, return_hop)
        if queue:
            self._receiver.drained()
