"""Segmentation offload: many datagrams through the kernel in one call, where Linux offers it.

    sending      | datagram | datagram | … | the last, not longer |   all to one address
    receiving    the same, of what one sender sent in a row

One size goes along with the bytes and says where to cut. On the wire nothing changes.
"""

import contextlib
import socket
import sys
from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from typing import Final

SEGMENTS_MAX: Final = 64  # what every kernel that knows it accepts
RUN_SIZE_MAX: Final = 65_000  # must fit one IP packet together with its headers
ANCILLARY_SPACE: Final = socket.CMSG_SPACE(4)

Ancillary = tuple[int, int, bytes]

_UDP: Final = int(socket.IPPROTO_UDP)
_UDP_SEGMENT: Final = 103
_UDP_GRO: Final = 104
_SENT_SIZE: Final = Struct("=H")
_RECEIVED_SIZE: Final = Struct("=i")


def enable(sock: socket.socket) -> bool:
    """Receive in runs if possible; whether runs may be sent."""
    if not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(OSError):
        sock.setsockopt(_UDP, _UDP_GRO, 1)
    try:
        sock.setsockopt(_UDP, _UDP_SEGMENT, 0)
    except OSError:  # an old kernel, or no UDP socket
        return False
    return True


def run_length(datagrams: list[bytes]) -> int:
    """How many of these datagrams to one address, from the first on, can go in one call."""
    size = len(datagrams[0])
    count = min(len(datagrams), SEGMENTS_MAX, max(RUN_SIZE_MAX // max(size, 1), 1))
    for index in range(1, count):
        other = len(datagrams[index])
        if other != size:
            return index + 1 if other < size else index
    return count


@lru_cache(maxsize=256)
def cut_every(size: int) -> tuple[Ancillary]:
    """What `sendmsg` must be told to cut a run into datagrams of this size."""
    return ((_UDP, _UDP_SEGMENT, _SENT_SIZE.pack(size)),)


def segment_size(ancillary: Sequence[Ancillary], default: int) -> int:
    """Where to cut what `recvmsg` returned."""
    for level, kind, data in ancillary:
        if level == _UDP and kind == _UDP_GRO:
            if len(data) < _RECEIVED_SIZE.size:
                return default
            return int(_RECEIVED_SIZE.unpack_from(data)[0]) or default
    return default
