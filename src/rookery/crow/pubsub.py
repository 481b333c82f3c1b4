"""The words of publish and subscribe that the broker and its clients share.

client ── Publish, Subscribe, Request, … ──▶ broker (node 3)
client ◀── Consume ── broker
"""

from typing import NamedTuple

import msgspec

# A body above the first size leaves in chunks of the second, their headers included, as the C++
# broker does it: larger datagrams would be fragmented on their way.
CHUNK_ABOVE = 1200
CHUNK_SIZE = 1000


class Client(NamedTuple):
    """Who subscribes: where answers go, and which node there; `node` is None for packet type 4."""

    address: bytes
    node: int | None


class Terms(NamedTuple):
    """How a client wants to be sent what it subscribed to."""

    qos: int
    ackquant_ms: int


Audience = dict[Client, Terms]


class Send(msgspec.Struct, frozen=True, gc=False):
    """An order of the broker: all who get one message share its bytes."""

    client: Client
    body: bytes
    qos: int
    ackquant_ms: int


class Call(msgspec.Struct, frozen=True, gc=False):
    """An order of a client: send this to the broker's node."""

    body: bytes
    qos: int
    ackquant_ms: int


def chunk_size(body: bytes) -> int | None:
    """How large the chunks of this body are; None where it leaves in one piece."""
    return CHUNK_SIZE if len(body) > CHUNK_ABOVE else None
