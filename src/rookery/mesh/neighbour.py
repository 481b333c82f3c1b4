"""Neighbour: a member that we have a link with, what its paths are worth, and how to send there.

    frames in ──▶ watch of the path ──▶ condition, numbers ──▶ cost, state
                  └ beside: the datagram path that stands beside a stream
    datagram ──class──▶ datagram path │ stream │ dropped and counted

Every path of the link that leads straight there is watched; those through others are not. When
others say that they have lost it, it is asked at once, and suspect until it answers. The
shell calls `tick` when `deadline` has passed and after the link's paths have changed.
"""

from collections.abc import Callable, Iterator
from typing import Final

from rookery.errors import ProtocolError
from rookery.identity.cipher_set import RandomBytes
from rookery.mesh.beats import Condition
from rookery.mesh.beside import Beside, BesideState
from rookery.mesh.datagrams import Datagrams, Fate, StreamWay
from rookery.mesh.hearsay import Hearsay
from rookery.mesh.membership import Member
from rookery.mesh.path_row import PathRow
from rookery.mesh.port import PathView, Port
from rookery.mesh.quality import COST_MAX, StreamMeasure
from rookery.mesh.watch import Watch
from rookery.wire.beside import BesideFrame
from rookery.wire.datagram_class import DatagramClass
from rookery.wire.frames import BESIDE, PING, PONG
from rookery.wire.octets import Parts
from rookery.wire.path import Path
from rookery.wire.ping import DATA_SIZE, Ping, Pong

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
        "_hearsay",
        "_is_changed",
        "_queue_size",
        "_stream",
        "_streams",
        "_usable",
        "_was_up",
        "_watches",
        "advice",
        "beside",
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
        link: Port,
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
        self.state = Condition.JOINING
        self.datagrams = Datagrams()
        self.beside = Beside(link, random, now, is_allowed=is_udp_allowed)
        self.ignored = 0  # beats over paths that the link does not have
        self._queue_size: QueueSize = queue_size or (lambda _: 0)
        self._hastened = hastened  # is told when traffic may have made the deadline earlier
        self._carried_s = now - _CARRIED_S
        self._datagram_path: Path | None = None  # where data goes, as of the last judgement
        self._stream: Watch | None = None
        self._watches: dict[Path, Watch] = {}
        self._streams: dict[Path, bool] = {}  # whether we dialled it
        self._distrusted: set[Path] = set()
        self._hearsay = Hearsay(now)
        self._was_up = False
        self._usable: set[Path] = set()
        self._is_changed = False
        self._look(now)

    # --- what arrives ---

    def received(self, frame_type: int, path: Path, head: bytes, body: bytes, now: float) -> None:
        """A PING, PONG or BESIDE frame came over this path; RemoteError when it makes no sense."""
        if frame_type == PING:
            self._ping_received(Ping.parse(head, body), path, now)
        elif frame_type == PONG:
            self._pong_received(Pong.parse(head, body), path, now)
        elif frame_type == BESIDE:
            self.beside.frame_received(BesideFrame.parse(head, body), path, now)
        else:
            raise ProtocolError(f"frame {frame_type} is not about a neighbour")
        self._judge(now)

    def carried(
        self, now: float, *, size_out: int = 0, size_in: int = 0, path: Path | None = None
    ) -> None:
        """Traffic other than these frames passed; without a path it may have been any."""
        if path is None:
            for watch in self.watches():
                watch.beats.loaded(size_out)
        elif (here := self._watch_at(path)) is not None:
            here.beats.loaded(size_out)
            here.quality.received_size += size_in
        # Beats need not know of every packet, only that there are some.
        if now >= self._carried_s + _CARRIED_S:
            self._carried_s = now
            for watch in self.watches():
                watch.beats.carried(now)
            if self._hastened is not None:
                self._hastened(self)

    def doubt(self, now: float) -> None:
        """Others have lost it, so ask it at once: it is suspect until a beat is answered."""
        up = [watch.path for watch in self._in(Condition.UP)]
        if not up or not self._hearsay.is_worth_asking(now):
            return
        for watch in self.watches():
            watch.beats.ask(now)
        self.tick(now)
        self._hearsay.asked(watch for watch in self.watches() if watch.path in up)
        self._judge(now)

    def stream_measured(self, path: Path, measure: StreamMeasure, now: float) -> None:
        """What the system knows of a stream."""
        watch = self._watches.get(path)
        if watch is not None:
            watch.quality.stream_measured(measure, now)
            if self.beside.watch is not None:  # it has no such measure, and goes the same way
                self.beside.watch.quality.floor_s = watch.quality.floor_s

    def path_lost(self, path: Path, now: float) -> None:
        """A connection ended; what stood beside it is gone at once."""
        self._watches.pop(path, None)
        self._streams.pop(path, None)
        self._distrusted.discard(path)
        self.beside.stream_lost(path)
        self._judge(now)

    def close(self) -> None:
        """It is a neighbour no more; the link may go on."""
        self._watches.clear()
        self._streams.clear()
        self.beside.close()
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
    ) -> Fate:
        """Send a frame as its class allows; it should be there within `deadline_s` from now."""
        size = len(head) + sum(map(len, parts))
        udp, stream = self._datagram_path, self._stream
        way = None
        if stream is not None and (udp is None or size > DATA_SIZE):
            way = self._way(stream, now)
        fate = self.datagrams.decide(
            size, datagram_class, deadline_s, has_udp=udp is not None, stream=way
        )
        if fate is Fate.SENT_UDP or fate is Fate.SENT_TCP:
            path = udp if fate is Fate.SENT_UDP or stream is None else stream.path
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
                watch,
                now,
                self.beside.state if watch is self.beside.watch else None,
                self._cost(watch, now),
            )
            for watch in self.watches()
        ]

    def take_changed(self) -> bool:
        """Whether the state, or the set of paths that carry data, changed since last asked."""
        changed, self._is_changed = self._is_changed, False
        return changed

    # --- time ---

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        times = [watch.beats.deadline for watch in self._watches.values()]
        beside = self.beside.deadline
        if beside is not None:
            times.append(beside)
        return min(times, default=None)

    def tick(self, now: float) -> None:
        """See what paths there are and send the beats that are due."""
        self._look(now)
        for watch in self._watches.values():
            beat = watch.tick(now)
            if beat is not None:
                self.link.send_frame(*beat, watch.path)
        self.beside.tick(now)
        self._judge(now)

    # --- inside ---

    def _look(self, now: float) -> None:
        """Watch what the link has, and nothing else."""
        views = {view.path: view for view in self.link.paths if _is_direct(view)}
        for path in [path for path in self._watches if path not in views]:
            self.path_lost(path, now)
        for path, view in views.items():
            if path not in self._watches and view.is_usable:
                self._watches[path] = Watch(path, now)
                if view.is_stream:
                    self._streams[path] = view.dialled

    def _watch_at(self, path: Path) -> Watch | None:
        watch = self._watches.get(path)
        return self.beside.watch if watch is None and path == self.beside.path else watch

    def _watch(self, path: Path, now: float) -> Watch | None:
        if path not in self._watches:
            self._look(now)
        return self._watches.get(path)

    def _ping_received(self, ping: Ping, path: Path, now: float) -> None:
        if ping.attempt:
            self.beside.ping_received(ping, path, now)
            return
        watch = self._watch(path, now)
        if watch is None:
            self.ignored += 1
            return
        answer = watch.ping_received(ping, now, is_limited=self._queue_size(path) > 0)
        if answer is not None:
            self.link.send_frame(*answer, path)

    def _pong_received(self, pong: Pong, path: Path, now: float) -> None:
        self._hearsay.answered(path, pong.sequence)
        if pong.attempt:
            self.beside.pong_received(pong, path, now)
            return
        watch = self._watch(path, now)
        if watch is None:
            self.ignored += 1
            return
        rtt_s = watch.pong_received(pong, now, is_limited=self._queue_size(path) > 0)
        if rtt_s is not None:
            self.link.measured(path, rtt_s)

    def _judge(self, now: float) -> None:
        """Draw conclusions for the neighbour from what is known of its paths."""
        for watch in self._watches.values():
            self._tell_link(watch)
        for path, dialled in self._streams.items():
            condition = self._watches[path].condition
            if condition is Condition.DOWN:
                self.beside.stream_lost(path)
            elif condition is Condition.UP and dialled:
                self.beside.stream_up(path, now)
        up, suspect = self._in(Condition.UP), self._in(Condition.SUSPECT)
        usable = {watch.path for watch in up}
        if self._hearsay:
            self._hearsay.keep_to(usable)
        if up:
            state, self._was_up = Condition.UP, True
            if self._hearsay:
                state = Condition.SUSPECT
        elif suspect:
            state = Condition.SUSPECT
        else:
            state = Condition.DOWN if self._was_up else Condition.JOINING
        self._is_changed |= state is not self.state or usable != self._usable
        self.state, self._usable = state, usable
        self._datagram_path = self._best_datagram_path()
        self._stream = self._best_stream(now)

    def _tell_link(self, watch: Watch) -> None:
        """The link's own traffic, too, leaves a path that carries none."""
        if watch.condition is Condition.DOWN and watch.path not in self._distrusted:
            self._distrusted.add(watch.path)
            if watch.path in self._streams:
                self.link.hang_up(watch.path)  # TCP itself may wait minutes before it tries again
            else:
                self.link.distrust(watch.path)
        elif watch.condition is Condition.UP and watch.path in self._distrusted:
            self._distrusted.remove(watch.path)
            self.link.prove(watch.path, watch.quality.srtt_s or 0.0)

    def watches(self) -> Iterator[Watch]:
        """Of all its paths, the one beside a stream last."""
        yield from self._watches.values()
        if self.beside.watch is not None:
            yield self.beside.watch

    def _in(self, condition: Condition) -> list[Watch]:
        """The paths in this condition; one beside a stream counts only when both sides say so."""
        watches = [watch for watch in self._watches.values() if watch.condition is condition]
        if condition is Condition.UP and self.beside.state is BesideState.UP:
            assert self.beside.watch is not None
            watches.append(self.beside.watch)
        return watches

    def _best(self, now: float) -> Watch | None:
        watches = self._in(Condition.UP) or self._in(Condition.SUSPECT)
        return min(watches, key=lambda watch: self._rank(watch, now), default=None)

    def _cost(self, watch: Watch, now: float) -> int | None:
        return watch.quality.cost_us(now, self.offset_us, self.advice)

    def _rank(self, watch: Watch, now: float) -> int:
        cost_us = self._cost(watch, now)
        return COST_MAX if cost_us is None else cost_us

    def _best_datagram_path(self) -> Path | None:
        if self.beside.state is BesideState.UP:
            return self.beside.path
        plain = (watch for watch in self._in(Condition.UP) if watch.path not in self._streams)
        return next((watch.path for watch in plain), None)

    def _best_stream(self, now: float) -> Watch | None:
        for condition in (Condition.UP, Condition.SUSPECT):
            streams = [watch for watch in self._in(condition) if watch.path in self._streams]
            if streams:
                best = min(streams, key=lambda watch: self._rank(watch, now))
                held = self._stream if self._stream in streams else best
                # Two connections in turn would only bring packets out of order.
                is_better = self._rank(best, now) < _SWITCH_FACTOR * self._rank(held, now)
                return best if is_better else held
        return None

    def _way(self, stream: Watch, now: float) -> StreamWay:
        queue_size = self._queue_size(stream.path)
        return StreamWay(queue_size, (stream.quality.srtt_s or 0.0) / 2, stream.quality.rate(now))


def _is_direct(view: PathView) -> bool:
    return view.is_direct and not view.attended
