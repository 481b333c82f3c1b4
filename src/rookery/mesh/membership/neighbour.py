"""Neighbour: a member that we have a link with, the state of its paths, and how to send to it.

    frames in ──▶ monitor of the path ──▶ condition, measurements ──▶ cost, state
                  └ companion: the datagram path beside a stream
    datagram ──class──▶ datagram path │ stream │ dropped and counted

Every direct path of the link is monitored; those over other nodes are not. When other members
report that they have lost the neighbour, its paths are pinged at once and it is suspect until one
answers; because the report may be a lie, this happens at a bounded rate and only missing answers
bring a path down. The shell calls `tick` when `deadline` has passed and after the link's paths
have changed.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from rookery.errors import ProtocolError
from rookery.identity.cipher_set import RandomBytes
from rookery.link.token_bucket import TokenBucket
from rookery.mesh.membership.link_interface import LinkInterface, PathView
from rookery.mesh.membership.membership import Member
from rookery.mesh.quality.datagram_policy import DatagramFate, DatagramPolicy, StreamEstimate
from rookery.mesh.quality.liveness import PathCondition
from rookery.mesh.quality.path_monitor import PathMonitor
from rookery.mesh.quality.path_quality import COST_MAX, StreamMeasure
from rookery.mesh.quality.path_row import PathRow
from rookery.mesh.quality.udp_companion import UdpCompanion, UdpCompanionState
from rookery.wire.link.frame_types import COMPANION, PING, PONG
from rookery.wire.link.path import Path
from rookery.wire.mesh.companion import CompanionFrame
from rookery.wire.mesh.forward import DatagramClass
from rookery.wire.mesh.ping import DATA_SIZE, Ping, Pong
from rookery.wire.octets import Parts

DOUBTS_PER_S: Final = 0.2  # however many reports others send
DOUBTS_BURST: Final = 3.0


class PeerLossReports:
    """Reports of others that they lost one neighbour; true while it is in doubt."""

    __slots__ = ("_bucket", "_doubted")

    def __init__(self, now: float) -> None:
        self._bucket = TokenBucket(DOUBTS_PER_S, DOUBTS_BURST, now)
        self._doubted: dict[Path, int] = {}  # with the first ping whose answer ends the doubt

    def __bool__(self) -> bool:
        return bool(self._doubted)

    def may_probe(self, now: float) -> bool:
        """Whether to ping at once; takes from the budget for it."""
        return not self._doubted and self._bucket.take(1.0, now)

    def probed(self, monitors: Iterable[PathMonitor]) -> None:
        """Pings were just sent over these paths."""
        self._doubted = {monitor.path: monitor.liveness.sequence for monitor in monitors}

    def answered(self, path: Path, sequence: int) -> None:
        if sequence >= self._doubted.get(path, sequence + 1):
            self._doubted.clear()

    def keep_to(self, paths: Collection[Path]) -> None:
        """Drop doubts about paths that are no longer up."""
        self._doubted = {path: ping for path, ping in self._doubted.items() if path in paths}


_SWITCH_FACTOR: Final = 0.7  # another stream must be this much better, before traffic moves

QueueSize = Callable[[Path], int]

_CARRIED_S: Final = 0.25


class Neighbour:
    """One per member that we have a link with."""

    __slots__ = (
        "_carried_s",
        "_datagram_path",
        "_distrusted",
        "_hastened",
        "_is_changed",
        "_loss_reports",
        "_monitors",
        "_queue_size",
        "_stream",
        "_streams",
        "_usable",
        "_was_up",
        "advice",
        "companion",
        "datagrams",
        "ignored",
        "link",
        "member",
        "offset_us",
        "state",
    )

    def __init__(
        self,
        member: Member,
        link: LinkInterface,
        *,
        now: float,
        random: RandomBytes,
        is_udp_allowed: bool = True,
        offset_us: int = 0,
        queue_size: QueueSize | None = None,
        hastened: "Callable[[Neighbour], None] | None" = None,
    ) -> None:
        self.member = member
        self.link = link
        self.offset_us = offset_us  # the operator's
        self.advice = 1.0  # an analysis expects it to be so much dearer than measured
        self.state = PathCondition.JOINING
        self.datagrams = DatagramPolicy()
        self.companion = UdpCompanion(link, random, now, is_allowed=is_udp_allowed)
        self.ignored = 0  # pings over paths that the link does not have
        self._queue_size: QueueSize = queue_size or (lambda _: 0)
        self._hastened = hastened  # called when traffic may have made the deadline earlier
        self._carried_s = now - _CARRIED_S
        self._datagram_path: Path | None = None  # where data goes, as of the last judgement
        self._stream: PathMonitor | None = None
        self._monitors: dict[Path, PathMonitor] = {}
        self._streams: dict[Path, bool] = {}  # whether we dialled it
        self._distrusted: set[Path] = set()
        self._loss_reports = PeerLossReports(now)
        self._was_up = False
        self._usable: set[Path] = set()
        self._is_changed = False
        self._look(now)

    # --- what arrives ---

    def received(self, frame_type: int, path: Path, head: bytes, body: bytes, now: float) -> None:
        """A PING, PONG or COMPANION frame came over this path; RemoteError when it is invalid."""
        if frame_type == PING:
            self._ping_received(Ping.parse(head, body), path, now)
        elif frame_type == PONG:
            self._pong_received(Pong.parse(head, body), path, now)
        elif frame_type == COMPANION:
            self.companion.frame_received(CompanionFrame.parse(head, body), path, now)
        else:
            raise ProtocolError(f"frame {frame_type} is not about a neighbour")
        self._judge(now)

    def carried(
        self, now: float, *, size_out: int = 0, size_in: int = 0, path: Path | None = None
    ) -> None:
        """Traffic other than these frames passed; without a path it may have been any."""
        if path is None:
            for monitor in self.monitors():
                monitor.liveness.loaded(size_out)
        elif (here := self._monitor_at(path)) is not None:
            here.liveness.loaded(size_out)
            here.quality.received_size += size_in
        # Pings need not know of every packet, only that there are some.
        if now >= self._carried_s + _CARRIED_S:
            self._carried_s = now
            for monitor in self.monitors():
                monitor.liveness.carried(now)
            if self._hastened is not None:
                self._hastened(self)

    def doubt(self, now: float) -> None:
        """Others have lost it: ping it at once; it is suspect until a ping is answered."""
        up = [monitor.path for monitor in self._in(PathCondition.UP)]
        if not up or not self._loss_reports.may_probe(now):
            return
        for monitor in self.monitors():
            monitor.liveness.ask(now)
        self.tick(now)
        self._loss_reports.probed(monitor for monitor in self.monitors() if monitor.path in up)
        self._judge(now)

    def stream_measured(self, path: Path, measure: StreamMeasure, now: float) -> None:
        """Take in what the system reports of a stream (`TCP_INFO`)."""
        monitor = self._monitors.get(path)
        if monitor is not None:
            monitor.quality.stream_measured(measure, now)
            if self.companion.monitor is not None:  # it has no such measure, and goes the same way
                self.companion.monitor.quality.floor_s = monitor.quality.floor_s

    def path_lost(self, path: Path, now: float) -> None:
        """A connection ended; its datagram companion is gone at once."""
        self._monitors.pop(path, None)
        self._streams.pop(path, None)
        self._distrusted.discard(path)
        self.companion.stream_lost(path)
        self._judge(now)

    def close(self) -> None:
        """It is no neighbour any more; the link may live on."""
        self._monitors.clear()
        self._streams.clear()
        self.companion.close()
        self._datagram_path = self._stream = None

    @property
    def streams(self) -> tuple[Path, ...]:
        """The connections that are watched."""
        return tuple(self._streams)

    @property
    def stream(self) -> Path | None:
        """The connection that is best now."""
        return None if self._stream is None else self._stream.path

    # --- sending ---

    def send(
        self,
        head: bytes,
        parts: Parts,
        now: float,
        datagram_class: DatagramClass = DatagramClass.FALLBACK,
        deadline_s: float | None = None,
    ) -> DatagramFate:
        """Send a frame as its class allows; it should be there within `deadline_s` from now."""
        size = len(head) + sum(map(len, parts))
        udp, stream = self._datagram_path, self._stream
        estimate = None
        if stream is not None and (udp is None or size > DATA_SIZE):
            estimate = self._stream_estimate(stream, now)
        fate = self.datagrams.decide(
            size, datagram_class, deadline_s, has_udp=udp is not None, stream=estimate
        )
        if fate is DatagramFate.SENT_UDP or fate is DatagramFate.SENT_TCP:
            path = udp if fate is DatagramFate.SENT_UDP or stream is None else stream.path
            self.link.send_parts(head, parts, path)
            self.carried(now, size_out=size, path=path)
        return fate

    # --- what it is worth ---

    def cost_us(self, now: float) -> int | None:
        """Of the best path that is up; of a suspect one when there is no better."""
        best = self._best(now)
        return None if best is None else self._cost(best, now)

    def loss(self, now: float) -> float:
        """Of the best path, there and back."""
        best = self._best(now)
        if best is None:
            return 1.0
        return 1 - (1 - best.quality.loss_out) * (1 - best.quality.loss_in(now))

    def rate(self, now: float) -> float | None:
        """Bytes per second that the best path is known to carry."""
        best = self._best(now)
        return None if best is None else best.quality.rate(now)

    def paths(self, now: float) -> list[PathRow]:
        """All paths, for people to read."""
        return [
            PathRow.of(
                monitor,
                now,
                self.companion.state if monitor is self.companion.monitor else None,
                self._cost(monitor, now),
            )
            for monitor in self.monitors()
        ]

    def take_changed(self) -> bool:
        """Whether the state, or the set of paths that carry data, changed since the last call."""
        changed, self._is_changed = self._is_changed, False
        return changed

    # --- time ---

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        times = [monitor.liveness.deadline for monitor in self._monitors.values()]
        companion = self.companion.deadline
        if companion is not None:
            times.append(companion)
        return min(times, default=None)

    def tick(self, now: float) -> None:
        """Look at the link's paths and send the pings that are due."""
        self._look(now)
        for monitor in self._monitors.values():
            ping = monitor.tick(now)
            if ping is not None:
                self.link.send_frame(*ping, monitor.path)
        self.companion.tick(now)
        self._judge(now)

    # --- inside ---

    def _look(self, now: float) -> None:
        """Monitor the paths that the link has, and no others."""
        views = {view.path: view for view in self.link.paths if _is_direct(view)}
        for path in [path for path in self._monitors if path not in views]:
            self.path_lost(path, now)
        for path, view in views.items():
            if path not in self._monitors and view.is_usable:
                self._monitors[path] = PathMonitor(path, now)
                if view.is_stream:
                    self._streams[path] = view.dialled

    def _monitor_at(self, path: Path) -> PathMonitor | None:
        monitor = self._monitors.get(path)
        return (
            self.companion.monitor if monitor is None and path == self.companion.path else monitor
        )

    def _monitored(self, path: Path, now: float) -> PathMonitor | None:
        if path not in self._monitors:
            self._look(now)
        return self._monitors.get(path)

    def _ping_received(self, ping: Ping, path: Path, now: float) -> None:
        if ping.attempt:
            self.companion.ping_received(ping, path, now)
            return
        monitor = self._monitored(path, now)
        if monitor is None:
            self.ignored += 1
            return
        answer = monitor.ping_received(ping, now, is_limited=self._queue_size(path) > 0)
        if answer is not None:
            self.link.send_frame(*answer, path)

    def _pong_received(self, pong: Pong, path: Path, now: float) -> None:
        self._loss_reports.answered(path, pong.sequence)
        if pong.attempt:
            self.companion.pong_received(pong, path, now)
            return
        monitor = self._monitored(path, now)
        if monitor is None:
            self.ignored += 1
            return
        rtt_s = monitor.pong_received(pong, now, is_limited=self._queue_size(path) > 0)
        if rtt_s is not None:
            self.link.measured(path, rtt_s)

    def _judge(self, now: float) -> None:
        """Derive the neighbour's state from the conditions of its paths."""
        for monitor in self._monitors.values():
            self._tell_link(monitor)
        for path, dialled in self._streams.items():
            condition = self._monitors[path].condition
            if condition is PathCondition.DOWN:
                self.companion.stream_lost(path)
            elif condition is PathCondition.UP and dialled:
                self.companion.stream_up(path, now)
        up, suspect = self._in(PathCondition.UP), self._in(PathCondition.SUSPECT)
        usable = {monitor.path for monitor in up}
        if self._loss_reports:
            self._loss_reports.keep_to(usable)
        if up:
            state, self._was_up = PathCondition.UP, True
            if self._loss_reports:
                state = PathCondition.SUSPECT
        elif suspect:
            state = PathCondition.SUSPECT
        else:
            state = PathCondition.DOWN if self._was_up else PathCondition.JOINING
        self._is_changed |= state is not self.state or usable != self._usable
        self.state, self._usable = state, usable
        self._datagram_path = self._best_datagram_path()
        self._stream = self._best_stream(now)

    def _tell_link(self, monitor: PathMonitor) -> None:
        """The link's own traffic, too, leaves a path that carries none."""
        if monitor.condition is PathCondition.DOWN and monitor.path not in self._distrusted:
            self._distrusted.add(monitor.path)
            if monitor.path in self._streams:
                self.link.hang_up(monitor.path)  # TCP itself may wait minutes before it tries again
            else:
                self.link.distrust(monitor.path)
        elif monitor.condition is PathCondition.UP and monitor.path in self._distrusted:
            self._distrusted.remove(monitor.path)
            self.link.prove(monitor.path, monitor.quality.srtt_s or 0.0)

    def monitors(self) -> Iterator[PathMonitor]:
        """The monitors of all its paths, the companion's last."""
        yield from self._monitors.values()
        if self.companion.monitor is not None:
            yield self.companion.monitor

    def _in(self, condition: PathCondition) -> list[PathMonitor]:
        """The paths in this condition; one beside a stream counts only when both sides say so."""
        monitors = [
            monitor for monitor in self._monitors.values() if monitor.condition is condition
        ]
        if condition is PathCondition.UP and self.companion.state is UdpCompanionState.UP:
            assert self.companion.monitor is not None
            monitors.append(self.companion.monitor)
        return monitors

    def _best(self, now: float) -> PathMonitor | None:
        monitors = self._in(PathCondition.UP) or self._in(PathCondition.SUSPECT)
        return min(monitors, key=lambda monitor: self._rank(monitor, now), default=None)

    def _cost(self, monitor: PathMonitor, now: float) -> int | None:
        return monitor.quality.cost_us(now, self.offset_us, self.advice)

    def _rank(self, monitor: PathMonitor, now: float) -> int:
        cost_us = self._cost(monitor, now)
        return COST_MAX if cost_us is None else cost_us

    def _best_datagram_path(self) -> Path | None:
        if self.companion.state is UdpCompanionState.UP:
            return self.companion.path
        plain = (
            monitor for monitor in self._in(PathCondition.UP) if monitor.path not in self._streams
        )
        return next((monitor.path for monitor in plain), None)

    def _best_stream(self, now: float) -> PathMonitor | None:
        for condition in (PathCondition.UP, PathCondition.SUSPECT):
            streams = [monitor for monitor in self._in(condition) if monitor.path in self._streams]
            if streams:
                best = min(streams, key=lambda monitor: self._rank(monitor, now))
                held = self._stream if self._stream in streams else best
                # Two connections in turn would only bring packets out of order.
                is_better = self._rank(best, now) < _SWITCH_FACTOR * self._rank(held, now)
                return best if is_better else held
        return None

    def _stream_estimate(self, stream: PathMonitor, now: float) -> StreamEstimate:
        queue_size = self._queue_size(stream.path)
        return StreamEstimate(
            queue_size, (stream.quality.srtt_s or 0.0) / 2, stream.quality.rate(now)
        )


def _is_direct(view: PathView) -> bool:
    return view.is_direct and not view.monitored
