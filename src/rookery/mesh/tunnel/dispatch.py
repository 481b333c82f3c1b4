"""Dispatch: turns all that waits into packets, each for the way that suits it."""

from rookery.mesh.tunnel.datagram_queue import DatagramQueue
from rookery.mesh.tunnel.notes import Notes
from rookery.mesh.tunnel.outbound import Outbound
from rookery.mesh.tunnel.outflow import Outflow
from rookery.mesh.tunnel.packer import Packer, Parcel
from rookery.mesh.tunnel.reinjection import Reinjection
from rookery.mesh.tunnel.scheduler import Mode, Scheduler
from rookery.mesh.tunnel.sent_packet import Segment
from rookery.mesh.tunnel.ways import Ways

BATCH_PACKETS = 64  # then others get a turn
TAIL_SIZE = 32768  # of a stream that ends: sent by two ways


class Dispatch:
    """One flush after the other."""

    __slots__ = (
        "_datagrams",
        "_notes",
        "_outflow",
        "_packer",
        "_reinjection",
        "_ways",
        "has_more",
        "scheduler",
    )

    def __init__(
        self,
        ways: Ways,
        notes: Notes,
        datagrams: DatagramQueue,
        outflow: Outflow,
        packer: Packer,
        scheduler: Scheduler,
        reinjection: Reinjection,
    ) -> None:
        self.has_more = False  # the batch was full
        self._ways = ways
        self._notes = notes
        self._datagrams = datagrams
        self._outflow = outflow
        self._packer = packer
        self.scheduler = scheduler
        self._reinjection = reinjection

    def flush(self, now: float) -> list[Parcel]:
        """A bounded batch."""
        batch: list[Parcel] = []
        usable = self._ways.usable
        while self._datagrams and len(batch) < BATCH_PACKETS:
            pair = self._datagrams.next_for(usable, now)
            if pair is None:
                break
            _add(batch, self._packer.datagram(*pair, now))
        self._send_streams(usable, batch, now)
        while self._notes and len(batch) < BATCH_PACKETS:
            way = self.scheduler.nearest(usable)
            if way is None:
                break
            _add(batch, self._packer.notes(way, now))
        self.has_more = len(batch) >= BATCH_PACKETS
        self._send_rest(usable, batch, now)
        return batch

    def wake_at(self, now: float) -> float | None:
        """When the pace allows what waits now."""
        if not self._outflow.is_ready and not self._datagrams:
            return None
        later = [way.paced_at for way in self._ways.usable if way.has_window]
        return min((at for at in later if at > now), default=None)

    def _send_streams(self, usable: list[Outbound], batch: list[Parcel], now: float) -> None:
        outflow = self._outflow
        while len(batch) < BATCH_PACKETS:
            way = self._with_copies(usable, now)
            if way is None:
                if not outflow.is_ready:
                    break
                way = self.scheduler.choose(usable, outflow.backlog, outflow.credit_left, now)
                if way is None:
                    return
            parcel, fresh = self._packer.streams(way, now)
            _add(batch, parcel)
            if len(usable) > 1:
                self._double(way, usable, fresh)
        for way in usable:
            if len(usable) > 1 and way.has_room(now) and len(batch) < BATCH_PACKETS:
                self._send_lagging(way, batch, now)
            if way.has_room(now):
                way.delivery.limited(way.in_flight)

    def _send_lagging(self, idle: Outbound, batch: list[Parcel], now: float) -> None:
        if self.scheduler.mode in (Mode.REDUNDANT, Mode.SINGLE):
            return
        if self._reinjection.of_lagging(idle, self._ways.out, now):
            while idle.copies and idle.has_room(now) and len(batch) < BATCH_PACKETS:
                _add(batch, self._packer.streams(idle, now)[0])

    def _with_copies(self, usable: list[Outbound], now: float) -> Outbound | None:
        for way in usable:
            if way.copies and way.has_room(now):
                return way
        return None

    def _double(self, way: Outbound, usable: list[Outbound], fresh: list[Segment]) -> None:
        """Copies for other ways: all, when every way is to carry all; else the end of a stream."""
        if not fresh:
            return
        if self.scheduler.mode is Mode.REDUNDANT:
            for other in usable:
                if other is not way:
                    other.copies.extend(fresh)
        elif self.scheduler.mode is Mode.AUTO:
            tail = [segment for segment in fresh if _is_tail(segment)]
            if tail:
                others = [other for other in usable if other is not way]
                nearest = self.scheduler.nearest(others)
                if nearest is not None:
                    nearest.copies.extend(tail)
                    self.scheduler.decisions["the end of a stream by two ways"] += 1

    def _send_rest(self, usable: list[Outbound], batch: list[Parcel], now: float) -> None:
        """Probes and acknowledgements that found no packet to go with; they never wait."""
        for way in self._ways.out:
            if way.is_probe_due:
                _add(batch, self._packer.notes(way, now))
        for inbound in self._ways.inbound:
            if inbound.due_at is not None and inbound.due_at <= now:
                reply = self._ways.get(inbound.reply_way) or self.scheduler.nearest(usable)
                if reply is not None:
                    _add(batch, self._packer.acknowledgements(reply, now))


def _add(batch: list[Parcel], parcel: Parcel | None) -> None:
    if parcel is not None:
        batch.append(parcel)


def _is_tail(segment: Segment) -> bool:
    stream, _, end, _ = segment
    size = stream.sending.size
    return size is not None and end > size - TAIL_SIZE
