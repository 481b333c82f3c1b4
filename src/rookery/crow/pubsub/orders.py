"""The words of publish and subscribe that the broker and its clients share.

client ── Publish, Subscribe, Request, … ──▶ broker (node 3)
client ◀── Consume ── broker
"""

from typing import Final, NamedTuple

# A body above the first size leaves in chunks of the second, their headers included, as the C++
# broker does it: larger datagrams would be fragmented.
CHUNK_ABOVE: Final = 1200
CHUNK_SIZE: Final = 1000


class BrokerClient(NamedTuple):
    """A subscriber: its address and its node there; `node` is None for packet type 4."""

    address: bytes
    node: int | None


class DeliveryOptions(NamedTuple):
    """How a client wants to be sent what it subscribed to."""

    qos: int
    ackquant_ms: int


Audience = dict[BrokerClient, DeliveryOptions]


class BrokerSend:
    """An order of the broker; all receivers of one message share its bytes."""

    __slots__ = ("ackquant_ms", "body", "client", "qos")

    def __init__(self, client: BrokerClient, body: bytes, qos: int, ackquant_ms: int) -> None:
        self.client: Final = client
        self.body: Final = body
        self.qos: Final = qos
        self.ackquant_ms: Final = ackquant_ms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BrokerSend) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        return f"BrokerSend{self._fields}"

    @property
    def _fields(self) -> tuple[BrokerClient, bytes, int, int]:
        return self.client, self.body, self.qos, self.ackquant_ms


class ClientSend:
    """An order of a client: send this to the broker's node."""

    __slots__ = ("ackquant_ms", "body", "qos")

    def __init__(self, body: bytes, qos: int, ackquant_ms: int) -> None:
        self.body: Final = body
        self.qos: Final = qos
        self.ackquant_ms: Final = ackquant_ms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClientSend) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        return f"ClientSend{self._fields}"

    @property
    def _fields(self) -> tuple[bytes, int, int]:
        return self.body, self.qos, self.ackquant_ms


def chunk_size(body: bytes) -> int | None:
    """How large the chunks of this body are; None where it leaves in one piece."""
    return CHUNK_SIZE if len(body) > CHUNK_ABOVE else None
