"""Path monitor: pings and measurements of one path, as frames in and frames out."""

from typing import Final

from rookery.link.token_bucket import TokenBucket
from rookery.mesh.quality.liveness import LivenessPing, PathCondition, PathLiveness
from rookery.mesh.quality.path_quality import PathQuality
from rookery.wire.link.path import Path
from rookery.wire.mesh.ping import Ping, Pong

Frame = tuple[bytes, bytes]  # head and body

ANSWERS_PER_S: Final = 5.0
ANSWERS_BURST: Final = 20.0


class PathMonitor:
    """One path of a neighbour; `attempt` is 0 but on the datagram path beside a stream."""

    __slots__ = ("_answers", "attempt", "ignored", "liveness", "path", "quality")

    def __init__(self, path: Path, now: float, attempt: int = 0) -> None:
        self.path = path
        self.attempt = attempt
        self.liveness = PathLiveness(now)
        self.quality = PathQuality()
        self.ignored = 0  # pings of another attempt, and those above the rate limit
        self._answers = TokenBucket(ANSWERS_PER_S, ANSWERS_BURST, now)

    @property
    def condition(self) -> PathCondition:
        return self.liveness.condition

    def tick(self, now: float) -> Frame | None:
        """The ping to send, when one is due."""
        ping = self.liveness.tick(now)
        return self._ping(ping, now) if ping is not None else None

    def probe(self, size: int, now: float) -> Frame:
        """A ping of this size, now."""
        return self._ping(self.liveness.probe(size, now), now)

    def ping_received(self, ping: Ping, now: float, *, is_limited: bool = False) -> Frame | None:
        """Note the peer's ping; the answer to it."""
        if ping.attempt != self.attempt or not self._answers.take(1, now):
            self.ignored += 1
            return None
        self.quality.received_size += ping.size
        self.quality.report_received(ping.report, ping.sent_us, now, is_limited=is_limited)
        self.quality.ping_received(ping.sequence, ping.next_s, now)
        pong = Pong(
            attempt=self.attempt,
            sequence=ping.sequence,
            received_us=_us(now),
            sent_us=_us(now),
            report=self.quality.report,
            size=ping.size,
        )
        return pong.serialize()

    def pong_received(self, pong: Pong, now: float, *, is_limited: bool = False) -> float | None:
        """Note the answer to a ping of ours; its round trip, where it makes sense."""
        if pong.attempt != self.attempt:
            self.ignored += 1
            return None
        self.quality.received_size += pong.size
        self.liveness.answered(pong.sequence, pong.size, now)
        rtt_s = self.quality.answered(pong.sequence, pong.received_us, pong.sent_us, now)
        self.quality.report_received(pong.report, pong.sent_us, now, is_limited=is_limited)
        self.liveness.patience_s = self.quality.patience_s
        return rtt_s

    def _ping(self, due: LivenessPing, now: float) -> Frame:
        self.quality.sent(due.sequence, now)
        ping = Ping(
            attempt=self.attempt,
            sequence=due.sequence,
            sent_us=_us(now),
            next_s=due.next_s,
            report=self.quality.report,
            size=due.size,
        )
        return ping.serialize()


def _us(now: float) -> int:
    return int(now * 1e6)
