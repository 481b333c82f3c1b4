"""Delivery: what the sender of QoS 1 and 2 keeps until it is acknowledged.

    submit ─▶ queue ─▶ unacked ─ack──────────────────▶ MessageDelivered
                          │ ▲
                          └─┘ every timer, 5 transmissions, one timer more ─▶ MessageUndelivered

Each address has a window of unacknowledged packets and a bounded queue behind it. The window halves
when packets have to be repeated more than once and grows again with the others: a receiver that
falls behind would otherwise drown in copies. A packet gets its number when it leaves the queue. The
order of arrival is not promised by any QoS.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from rookery.crow.events import MessageUndelivered, TowerNotice
from rookery.crow.limits import DeliveryLimits
from rookery.crow.packet_events import MessageDelivered, Ticket
from rookery.crow.timer_queues import TimerQueues
from rookery.crow.tower.sequence_ids import SequenceIds
from rookery.errors import CongestionError
from rookery.wire.crow.packet import CrowPacket, timer_s

TRANSMISSIONS: Final = 5
# One repetition may only mean that the round trip is longer than the timer.
_PATIENT: Final = TRANSMISSIONS - 2
_NARROWEST: Final = 4  # a window never shrinks to less than this part of it


class _Unsent:
    __slots__ = ("ackquant_ms", "data", "qos", "seqid", "ticket", "type")

    def __init__(
        self,
        ticket: Ticket,
        type: int,  # noqa: A002 - as the packet calls it
        data: bytes,
        qos: int,
        ackquant_ms: int,
        seqid: int | None,
    ) -> None:
        self.ticket = ticket
        self.type = type
        self.data = data
        self.qos = qos
        self.ackquant_ms = ackquant_ms
        self.seqid = seqid  # None: the next one


class _Unacked:
    __slots__ = ("due", "packet", "repeats_left", "ticket", "timer_s")

    def __init__(self, packet: CrowPacket, ticket: Ticket, timer_s: float) -> None:
        self.packet = packet
        self.ticket = ticket
        self.timer_s = timer_s
        self.repeats_left = TRANSMISSIONS - 1
        self.due: float | None = None


class _Flow:
    """Everything in flight to one address."""

    __slots__ = ("narrow_until", "queue", "unacked", "window")

    def __init__(self, window: float) -> None:
        self.unacked: dict[int, _Unacked] = {}  # by seqid
        self.queue: deque[_Unsent] = deque()
        self.window = window
        self.narrow_until = 0.0  # a burst of repetitions narrows the window once

    def __len__(self) -> int:
        return len(self.unacked) + len(self.queue)

    def widen(self, window_max: int) -> None:
        """Something was acknowledged soon enough."""
        self.window = min(self.window + 1 / self.window, window_max)

    def narrow(self, window_min: float, timer_s: float, now: float) -> None:
        """A packet must be repeated once more: it was lost, or we send too fast."""
        if now >= self.narrow_until:
            self.window = max(self.window / 2, window_min)
            self.narrow_until = now + timer_s


class Delivery:
    """The sending side of QoS 1 and 2."""

    __slots__ = (
        "_addresses_max",
        "_flows",
        "_notices",
        "_sequence_ids",
        "_timers",
        "_transmit",
        "_unacked_max",
        "room_max",
    )

    def __init__(
        self,
        limits: DeliveryLimits,
        sequence_ids: SequenceIds,
        notices: list[TowerNotice],
        transmit: Callable[[list[CrowPacket]], None],
    ) -> None:
        self._unacked_max = limits.unacked_max  # per address
        self._addresses_max = limits.addresses_max
        self.room_max = limits.unacked_max + limits.queued_max  # per address
        self._sequence_ids = sequence_ids
        self._notices = notices  # outcomes are added here
        self._transmit = transmit
        self._flows: dict[bytes, _Flow] = {}
        self._timers: TimerQueues[_Unacked] = TimerQueues()

    def __len__(self) -> int:
        """Messages without an outcome yet."""
        return sum(map(len, self._flows.values()))

    @property
    def deadline(self) -> float | None:
        return self._timers.deadline

    def room(self, address: bytes) -> int:
        """How many messages would be taken now."""
        flow = self._flows.get(address)
        if flow is not None:
            return self.room_max - len(flow)
        return self.room_max if len(self._flows) < self._addresses_max else 0

    def submit(
        self,
        ticket: Ticket,
        address: bytes,
        data: bytes,
        now: float,
        *,
        type: int,  # noqa: A002 - as the packet calls it
        qos: int,
        ackquant_ms: int,
        seqid: int | None = None,
    ) -> None:
        """Send now, or as soon as the window allows; CongestionError when the queue is full."""
        flow = self._flows.get(address)
        if flow is None:
            if len(self._flows) >= self._addresses_max:
                raise CongestionError(f"{len(self._flows)} addresses await acknowledgement")
            flow = self._flows[address] = _Flow(self._unacked_max)
        unsent = _Unsent(ticket, type, data, qos, ackquant_ms, seqid)
        if len(flow.unacked) + 1 <= flow.window:
            self._send(flow, address, [unsent], now)
        elif len(flow) < self.room_max:
            flow.queue.append(unsent)
        else:
            raise CongestionError(f"{len(flow.queue)} packets wait for {address.hex()}")

    def acknowledged(self, address: bytes, sequence_ids: list[int], qos: int, now: float) -> int:
        """Acknowledgements came from the address; for how many of them something waited."""
        flow = self._flows.get(address)
        if flow is None:
            return 0
        known, waiting, window_max = 0, flow.unacked, self._unacked_max
        for seqid in sequence_ids:
            unacked = waiting.get(seqid)
            if unacked is None or unacked.packet.qos != qos:
                continue
            del waiting[seqid]
            known += 1
            unacked.due = None
            if flow.window < window_max and unacked.repeats_left >= _PATIENT:
                flow.widen(window_max)
            self._notices.append(MessageDelivered(unacked.ticket))
        self._proceed(flow, address, now)
        return known

    def tick(self, now: float) -> None:
        for unacked in self._timers.take_due(now):
            if unacked.repeats_left:
                unacked.repeats_left -= 1
                if unacked.repeats_left < _PATIENT:
                    flow = self._flows[unacked.packet.address]
                    flow.narrow(self._window_min, unacked.timer_s, now)
                self._transmit([unacked.packet])
                self._timers.wait(unacked, unacked.timer_s, now)
            else:
                self._notices.append(MessageUndelivered(unacked.ticket, "no acknowledgement"))
                packet = unacked.packet
                flow = self._flows[packet.address]
                del flow.unacked[packet.seqid]
                self._proceed(flow, packet.address, now)

    def _send(self, flow: _Flow, address: bytes, leaving: list[_Unsent], now: float) -> None:
        packets = []
        for unsent in leaving:
            if unsent.seqid is not None and unsent.seqid not in flow.unacked:
                seqid = unsent.seqid
            elif unsent.qos == 1:
                seqid = self._sequence_ids.take_free(flow.unacked)
            else:
                seqid = self._sequence_ids.take_unspent(address, flow.unacked, now)
            packet = CrowPacket(
                unsent.type, False, address, 0, seqid, unsent.qos, unsent.ackquant_ms, unsent.data
            )
            packets.append(packet)
            wait_s = timer_s(unsent.ackquant_ms)
            unacked = flow.unacked[seqid] = _Unacked(packet, unsent.ticket, wait_s)
            self._timers.wait(unacked, wait_s, now)
        self._transmit(packets)

    def _proceed(self, flow: _Flow, address: bytes, now: float) -> None:
        """Something has an outcome: the next in the queue may leave."""
        queue, room = flow.queue, int(flow.window) - len(flow.unacked)
        if queue and room > 0:
            leaving = [queue.popleft() for _ in range(min(room, len(queue)))]
            self._send(flow, address, leaving, now)
        elif not flow.unacked:
            del self._flows[address]

    @property
    def _window_min(self) -> float:
        """Radio links always lose packets, so losses reduce the window to this minimum only."""
        return max(self._unacked_max / _NARROWEST, 1.0)
