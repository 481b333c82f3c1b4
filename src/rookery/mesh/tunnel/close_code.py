"""Why a tunnel or a stream came to its end."""

from enum import IntEnum


class CloseCode(IntEnum):
    """Of a tunnel; the numbers are those of the wire."""

    DONE = 0
    PROTOCOL = 1  # the other side broke the rules
    STALLED = 2  # no way for too long
    UNKNOWN = 3  # a packet of a tunnel that nobody here knows
    REPLACED = 4  # the other side opened a new one
    SHUTDOWN = 5  # the node ends
    REFUSED = 6  # no tunnels, or too many
