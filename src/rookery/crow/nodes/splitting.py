"""Splitting: sends messages that are too long for one packet, chunk by chunk.

Chunks carry no message number. Their packets are numbered in a row, by which our receivers know
what belongs together. The C++ ones do not, so from node to node one split message goes after the
other; and they go with QoS 2 where QoS 1 was requested, since a chunk that came again would look
like the first of the next message. For the same reason whatever follows one that failed waits until
the other end has forgotten its chunks. With QoS 0 nothing tells when a message is over: its chunks
are sent in one go.
"""

from collections import deque
from collections.abc import Callable

import msgspec

from rookery.crow.nodes.reassembly import COMPLETE_WITHIN_S
from rookery.crow.packet_events import Ticket
from rookery.crow.tower.tower import Tower
from rookery.errors import CongestionError
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import NODE, QOS_MAX, SEQID_MODULUS

UNACKED_CHUNKS_MAX = 16
_WAITING_MAX = 64  # messages, from one node to another
_PAIRS_MAX = 4096

_Pair = tuple[bytes, int, int]  # address, sid, rid


class SplitOutcome(msgspec.Struct, frozen=True):
    """What became of a split message."""

    ticket: Ticket
    node: int
    failure: str | None


class _SplitMessage:
    __slots__ = ("ackquant_ms", "chunks", "failure", "next_seqid", "pair", "ticket", "unacked")

    def __init__(
        self, ticket: Ticket, pair: _Pair, chunks: list[NodePacket], ackquant_ms: int
    ) -> None:
        self.ticket = ticket
        self.pair = pair
        self.chunks = deque(chunks)
        self.ackquant_ms = ackquant_ms
        self.next_seqid: int | None = None  # None: not begun
        self.unacked = 0
        self.failure: str | None = None


class MessageSplitter:
    """Split messages in flight."""

    def __init__(self, tower: Tower, tell: Callable[[SplitOutcome, float], None]) -> None:
        self._tower = tower
        self._tell = tell
        self._pairs: dict[_Pair, deque[_SplitMessage]] = {}  # the first of each is in flight
        self._splits: dict[Ticket, _SplitMessage] = {}  # by the tickets of their chunks
        self.tickets = self._splits.keys()  # of chunks in flight
        self._resting: dict[_Pair, float] = {}  # after a failure, until when; the oldest first

    def __len__(self) -> int:
        """Messages in flight or waiting."""
        return sum(map(len, self._pairs.values()))

    def send(
        self, address: bytes, chunks: list[NodePacket], now: float, qos: int, ackquant_ms: int
    ) -> Ticket:
        """Send the chunks of one message; an outcome follows when qos is not 0."""
        if qos == 0:
            return self._send_at_once(address, chunks, now, ackquant_ms)
        if not self._tower.room(address):
            raise CongestionError(f"the queue of {address.hex()} is full")
        pair = (address, chunks[0].sid, chunks[0].rid)
        waiting = self._pairs.get(pair)
        if waiting is None:
            if len(self._pairs) >= _PAIRS_MAX:
                raise CongestionError(f"{len(self._pairs)} nodes send split messages")
            waiting = self._pairs[pair] = deque()
        elif len(waiting) >= _WAITING_MAX:
            raise CongestionError(f"{len(waiting)} split messages wait for node {pair[2]}")
        split = _SplitMessage(self._tower.ticket(), pair, chunks, ackquant_ms)
        waiting.append(split)
        if waiting[0] is split and pair not in self._resting:
            self._proceed(split, now)
        return split.ticket

    @property
    def deadline(self) -> float | None:
        return next(iter(self._resting.values()), None)

    def tick(self, now: float) -> None:
        while (deadline := self.deadline) is not None and deadline <= now:
            pair = next(iter(self._resting))
            del self._resting[pair]
            self._next(pair, now)

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> bool:
        """A packet was delivered, or was not; False when it is no chunk."""
        split = self._splits.pop(ticket, None)
        if split is None:
            return False
        split.unacked -= 1
        if failure is not None:
            split.failure = failure
            split.chunks.clear()
        self._proceed(split, now)
        return True

    def _send_at_once(
        self, address: bytes, chunks: list[NodePacket], now: float, ackquant_ms: int
    ) -> Ticket:
        for chunk in chunks:
            ticket = self._tower.send(
                address, chunk.serialize(), now, type=NODE, ackquant_ms=ackquant_ms
            )
        return ticket

    def _proceed(self, split: _SplitMessage, now: float) -> None:
        address = split.pair[0]
        if split.next_seqid is None:
            split.next_seqid = self._tower.reserve(address, len(split.chunks), now)
        while split.chunks and split.unacked < UNACKED_CHUNKS_MAX:
            if not self._tower.room(address):
                break
            data = split.chunks.popleft().serialize()
            ticket = self._tower.send(
                address,
                data,
                now,
                type=NODE,
                qos=QOS_MAX,
                ackquant_ms=split.ackquant_ms,
                seqid=split.next_seqid,
            )
            split.next_seqid = (split.next_seqid + 1) % SEQID_MODULUS
            self._splits[ticket] = split
            split.unacked += 1
        if split.unacked:
            return
        if split.chunks:
            split.failure = "the queue is full"
        self._pairs[split.pair].popleft()
        if split.failure is None:
            self._next(split.pair, now)
        else:
            # Those of its chunks that arrived would be taken for parts of the next message.
            self._resting[split.pair] = now + COMPLETE_WITHIN_S
        self._tell(SplitOutcome(split.ticket, split.pair[1], split.failure), now)

    def _next(self, pair: _Pair, now: float) -> None:
        waiting = self._pairs[pair]
        if waiting:
            self._proceed(waiting[0], now)
        else:
            del self._pairs[pair]
