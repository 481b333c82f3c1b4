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

SEGMENTS_MAX = 64  # what every kernel that knows it accepts
RUN_SIZE_MAX = 65_000  # must fit one IP packet together with its headers
ANCILLARY_SPACE = socket.CMSG_SPACE(4)

Ancillary = tuple[int, int, bytes]

_UDP_SEGMENT = 103
_UDP_GRO = 104
_SENT_SIZE = Struct("=H")
_RECEIVED_SIZE = Struct("=i")


def enable(sock: socket.socket) -> bool:
    """Receive in runs if possible; whether runs may be sent."""
    if not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.IPPROTO_UDP, _UDP_GRO, 1)
    try:
        sock.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, 0)
    except OSError:  # an old kernel, or no UDP socket
        return False
    return True


def run_length(datagrams: Sequence[bytes]) -> int:
    """How many of these datagrams to one address, from the first on, can go in one call."""
    size = len(datagrams[0])
    run = datagrams[: min(SEGMENTS_MAX, max(RUN_SIZE_MAX // max(size, 1), 1))]
    sizes = list(map(len, run))
    if sizes.count(size) == len(run):  # as good as always
        return len(run)
    other = next(index for index, each in enumerate(sizes) if each != size)
    return other + 1 if sizes[other] < size else other


@lru_cache(maxsize=256)
def cut_every(size: int) -> tuple[Ancillary]:
    """What `sendmsg` must be told to cut a run into datagrams of this size."""
    return ((socket.IPPROTO_UDP, _UDP_SEGMENT, _SENT_SIZE.pack(size)),)


def segment_size(ancillary: Sequence[Ancillary], default: int) -> int:
    """Where to cut what `recvmsg` returned."""
    for level, kind, data in ancillary:
        if level == socket.IPPROTO_UDP and kind == _UDP_GRO:
            if len(data) < _RECEIVED_SIZE.size:
                return default
            return int(_RECEIVED_SIZE.unpack_from(data)[0]) or default
    return default
