"""Intake: the packets of the other side, frame by frame."""

from collections import Counter

from rookery.errors import ProtocolError
from rookery.mesh.tunnel.events import DatagramArrived, Event
from rookery.mesh.tunnel.inflow import Inflow, OverloadError
from rookery.mesh.tunnel.notes import Notes
from rookery.mesh.tunnel.reinjection import Reinjection
from rookery.mesh.tunnel.sent_packet import SentPacket
from rookery.mesh.tunnel.ways import Ways
from rookery.wire.tunnel import TunnelPacket
from rookery.wire.tunnel_data import Ack, Data
from rookery.wire.tunnel_frames import Close, Datagram, Frame, Probe


class Intake:
    """Takes each packet in once."""

    __slots__ = (
        "_acks",
        "_datagrams",
        "_datagrams_max",
        "_events",
        "_inflow",
        "_notes",
        "_reinjection",
        "_ways",
        "counts",
    )

    def __init__(
        self,
        ways: Ways,
        inflow: Inflow,
        notes: Notes,
        reinjection: Reinjection,
        events: list[Event],
        datagrams_max: int,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._ways = ways
        self._inflow = inflow
        self._notes = notes
        self._reinjection = reinjection
        self._events = events
        self._datagrams_max = datagrams_max
        self._datagrams = 0  # told and not taken yet
        self._acks: list[tuple[Ack, float]] = []  # with when they came

    def taken(self) -> None:
        """The program has seen all events."""
        self._datagrams = 0

    def packet(
        self, packet: TunnelPacket, size: int, reply_way: int, now: float, *, is_marked: bool
    ) -> Close | None:
        """The CLOSE in it, if there is one; ProtocolError where the other side breaks the rules."""
        if not packet.number:
            return self._unnumbered(packet.frames, now)
        inbound = self._ways.heard(packet.way, reply_way)
        if inbound.is_known(packet.number):
            self.counts["repeated packets"] += 1
            return None
        close = None
        try:
            for frame in packet.frames:
                if isinstance(frame, Data):
                    self._inflow.data(frame, now)
                elif isinstance(frame, Ack):
                    self._acks.append((frame, now))
                else:
                    close = self._frame(frame, now) or close
        except OverloadError:
            self.counts["packets left for later"] += 1
            return None
        inbound.arrived(packet.number, size, now, is_marked=is_marked)
        return close

    def settle(self) -> None:
        """See what has been acknowledged: later, as programs wait for what came beside it."""
        if not self._acks:
            return
        acks, self._acks = self._acks, []
        for ack, came_at in acks:
            self._acknowledged(ack, came_at)

    def _unnumbered(self, frames: list[Frame], now: float) -> Close | None:
        for frame in frames:
            if isinstance(frame, Close):
                return frame
            if not isinstance(frame, Ack):
                raise ProtocolError("something that must arrive, without a number")
            self._acks.append((frame, now))
        return None

    def _frame(self, frame: Frame, now: float) -> Close | None:
        if isinstance(frame, Datagram):
            self._datagram(frame)
        elif isinstance(frame, Close):
            return frame
        elif not isinstance(frame, Probe | Data | Ack):
            self._inflow.handle(frame, now)
        return None

    def _datagram(self, frame: Datagram) -> None:
        if self._datagrams == self._datagrams_max:
            self.counts["datagrams dropped: nobody took them"] += 1
            return
        self._datagrams += 1
        self._events.append(DatagramArrived(bytes(frame.data)))

    def _acknowledged(self, ack: Ack, now: float) -> None:
        way = self._ways.get(ack.way)
        if way is None:  # it is down by now
            return
        for packet in way.acknowledged(ack, now):
            self._arrived(packet)
        self._reinjection.of_lost(way.take_lost(now))

    def _arrived(self, packet: SentPacket) -> None:
        for stream, start, end, fin in packet.segments:
            stream.sending.acknowledged(start, end, fin=fin)
            if stream.sending.is_over:
                self._inflow.forget_if_over(stream)
        for note in packet.notes:
            stream_over = self._notes.acknowledged(note)
            if stream_over is not None:
                self._inflow.forget_if_over(stream_over)
