"""Round trip of a path: smoothed, its variation, and the least of late."""

from typing import Final

MIN_WINDOW_S: Final = 10.0

_GRANULARITY_S: Final = 0.001


class PathRoundTrip:
    """Starts with the owner's estimate until the first sample."""

    __slots__ = ("_sampled", "latest_s", "min_at", "min_s", "smoothed_s", "variation_s")

    def __init__(self, guess_s: float, now: float) -> None:
        self.smoothed_s = guess_s
        self.variation_s = guess_s / 2
        self.latest_s = guess_s
        self.min_s = guess_s
        self.min_at = now
        self._sampled = False

    @property
    def is_measured(self) -> bool:
        return self._sampled

    def sample(self, rtt_s: float, delay_s: float, now: float) -> None:
        """`delay_s` is how long the peer says that it held the acknowledgement."""
        rtt_s = max(rtt_s, 1e-6)
        # A delay that would ping the least round trip known is not believed.
        own_s = rtt_s - delay_s if rtt_s - delay_s >= self.min_s or not self._sampled else rtt_s
        own_s = max(own_s, 1e-6)
        self.latest_s = own_s
        if not self._sampled:
            self._sampled = True
            self.smoothed_s, self.variation_s = own_s, own_s / 2
            self.min_s, self.min_at = own_s, now
            return
        self.variation_s += (abs(self.smoothed_s - own_s) - self.variation_s) / 4
        self.smoothed_s += (own_s - self.smoothed_s) / 8
        if own_s <= self.min_s:
            self.min_s, self.min_at = own_s, now

    def forget_min(self, now: float) -> None:
        """Measure the minimum anew."""
        self.min_s, self.min_at = self.latest_s, now

    @property
    def loss_s(self) -> float:
        """How long after it was sent a packet counts as lost, once a later one is acknowledged."""
        return max(self.smoothed_s, self.latest_s) * 9 / 8

    @property
    def patience_s(self) -> float:
        """How long the path may be silent before it is probed."""
        return self.smoothed_s + max(4 * self.variation_s, _GRANULARITY_S)
