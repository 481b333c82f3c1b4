"""TCP_INFO: what Linux knows of a connection by itself, for free.

    offset   7  bit 0: the delivery rate was limited by how little there was to send
            68  rtt          u32, µs
            72  rttvar       u32, µs
           100  total_retrans u32, segments repeated since the beginning
           144  notsent_bytes u32, bytes that were written and have not left yet
           148  min_rtt      u32, µs, the least of the last minutes; all ones where there is none
           156  data_segs_out u32, segments with data, the repeated ones included
           160  delivery_rate u64, bytes per second, 0 where nothing was measured yet

These are of `struct tcp_info` in the kernel's <linux/tcp.h>, which only ever grows at its end; the
last field came with Linux 4.9.
"""

import socket
import struct
import sys
from typing import Protocol

from rookery.mesh.quality.path_quality import StreamMeasure

_SIZE = 256
_FIELDS = struct.Struct("=7xB60xII24xI40xII4xIQ")  # the layout has no holes, so no alignment
_NO_RTT = 0xFFFFFFFF
_APP_LIMITED = 1 if sys.byteorder == "little" else 0x80  # the first bit of a C bit field


class TcpInfoSocket(Protocol):
    """A socket, or what an event loop shows of one."""

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes: ...


def measure(sock: TcpInfoSocket) -> StreamMeasure | None:
    """What the system knows of this connection; None where it cannot tell."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SIZE)
    except OSError:  # closed, or no TCP socket
        return None
    if len(info) < _FIELDS.size:
        return None
    flags, rtt_us, rttvar_us, retransmits, unsent, least_us, segments, rate = _FIELDS.unpack_from(
        info
    )
    return StreamMeasure(
        rtt_s=rtt_us / 1e6,
        rttvar_s=rttvar_us / 1e6,
        segments=segments,
        retransmits=retransmits,
        rate=float(rate) if rate else None,
        is_app_limited=flags & _APP_LIMITED != 0,
        unsent=unsent,
        rtt_min_s=None if least_us in (0, _NO_RTT) else least_us / 1e6,
    )
