"""Transports: what an address is reached over, and what follows for its paths.

A transport is registered here and has a gate (`runtime.endpoint.gates`); nothing else lists them.
"""

from typing import Final

import msgspec

FAMILIES: Final = {"4": 4, "6": 6}  # the end of a kind of path, and the IP version


class Transport(msgspec.Struct, frozen=True, kw_only=True):
    """A carrier of packets between IP addresses."""

    carrier: str
    is_stream: bool = True
    is_dialled: bool = True  # False: only connections that a peer dialled have such a path
    is_recorded: bool = True  # in records and invitations, where the order is the code on the wire

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of path, one for each family of addresses."""
        return tuple(self.carrier + family for family in FAMILIES)


UDP: Final = Transport(carrier="udp", is_stream=False)
TCP: Final = Transport(carrier="tcp")
TLS: Final = Transport(carrier="tls")
WEB_SOCKET: Final = Transport(carrier="ws", is_dialled=False, is_recorded=False)

TRANSPORTS: Final = (UDP, TCP, TLS, WEB_SOCKET)

NET_KINDS: Final = frozenset(kind for each in TRANSPORTS for kind in each.kinds)
RECORDED_KINDS: Final = tuple(
    kind for each in TRANSPORTS if each.is_recorded for kind in each.kinds
)
STREAM_KINDS: Final = frozenset(
    kind for each in TRANSPORTS if each.is_stream for kind in each.kinds
)
DIALLED_KINDS: Final = frozenset(
    kind for each in TRANSPORTS if each.is_dialled for kind in each.kinds
)

# Beside these, a path may be
URL: Final = "http"  # a URL with a WebSocket behind it
UNIX: Final = "unix"  # a socket in this machine's file system
