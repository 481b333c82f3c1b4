"""Datagram class: what may become of a datagram when there is no datagram path (M11)."""

from enum import IntEnum


class DatagramClass(IntEnum):
    """The numbers are those of the wire."""

    FALLBACK = 0  # a datagram path, else a stream while that is quick
    DROP = 1  # a datagram path or nothing
    RELIABLE_OK = 2  # whichever path there is
