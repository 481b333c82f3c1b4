"""Outbound path: packets in flight, acknowledgements, losses and pacing.

A packet is lost when three later ones were acknowledged, or when it was sent 9/8 of a round trip
before a later one that was acknowledged. Silence alone loses nothing: the path sends probes, and
other paths take over its data.
"""

from collections import deque
from typing import Final

from rookery.errors import ProtocolError
from rookery.identity.cipher_set import RandomBytes
from rookery.mesh.tunnel.packets.sent_packet import Segment, SentPacket
from rookery.mesh.tunnel.paths.congestion import CongestionControl
from rookery.mesh.tunnel.paths.delivery_rate import DeliveryRate
from rookery.mesh.tunnel.paths.path import TunnelPath
from rookery.mesh.tunnel.paths.round_trip import PathRoundTrip
from rookery.wire.mesh.tunnel_data import TunnelAck
from rookery.wire.mesh.tunnel_packet import head

REORDERING: Final = 3  # packets
ACK_SLACK_S: Final = 0.025  # what an acknowledgement may take beyond the round trip
PATIENCE_MAX_S: Final = 2.0

_BURST_S: Final = 0.001
_LATE_S: Final = 0.02  # what a busy machine has missed of the pace is made up for, up to this
_SKIPPED_MAX: Final = 64
_COPIES_MAX: Final = 512


class OutboundPath:
    """What this side sends over one path."""

    __slots__ = (
        "_largest_acked",
        "_lost_at",
        "_next_at",
        "_number",
        "_probe_at",
        "_random",
        "_skip_at",
        "acked_packets",
        "congestion",
        "copies",
        "delivery",
        "first_head",
        "head",
        "in_flight",
        "is_probe_due",
        "last_sent_at",
        "lost_packets",
        "marks",
        "probes",
        "round_trip",
        "sent",
        "sent_packets",
        "sent_size",
        "skipped",
        "spec",
    )

    def __init__(
        self, spec: TunnelPath, first_number: int, random: RandomBytes, now: float
    ) -> None:
        self.spec = spec
        self.head = head(spec.id, is_first=False)
        self.first_head = head(spec.id, is_first=True)
        self.round_trip = PathRoundTrip(spec.rtt_s, now)
        self.delivery = DeliveryRate(now)
        self.congestion = CongestionControl(spec.kind, spec.mtu, self.round_trip, self.delivery)
        self.sent: dict[int, SentPacket] = {}
        self.copies: deque[Segment] = deque(maxlen=_COPIES_MAX)  # of what other paths carry, too
        self.in_flight = 0  # bytes
        self.probes = 0  # in a row without an answer
        self.is_probe_due = True  # what is new is measured at once
        self.last_sent_at = now
        self.sent_packets = self.sent_size = self.acked_packets = self.lost_packets = 0
        self.skipped: set[int] = set()
        self._random = random
        self._number = first_number
        self._skip_at = first_number + 1 + random(1)[0]
        self._largest_acked = 0
        self.marks = 0  # packets that the other side saw marked
        self._next_at = now
        self._probe_at: float | None = None
        self._lost_at: float | None = None

    @property
    def next_number(self) -> int:
        return self._number

    @property
    def is_silent(self) -> bool:
        """True if the path does not answer; new data takes other paths if there are any."""
        return self.probes > 0

    @property
    def rate(self) -> float:
        """Bytes per second; an estimate until it is measured."""
        return self.congestion.rate

    @property
    def packet_size(self) -> int:
        """Of head and body."""
        return self.congestion.packet_size

    # --- sending ---

    def has_room(self, now: float) -> bool:
        return self._next_at <= now + _BURST_S and self.in_flight < self.congestion.window

    @property
    def has_window(self) -> bool:
        return self.in_flight < self.congestion.window

    @property
    def paced_at(self) -> float:
        """When pacing allows the next packet."""
        return self._next_at - _BURST_S

    def arrival_s(self, size: int, now: float) -> float:
        """Seconds until a packet that is sent now would arrive."""
        trip, rate = self.round_trip, self.rate
        wait_s = max(self._next_at - now, 0.0)
        queued = self.in_flight + size - max(rate * trip.min_s, 1.0)
        if queued > 0:
            wait_s = max(wait_s, queued / rate)
        return wait_s + trip.min_s / 2

    def number(self) -> int:
        """The next packet's number. Some are skipped: a peer that acknowledges them is lying."""
        if self._number == self._skip_at:
            self.skipped.add(self._number)
            if len(self.skipped) > _SKIPPED_MAX:
                self.skipped.discard(min(self.skipped))
            self._skip_at = self._number + 1024 + 16 * self._random(1)[0]
            self._number += 1
        number = self._number
        self._number += 1
        return number

    def left(self, packet: SentPacket) -> None:
        """A packet was sent."""
        now = packet.sent_at
        self.delivery.sending(packet, self.in_flight, now)
        self.sent[packet.number] = packet
        self.in_flight += packet.size
        self.sent_packets += 1
        self.sent_size += packet.size
        self.last_sent_at = now
        rate = self.congestion.pacing_rate
        if rate:
            self._next_at = max(self._next_at, now - _LATE_S) + packet.size / rate
        if self._probe_at is None:
            self._probe_at = now + self.patience_s

    # --- what became of it ---

    def acknowledged(self, ack: TunnelAck, now: float) -> list[SentPacket]:
        """The packets that this acknowledges; ProtocolError when it cannot be true."""
        largest = ack.ranges[0][1]
        if largest >= self._number:
            raise ProtocolError("a packet acknowledged that was never sent")
        if self.skipped:
            self._check_skipped(ack)
        arrived = self._arrived(ack)
        if not arrived:
            return arrived
        newest = arrived[0]
        for packet in arrived:
            if packet.number > newest.number:
                newest = packet
            self.in_flight -= packet.size
            self.delivery.arrived(packet, now)
        self.acked_packets += len(arrived)
        if largest == newest.number:
            self.round_trip.sample(now - newest.sent_at, ack.delay_us / 1e6, now)
        self._largest_acked = max(self._largest_acked, largest)
        self.probes = 0
        is_new_round = self.delivery.sample(newest, now)
        if ack.marks > self.marks and is_new_round:
            self.congestion.marked(now)
        self.marks = max(self.marks, ack.marks)
        self.congestion.acknowledged(self.in_flight, now, is_new_round=is_new_round)
        self._probe_at = now + self.patience_s if self.sent else None
        self._lost_at = now
        return arrived

    def take_lost(self, now: float) -> list[SentPacket]:
        """Remove and return packets that count as lost by reordering or time."""
        if self._lost_at is None or now < self._lost_at:
            return []
        self._lost_at = None
        lost = []
        sent_before = now - self.round_trip.loss_s
        overtaken = self._largest_acked - REORDERING
        for packet in self.sent.values():
            if packet.number > self._largest_acked:
                break
            if packet.number <= overtaken or packet.sent_at <= sent_before:
                lost.append(packet)
            elif self._lost_at is None:
                self._lost_at = packet.sent_at + self.round_trip.loss_s + 1e-6
        for packet in lost:
            self._give_up(packet)
        if lost and not self.sent:
            self._probe_at = None
        return lost

    def take_all(self) -> list[SentPacket]:
        """Remove and return everything in flight: the path is down."""
        packets = list(self.sent.values())
        for packet in packets:
            self._give_up(packet)
        self._probe_at = self._lost_at = None
        return packets

    def is_overdue(self, now: float) -> bool:
        """True if the path has not answered for too long; schedules a probe, and the next one."""
        if self._probe_at is None or now < self._probe_at:
            return False
        self.probes += 1
        self.is_probe_due = True
        self._probe_at = now + self.patience_s
        return True

    @property
    def patience_s(self) -> float:
        patience_s = self.round_trip.patience_s + ACK_SLACK_S
        return min(patience_s * (1 << min(self.probes, 6)), max(PATIENCE_MAX_S, patience_s))

    @property
    def deadline(self) -> float | None:
        """When `Tunnel.tick` has to look at this path."""
        if self._lost_at is None:
            return self._probe_at
        return self._lost_at if self._probe_at is None else min(self._lost_at, self._probe_at)

    def _arrived(self, ack: TunnelAck) -> list[SentPacket]:
        arrived = []
        sent = self.sent
        for first, last in ack.ranges:
            if not sent:
                break
            oldest = next(iter(sent))
            if last < oldest:
                break
            first = max(first, oldest)
            # A range may be as long as the liar likes, the loop only as what is under way.
            numbers = range(first, last + 1)
            if last - first > 2 * len(sent):
                numbers_sent = [number for number in sent if first <= number <= last]
                arrived += [sent.pop(number) for number in numbers_sent]
                continue
            for number in numbers:
                packet = sent.pop(number, None)
                if packet is not None:
                    arrived.append(packet)
        return arrived

    def _check_skipped(self, ack: TunnelAck) -> None:
        for number in self.skipped:
            if any(first <= number <= last for first, last in ack.ranges):
                raise ProtocolError("a packet acknowledged that was never sent")

    def _give_up(self, packet: SentPacket) -> None:
        del self.sent[packet.number]
        self.in_flight -= packet.size
        self.delivery.lost += packet.size
        self.lost_packets += 1
