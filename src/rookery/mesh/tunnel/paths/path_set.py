"""Ways of a tunnel: those out that are up, those in that were heard, and what fits which."""

from collections.abc import ValuesView
from typing import Final

from rookery.errors import CongestionError
from rookery.identity.cipher_set import RandomBytes
from rookery.mesh.tunnel.paths.inbound_path import InboundPath
from rookery.mesh.tunnel.paths.outbound_path import OutboundPath
from rookery.mesh.tunnel.paths.path import TunnelPath

_INBOUND_MAX: Final = 16
_RTT_UNKNOWN_S: Final = 0.1


class TunnelPaths:
    """All ways of one tunnel, both directions."""

    __slots__ = ("_in", "_max", "_number", "_out", "_random")

    def __init__(self, ways_max: int, random: RandomBytes) -> None:
        self._out: dict[int, OutboundPath] = {}
        self._in: dict[int, InboundPath] = {}
        self._max = ways_max
        self._random = random
        self._number = 1  # no packet of a way that is down had a higher one

    def __len__(self) -> int:
        return len(self._out)

    @property
    def out(self) -> list[OutboundPath]:
        return list(self._out.values())

    @property
    def usable(self) -> list[OutboundPath]:
        """Those that answer; all of them when none does."""
        ways = list(self._out.values())
        if len(ways) < 2:
            return ways
        return [way for way in ways if not way.is_silent] or ways

    @property
    def inbound(self) -> ValuesView[InboundPath]:
        return self._in.values()

    @property
    def rtt_max_s(self) -> float:
        return max((way.round_trip.smoothed_s for way in self.usable), default=_RTT_UNKNOWN_S)

    def get(self, number: int) -> OutboundPath | None:
        return self._out.get(number)

    def reply_to(self, inbound: InboundPath) -> OutboundPath | None:
        """The way back that is most like the way in; None where any other is as good."""
        way = self._out.get(inbound.reply_way)
        return None if way is None or way.is_silent else way

    def up(self, way: TunnelPath, now: float) -> None:
        if way.id not in self._out and len(self._out) == self._max:
            raise CongestionError(f"a tunnel has {self._max} ways at most")
        self._out[way.id] = OutboundPath(way, self._number, self._random, now)

    def down(self, number: int) -> OutboundPath | None:
        way = self._out.pop(number, None)
        if way is not None:
            # The same number may come back, and packets of its former life are still about.
            self._number = max(self._number, way.next_number)
        return way

    def heard(self, number: int, reply_way: int) -> InboundPath:
        """The way in of that number; the one that was silent longest makes room for a new one."""
        inbound = self._in.get(number)
        if inbound is None:
            inbound = InboundPath(number)
            if len(self._in) == _INBOUND_MAX:
                del self._in[next(iter(self._in))]
            self._in[number] = inbound
        elif len(self._in) > 1 and inbound.reply_way != reply_way:
            self._in[number] = self._in.pop(number)
        inbound.reply_way = reply_way
        return inbound
