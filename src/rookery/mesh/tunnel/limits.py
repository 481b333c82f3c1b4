"""What a tunnel may use of this machine."""

from typing import Final

import msgspec

KIB, MIB = 1 << 10, 1 << 20

# Both sides begin with these, whatever they grant later.
WINDOW_START: Final = 1 * MIB
STREAMS_START: Final = 4096


class TunnelLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of one tunnel."""

    window_max: int = 16 * MIB  # bytes that wait for a slow reader, of one stream and of all
    backlog_max: int = 512 * KIB  # bytes of one stream that wait to be sent
    backlogs_max: int = 8 * MIB  # of all streams together
    pieces_max: int = 32768  # out of order, all streams together
    datagrams_max: int = 256  # waiting, each way
    paths_max: int = 8
    stall_s: float = 60.0  # without any path
