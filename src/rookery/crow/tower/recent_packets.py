"""Recent: the packets of QoS 0 of the last moments, in case the network doubles them.

At most once is all that QoS 0 promises, and it is not repeated. So a short memory is enough, and a
long one would do harm: firmware that counts from 0 after every start sends the same again.
"""

from typing import Final

from rookery.wire.crow.packet import CrowPacket

RECENT_S: Final = 1.0  # a packet is known this long, and at most twice as long
_RECENT_MAX: Final = 4096  # packets in either generation


class RecentPackets:
    """Knows a packet by source, number and content."""

    __slots__ = ("_current", "_previous", "_turn_at")

    def __init__(self) -> None:
        self._current: set[int] = set()
        self._previous: set[int] = set()
        self._turn_at = 0.0

    def __len__(self) -> int:
        return len(self._current) + len(self._previous)

    def is_copy(self, packet: CrowPacket, source: bytes, now: float) -> bool:
        """Whether this one came a moment ago; from now on it has."""
        if now >= self._turn_at or len(self._current) >= _RECENT_MAX:
            self._turn(now)
        key = hash((source, packet.seqid, packet.type, packet.data))
        if key in self._current or key in self._previous:
            return True
        self._current.add(key)
        return False

    def _turn(self, now: float) -> None:
        was_idle = now >= self._turn_at + RECENT_S
        self._previous = set() if was_idle else self._current
        self._current = set()
        self._turn_at = now + RECENT_S
