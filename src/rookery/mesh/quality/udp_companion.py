"""UDP companion: the datagram path beside a stream (M10).

The stream is the master: keys, offers and results go over it alone, and the datagram path shares
its address and port. The side that dialled the stream offers; the other answers to where sealed
datagrams of this very session came from, as long as it is the stream's address.

    state      what happens                                     next
    off        a stream that we dialled is up                   probing, offer
               the peer offers                                  probing, accept
    probing    accepted, or the peer's first datagram came      both sizes, every 0.5 s
               both sizes came, the peer says the same, and
               a data-size ping was answered                    up
               5 s passed, GONE or REFUSE came                  down
    up         2 pings missed                                   suspect
    suspect    a ping is answered                               up
    up,        3 pings missed, or GONE came                     down, tell GONE
    suspect
    down       5 s … 5 min later, if the offer was ours         probing, offer
               three times as long, if it was not               off
               the peer offers                                  probing, accept
    any        the stream is lost or down                       off, the path is forgotten

Only `up` carries data. When two offers cross, the one with the greater attempt wins. The wait
doubles with every failure, is spread at random, and is short again after a minute of `up`. A late
offer may leave both sides down with neither responsible for the next one, so the side that did not
offer tries as well, if it has dialled a stream.
"""

from enum import Enum

from rookery.errors import ProtocolError
from rookery.identity.cipher_set import RandomBytes
from rookery.link.token_bucket import TokenBucket
from rookery.mesh.membership.link_interface import LinkInterface
from rookery.mesh.quality.liveness import PathCondition
from rookery.mesh.quality.path_monitor import PathMonitor
from rookery.wire.link.path import NetPath, Path, net_path
from rookery.wire.link.transport import TCP, TLS
from rookery.wire.mesh.companion import (
    HEARD_BOTH,
    HEARD_DATA,
    HEARD_SMALL,
    CompanionFrame,
    CompanionKind,
)
from rookery.wire.mesh.ping import DATA_SIZE, SMALL_SIZE, Ping, Pong

PROBE_INTERVAL_S = 0.5
PROBING_S = 5.0
RETRY_MIN_S = 5.0
RETRY_MAX_S = 300.0
STEADY_S = 60.0  # a path that was up so long has earned a quick retry
OFFERS_PER_S = 0.5
OFFERS_BURST = 5.0

_STREAM_KINDS = frozenset((*TCP.kinds, *TLS.kinds))
_ATTEMPT_SIZE = 4
_PATIENCE = 3  # times the wait of the side that offered
_FAILURES_MAX = 6  # 5 s doubled so often are more than 5 min


class UdpCompanionState(Enum):
    """As in the table above."""

    OFF = "off"
    PROBING = "probing"
    UP = "up"
    SUSPECT = "suspect"
    DOWN = "down"


_CONDITIONS = {
    PathCondition.UP: UdpCompanionState.UP,
    PathCondition.SUSPECT: UdpCompanionState.SUSPECT,
    PathCondition.DOWN: UdpCompanionState.DOWN,
}


class UdpCompanion:
    """At most one datagram path for one link."""

    __slots__ = (
        "_attempt",
        "_failures",
        "_give_up_s",
        "_offers",
        "_port",
        "_probe_s",
        "_random",
        "_retry_s",
        "_sizes_confirmed",
        "_sizes_received",
        "_up_s",
        "_we_offered",
        "ignored",
        "is_allowed",
        "master",
        "monitor",
        "path",
        "reason",
        "state",
    )

    def __init__(
        self, port: LinkInterface, random: RandomBytes, now: float, *, is_allowed: bool
    ) -> None:
        self.state = UdpCompanionState.OFF
        self.is_allowed = is_allowed
        self.master: NetPath | None = None  # the stream it stands beside
        self.path: NetPath | None = None
        self.monitor: PathMonitor | None = None
        self.reason = "no stream"  # why it is not up
        self.ignored = 0  # datagrams and words that belong to nothing here
        self._port = port
        self._random = random
        self._offers = TokenBucket(OFFERS_PER_S, OFFERS_BURST, now)
        self._attempt = 0
        self._we_offered = False
        self._sizes_received = self._sizes_confirmed = 0
        self._failures = 0
        self._up_s = 0.0
        self._probe_s: float | None = None
        self._give_up_s: float | None = None
        self._retry_s: float | None = None

    # --- what becomes of the stream ---

    def stream_up(self, path: Path, now: float) -> None:
        """A stream that we dialled works: try datagrams beside it, if there is none yet."""
        if (
            self.state is UdpCompanionState.OFF
            and self.is_allowed
            and isinstance(path, NetPath)
            and path.kind in _STREAM_KINDS
        ):
            self.master = path
            self._offer(now)

    def stream_lost(self, path: Path) -> None:
        """Without its master the path is gone at once."""
        if path == self.master:
            self.close()

    def close(self) -> None:
        """Forget the path and return to OFF."""
        self._forget_path()
        self.master, self.reason = None, "no stream"
        self.state = UdpCompanionState.OFF
        self._attempt, self._failures = 0, 0
        self._probe_s = self._give_up_s = self._retry_s = None

    # --- what arrives ---

    def frame_received(self, frame: CompanionFrame, path: Path, now: float) -> None:
        """Take in a COMPANION frame over `path`, which must be a stream."""
        if frame.kind is CompanionKind.OFFER:
            self._offered(frame.attempt, path, now)
        elif (
            path != self.master
            or frame.attempt != self._attempt
            or self.state is UdpCompanionState.DOWN  # both gave up at once
        ):
            self.ignored += 1
        elif frame.kind is CompanionKind.ACCEPT:
            self._accepted(now)
        elif frame.kind is CompanionKind.HEARD:
            self._sizes_confirmed |= frame.sizes
            if frame.asks:
                self._send_heard(asks=False)
            self._judge(now)
        elif frame.kind is CompanionKind.GONE:
            self._fail("the peer gave it up", now)
        else:
            self._failures = _FAILURES_MAX
            self._fail("the peer wants none", now)

    def ping_received(self, ping: Ping, path: Path, now: float) -> None:
        """A ping came as a datagram."""
        monitor = self._monitor_of(ping.attempt, path, now)
        if monitor is None:
            self.ignored += 1
            return
        answer = monitor.ping_received(ping, now)
        if answer is not None:
            self._port.send_frame(*answer, path)
            self._note_received(ping.size)
            self._judge(now)

    def pong_received(self, pong: Pong, path: Path, now: float) -> None:
        """An answer came as a datagram."""
        if self.monitor is None or path != self.path:
            self.ignored += 1
            return
        rtt_s = self.monitor.pong_received(pong, now)
        if rtt_s is not None:
            self._port.measured(path, rtt_s)
        self._judge(now)

    # --- time ---

    @property
    def deadline(self) -> float | None:
        times = [self._probe_s, self._give_up_s, self._retry_s]
        if self.monitor is not None and self.state in (
            UdpCompanionState.UP,
            UdpCompanionState.SUSPECT,
        ):
            times.append(self.monitor.liveness.deadline)
        return min((time for time in times if time is not None), default=None)

    def tick(self, now: float) -> None:
        if self._retry_s is not None and now >= self._retry_s:
            if self._we_offered:
                self._offer(now)
            else:
                self.state, self._retry_s = UdpCompanionState.OFF, None
        if self._give_up_s is not None and now >= self._give_up_s:
            self._fail(self._complaint(), now)
        if self._probe_s is not None and now >= self._probe_s:
            self._probe(now)
        if self.monitor is not None and self.state in (
            UdpCompanionState.UP,
            UdpCompanionState.SUSPECT,
        ):
            ping = self.monitor.tick(now)
            if ping is not None:
                self._port.send_frame(*ping, self.path)
            self._judge(now)

    # --- inside ---

    def _offer(self, now: float) -> None:
        self._begin(int.from_bytes(self._random(_ATTEMPT_SIZE), "big") or 1, now)
        self._we_offered = True
        self._say(CompanionKind.OFFER)

    def _offered(self, attempt: int, path: Path, now: float) -> None:
        if not isinstance(path, NetPath) or path.kind not in _STREAM_KINDS:
            raise ProtocolError("datagrams are offered beside streams only")
        if not self._offers.take(1, now):
            raise ProtocolError("too many offers of datagrams")
        crossed = self._we_offered and self.state is UdpCompanionState.PROBING
        if crossed and self._attempt >= attempt:
            self.ignored += 1  # ours stands
            return
        if not self.is_allowed:
            refusal = CompanionFrame(CompanionKind.REFUSE, attempt)
            self._port.send_frame(*refusal.serialize(), path)
            return
        self.master = path
        self._begin(attempt, now)
        self._we_offered = False
        self._say(CompanionKind.ACCEPT)

    def _begin(self, attempt: int, now: float) -> None:
        self._forget_path()
        self.state, self.reason = UdpCompanionState.PROBING, "not yet proved"
        self._attempt = attempt
        self._sizes_received = self._sizes_confirmed = 0
        self._probe_s = self._retry_s = None
        self._give_up_s = now + PROBING_S

    def _accepted(self, now: float) -> None:
        if (
            not self._we_offered
            or self.state is not UdpCompanionState.PROBING
            or self.path is not None
        ):
            self.ignored += 1
            return
        assert self.master is not None
        self._monitor_path(net_path("udp", *self.master.address), now)

    def _monitor_path(self, path: NetPath, now: float) -> PathMonitor:
        self.path = path
        self.monitor = PathMonitor(path, now, self._attempt)
        self._port.monitor(path, now)
        self._probe_s = now
        return self.monitor

    def _monitor_of(self, attempt: int, path: Path, now: float) -> PathMonitor | None:
        """The monitor of a datagram's path; the accepting side learns the peer's address here."""
        if attempt != self._attempt or self.master is None or not isinstance(path, NetPath):
            return None
        if self.monitor is not None:
            return self.monitor if path == self.path else None
        is_expected = self.state is UdpCompanionState.PROBING and not self._we_offered
        if not is_expected or path != net_path("udp", self.master.ip, path.port):
            return None
        return self._monitor_path(path, now)

    def _probe(self, now: float) -> None:
        assert self.monitor is not None
        for size in (SMALL_SIZE, DATA_SIZE):
            self._port.send_frame(*self.monitor.probe(size, now), self.path)
        # A frame may be lost when the stream's queue is full, so it is repeated.
        self._send_heard(asks=self._sizes_confirmed != HEARD_BOTH)
        self._probe_s = now + PROBE_INTERVAL_S

    def _note_received(self, size: int) -> None:
        received = self._sizes_received | (HEARD_DATA if size == DATA_SIZE else HEARD_SMALL)
        if received != self._sizes_received:
            self._sizes_received = received
            self._send_heard(asks=False)

    def _judge(self, now: float) -> None:
        """Change the state by probe results and pings."""
        if self.monitor is None:
            return
        if self.state is UdpCompanionState.PROBING:
            proven = self._sizes_received == self._sizes_confirmed == HEARD_BOTH
            if proven and self.monitor.condition is PathCondition.UP:
                self._probe_s = self._give_up_s = None
                self._up_s = now
                self._rise()
        elif self.monitor.condition is PathCondition.DOWN:
            self._say(CompanionKind.GONE)
            self._fail("beats go unanswered", now)
        elif _CONDITIONS[self.monitor.condition] is not self.state:
            if self.state is UdpCompanionState.UP:
                self._suspect()
            else:
                self._rise()

    def _rise(self) -> None:
        assert self.monitor is not None
        assert self.path is not None
        self.state, self.reason = UdpCompanionState.UP, ""
        self._port.prove(self.path, self.monitor.quality.srtt_s or 0.0)

    def _suspect(self) -> None:
        assert self.path is not None
        self.state, self.reason = UdpCompanionState.SUSPECT, "beats go unanswered"
        self._port.distrust(self.path)

    def _fail(self, reason: str, now: float) -> None:
        if (
            self.state in (UdpCompanionState.UP, UdpCompanionState.SUSPECT)
            and now >= self._up_s + STEADY_S
        ):
            self._failures = 0
        self._forget_path()
        self.state, self.reason = UdpCompanionState.DOWN, reason
        self._probe_s = self._give_up_s = None
        wait_s = min(RETRY_MIN_S * 2**self._failures, RETRY_MAX_S)
        spread = 0.75 + self._random(1)[0] / 510  # of a quarter, either way
        self._retry_s = now + wait_s * spread * (1 if self._we_offered else _PATIENCE)
        self._failures = min(self._failures + 1, _FAILURES_MAX)

    def _forget_path(self) -> None:
        if self.path is not None:
            self._port.unmonitor(self.path)
        self.path = self.monitor = None

    def _complaint(self) -> str:
        """What is wrong with the path, by the probe results."""
        if self.monitor is None:
            return "no datagram came" if not self._we_offered else "the offer was not answered"
        if not self._sizes_received | self._sizes_confirmed:
            return "no datagram passes"
        if not self._sizes_received & HEARD_SMALL or not self._sizes_confirmed & HEARD_SMALL:
            return "datagrams pass one way only"
        return "large datagrams do not pass"

    def _say(self, kind: CompanionKind) -> None:
        self._port.send_frame(*CompanionFrame(kind, self._attempt).serialize(), self.master)

    def _send_heard(self, *, asks: bool) -> None:
        frame = CompanionFrame(CompanionKind.HEARD, self._attempt, self._sizes_received, asks)
        self._port.send_frame(*frame.serialize(), self.master)
