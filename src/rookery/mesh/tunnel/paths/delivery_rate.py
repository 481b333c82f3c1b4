"""Delivery rate of a path: what arrives per second while there is enough to send."""

from collections import deque
from typing import Final

from rookery.mesh.tunnel.packets.sent_packet import SentPacket

ROUNDS: Final = 10  # that a maximum lasts


class DeliveryRate:
    """The highest rate of the last rounds; a round is one round trip."""

    __slots__ = (
        "_first_sent_at",
        "_limited_until",
        "_maxima",
        "_round_ends",
        "delivered",
        "delivered_at",
        "lost",
        "round",
        "was_limited",
    )

    def __init__(self, now: float) -> None:
        self.delivered = 0  # bytes
        self.delivered_at = now
        self.lost = 0
        self.round = 0
        self.was_limited = False  # at the last sample
        self._first_sent_at = now
        self._limited_until = 0  # until so much is delivered the program was too slow, not the path
        self._maxima: deque[tuple[int, float]] = deque()  # falling, so the first is the most
        self._round_ends = 0

    @property
    def rate(self) -> float:
        """Bytes per second; 0 before anything arrived."""
        return self._maxima[0][1] if self._maxima else 0.0

    def sending(self, packet: SentPacket, in_flight: int, now: float) -> None:
        """Note in a packet what was delivered when it was sent."""
        if in_flight == 0:
            self._first_sent_at = self.delivered_at = now
        packet.first_sent_at = self._first_sent_at
        packet.delivered = self.delivered
        packet.delivered_at = self.delivered_at
        packet.is_limited = self._limited_until > 0

    def limited(self, in_flight: int) -> None:
        """Nothing more to send: samples up to here show less than the path can carry."""
        self._limited_until = self.delivered + in_flight or 1

    def arrived(self, packet: SentPacket, now: float) -> None:
        self.delivered += packet.size
        self.delivered_at = now

    def sample(self, packet: SentPacket, now: float) -> bool:
        """Take a sample after an acknowledgement; True if a new round began."""
        is_new_round = packet.delivered >= self._round_ends
        if is_new_round:
            self._round_ends = self.delivered
            self.round += 1
        if self._limited_until and self.delivered > self._limited_until:
            self._limited_until = 0
        self._first_sent_at = packet.sent_at
        self.was_limited = packet.is_limited
        interval_s = max(now - packet.delivered_at, packet.sent_at - packet.first_sent_at)
        if interval_s > 0:
            rate = (self.delivered - packet.delivered) / interval_s
            # What a slow program sent is news only where it is more than was known.
            if not packet.is_limited or rate > self.rate:
                self._add(rate)
        return is_new_round

    def _add(self, rate: float) -> None:
        maxima = self._maxima
        while maxima and maxima[-1][1] <= rate:
            maxima.pop()
        maxima.append((self.round, rate))
        while maxima[0][0] <= self.round - ROUNDS:
            maxima.popleft()
