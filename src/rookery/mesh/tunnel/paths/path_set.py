"""The paths of one tunnel: outbound paths that are up, and inbound paths with recent packets."""

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
    """All paths of one tunnel, both directions."""

    __slots__ = ("_in", "_max", "_number", "_out", "_random")

    def __init__(self, paths_max: int, random: RandomBytes) -> None:
        self._out: dict[int, OutboundPath] = {}
        self._in: dict[int, InboundPath] = {}
        self._max = paths_max
        self._random = random
        self._number = 1  # no packet of a path that is down had a higher one

    def __len__(self) -> int:
        return len(self._out)

    @property
    def out(self) -> list[OutboundPath]:
        return list(self._out.values())

    @property
    def usable(self) -> list[OutboundPath]:
        """The paths that answer; all paths when none does."""
        paths = list(self._out.values())
        if len(paths) < 2:
            return paths
        return [path for path in paths if not path.is_silent] or paths

    @property
    def inbound(self) -> ValuesView[InboundPath]:
        return self._in.values()

    @property
    def rtt_max_s(self) -> float:
        return max((path.round_trip.smoothed_s for path in self.usable), default=_RTT_UNKNOWN_S)

    def get(self, number: int) -> OutboundPath | None:
        return self._out.get(number)

    def reply_to(self, inbound: InboundPath) -> OutboundPath | None:
        """Our path that the inbound path's packets came by; None when it is down or silent."""
        path = self._out.get(inbound.reply_path)
        return None if path is None or path.is_silent else path

    def up(self, path: TunnelPath, now: float) -> None:
        if path.id not in self._out and len(self._out) == self._max:
            raise CongestionError(f"a tunnel has {self._max} paths at most")
        self._out[path.id] = OutboundPath(path, self._number, self._random, now)

    def down(self, number: int) -> OutboundPath | None:
        path = self._out.pop(number, None)
        if path is not None:
            # The same number may come back, and packets of its former life are still about.
            self._number = max(self._number, path.next_number)
        return path

    def inbound_for(self, number: int, reply_path: int) -> InboundPath:
        """The inbound path of that number; the longest unused one makes room for a new one."""
        inbound = self._in.get(number)
        if inbound is None:
            inbound = InboundPath(number)
            if len(self._in) == _INBOUND_MAX:
                del self._in[next(iter(self._in))]
            self._in[number] = inbound
        elif len(self._in) > 1 and inbound.reply_path != reply_path:
            self._in[number] = self._in.pop(number)
        inbound.reply_path = reply_path
        return inbound
