"""Packet receiver: takes in the other side's packets, frame by frame."""

from collections import Counter

from rookery.errors import ProtocolError
from rookery.mesh.tunnel.events import Event, TunnelDatagramArrived
from rookery.mesh.tunnel.packets.control_frames import ControlFrames
from rookery.mesh.tunnel.packets.reinjection import Reinjection
from rookery.mesh.tunnel.packets.sent_packet import SentPacket
from rookery.mesh.tunnel.paths.path_set import TunnelPaths
from rookery.mesh.tunnel.streams.stream_input import OverloadError, StreamInput
from rookery.wire.mesh.tunnel_data import TunnelAck, TunnelData
from rookery.wire.mesh.tunnel_frames import Frame, TunnelClose, TunnelDatagram, TunnelProbe
from rookery.wire.mesh.tunnel_packet import TunnelPacket


class PacketReceiver:
    """Takes in each packet once."""

    __slots__ = (
        "_acks",
        "_control_frames",
        "_datagrams",
        "_datagrams_max",
        "_events",
        "_input",
        "_paths",
        "_reinjection",
        "counts",
    )

    def __init__(
        self,
        paths: TunnelPaths,
        stream_input: StreamInput,
        control_frames: ControlFrames,
        reinjection: Reinjection,
        events: list[Event],
        datagrams_max: int,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._paths = paths
        self._input = stream_input
        self._control_frames = control_frames
        self._reinjection = reinjection
        self._events = events
        self._datagrams_max = datagrams_max
        self._datagrams = 0  # reported and not taken yet
        self._acks: list[tuple[TunnelAck, float]] = []  # with when they came

    def taken(self) -> None:
        """The program has seen all events."""
        self._datagrams = 0

    def packet(
        self, packet: TunnelPacket, size: int, reply_path: int, now: float, *, is_marked: bool
    ) -> TunnelClose | None:
        """Take in a packet; the CLOSE in it, if any. ProtocolError when it breaks a rule."""
        if not packet.number:
            return self._unnumbered(packet.frames, now)
        inbound = self._paths.inbound_for(packet.way, reply_path)
        if inbound.is_known(packet.number):
            self.counts["repeated packets"] += 1
            return None
        close = None
        try:
            for frame in packet.frames:
                if isinstance(frame, TunnelData):
                    self._input.data(frame, now)
                elif isinstance(frame, TunnelAck):
                    self._acks.append((frame, now))
                else:
                    close = self._frame(frame, now) or close
        except OverloadError:
            self.counts["packets left for later"] += 1
            return None
        inbound.arrived(packet.number, size, now, is_marked=is_marked)
        return close

    def settle(self) -> None:
        """Process acknowledgements, after the data that came with them was delivered."""
        if not self._acks:
            return
        acks, self._acks = self._acks, []
        for ack, came_at in acks:
            self._acknowledged(ack, came_at)

    def _unnumbered(self, frames: list[Frame], now: float) -> TunnelClose | None:
        for frame in frames:
            if isinstance(frame, TunnelClose):
                return frame
            if not isinstance(frame, TunnelAck):
                raise ProtocolError("something that must arrive, without a number")
            self._acks.append((frame, now))
        return None

    def _frame(self, frame: Frame, now: float) -> TunnelClose | None:
        if isinstance(frame, TunnelDatagram):
            self._datagram(frame)
        elif isinstance(frame, TunnelClose):
            return frame
        elif not isinstance(frame, TunnelProbe | TunnelData | TunnelAck):
            self._input.handle(frame, now)
        return None

    def _datagram(self, frame: TunnelDatagram) -> None:
        if self._datagrams == self._datagrams_max:
            self.counts["datagrams dropped: nobody took them"] += 1
            return
        self._datagrams += 1
        self._events.append(TunnelDatagramArrived(bytes(frame.data)))

    def _acknowledged(self, ack: TunnelAck, now: float) -> None:
        path = self._paths.get(ack.way)
        if path is None:  # it is down by now
            return
        for packet in path.acknowledged(ack, now):
            self._arrived(packet)
        self._reinjection.of_lost(path.take_lost(now))

    def _arrived(self, packet: SentPacket) -> None:
        for stream, start, end, fin in packet.segments:
            stream.sending.acknowledged(start, end, fin=fin)
            if stream.sending.is_over:
                self._input.forget_if_over(stream)
        for key in packet.control_frames:
            stream_over = self._control_frames.acknowledged(key)
            if stream_over is not None:
                self._input.forget_if_over(stream_over)
