"""Tower: forwards packets by their routes, and delivers messages with QoS.

    gate ─received─▶ return hop written ─┬─ route goes on ──▶ Transmissions, if it forwards
                                         ├─ acknowledgement ▶ MessageDelivered
                                         └─ at its end ─────▶ ack, PacketArrived
    send ─▶ Transmissions … ─▶ MessageDelivered | MessageUndelivered

Time is an argument in monotonic seconds, and random bytes come from a function. After any call
the events wait in `take()`; `deadline` says when `tick()` is due. Packets cannot make a tower
raise: those that it drops are counted in `dropped`, by reason.
"""

from collections import Counter
from typing import Final

from rookery.crow.events import (
    MessageUndelivered,
    TowerEvent,
    TowerNotice,
    Transmissions,
    transmits,
)
from rookery.crow.limits import TowerLimits
from rookery.crow.packet_events import MessageDelivered, PacketArrived, Ticket
from rookery.crow.tower.address_validation import AddressValidation
from rookery.crow.tower.delivery import Delivery
from rookery.crow.tower.duplicates import COPY, NEW, Duplicates
from rookery.crow.tower.recent_packets import RecentPackets
from rookery.crow.tower.sequence_ids import SequenceIds
from rookery.errors import DecodeError, UsageError
from rookery.identity.cipher_set import RandomBytes
from rookery.wire.crow.packet import (
    ACK,
    ACK21,
    ACK22,
    ADDRESS_SIZE_MAX,
    HEADER_SIZE,
    PACKET_SIZE_MAX,
    QOS_MAX,
    CrowPacket,
)

_TYPE_MAX: Final = 7  # a larger one has no room in the header, and the C++ towers cut it off
_ACKQUANT_MS_MAX: Final = 0xFFFF


class Tower:
    """One tower: its gates have ids, and the packets between them have routes."""

    def __init__(
        self, *, random: RandomBytes, limits: TowerLimits | None = None, forwards: bool = False
    ) -> None:
        limits = limits or TowerLimits()
        self.random = random
        self.gates: set[int] = set()
        self.forwards = forwards  # whether packets of others may pass through
        self.dropped: Counter[str] = Counter()
        # By gate: acknowledgements, ours and those passing through, and everything else.
        self._answers: dict[int, list[CrowPacket]] = {}
        self._transmissions: dict[int, list[CrowPacket]] = {}
        self._notices: list[TowerNotice] = []
        self._tickets = 0
        self._sequence_ids = SequenceIds(random)
        self._delivery = Delivery(
            limits.delivery, self._sequence_ids, self._notices, self._transmit
        )
        self._recent_packets = RecentPackets()
        self._duplicates = Duplicates(limits.duplicates, self._transmit)
        self._validation = AddressValidation(
            limits.address_validation, random, self.dropped, self._leave
        )

    def guard(self, gate: int) -> None:
        """Validate return addresses behind this gate before sending more than a little there.

        For gates whose sources can be forged, since an answer may be larger than its request.
        """
        self._validation.gates.add(gate)

    def send(
        self,
        address: bytes,
        data: bytes,
        now: float,
        *,
        type: int = 0,  # noqa: A002 - as the packet calls it
        qos: int = 0,
        ackquant_ms: int = 200,
        seqid: int | None = None,
    ) -> Ticket:
        """Send a message; of QoS 1 and 2, and of one that cannot be sent, the outcome follows.

        CongestionError when the window of the address and the queue behind it are full. A `seqid`
        is one of those that `reserve` gave, for QoS 1 and 2.
        """
        if not (
            0 <= type <= _TYPE_MAX and 0 <= qos <= QOS_MAX and 0 <= ackquant_ms <= _ACKQUANT_MS_MAX
        ):
            raise UsageError(f"no packet of type {type}, qos {qos} and ackquant {ackquant_ms} ms")
        if len(address) > ADDRESS_SIZE_MAX:
            raise UsageError(f"an address of {len(address)} bytes")
        if HEADER_SIZE + len(address) + len(data) > PACKET_SIZE_MAX:
            raise UsageError(f"{len(data)} bytes are too many for one packet")
        self._tickets += 1
        ticket = Ticket(self._tickets)
        self._validation.now = now
        if not address:
            packet = CrowPacket(
                type, False, b"", 0, self._sequence_ids.take(), qos, ackquant_ms, data
            )
            self._notices.append(PacketArrived(packet, b""))
            if qos:
                self._notices.append(MessageDelivered(ticket))
        elif address[0] not in self.gates:
            self.dropped["unknown gate"] += 1
            self._notices.append(MessageUndelivered(ticket, f"there is no gate {address[0]}"))
        elif qos == 0:
            packet = CrowPacket(
                type, False, address, 0, self._sequence_ids.take(), 0, ackquant_ms, data
            )
            self._transmit([packet])
        else:
            self._delivery.submit(
                ticket, address, data, now, type=type, qos=qos, ackquant_ms=ackquant_ms, seqid=seqid
            )
        return ticket

    def reserve(self, address: bytes, count: int, now: float) -> int:
        """The first of so many packet numbers in a row, for messages that belong together."""
        return self._sequence_ids.reserve(address, count, now)

    def ticket(self) -> Ticket:
        """A new one, for a caller that makes one message out of several."""
        self._tickets += 1
        return Ticket(self._tickets)

    def room(self, address: bytes) -> int:
        """How many messages of QoS 1 and 2 to this address would be taken now."""
        return self._delivery.room(address)

    @property
    def room_max(self) -> int:
        """The same for an address with nothing in flight."""
        return self._delivery.room_max

    def received(self, packet: CrowPacket, return_hop: bytes, now: float) -> None:
        """A packet from a gate, with the hop that leads back to its sender."""
        self.received_all([packet], return_hop, now)

    def received_all(self, packets: list[CrowPacket], return_hop: bytes, now: float) -> None:
        """Packets that came over the same hop at the same time."""
        assert return_hop, "a hop that uses nothing up could be made for ever"
        hop_size, neighbour = len(return_hop), return_hop[::-1]
        self._validation.now = now
        direct = [each for each in packets if not each.stage and len(each.address) == hop_size]
        if direct:
            self._ended(direct, neighbour, now)
        if len(direct) == len(packets):  # as good as always
            return
        for packet in packets:
            stage = packet.stage
            if stage + hop_size != len(packet.address):
                self._forward(packet, return_hop)
            elif stage:
                # From here on only the return address is needed, not the packet with it written.
                self._ended([packet], neighbour + packet.address[:stage][::-1], now)

    @property
    def deadline(self) -> float | None:
        """When `tick` is due; None while nothing waits."""
        deadline = self._delivery.deadline
        for due in (self._duplicates.deadline, self._validation.deadline):
            if due is not None and (deadline is None or due < deadline):
                deadline = due
        return deadline

    def tick(self, now: float) -> None:
        self._validation.now = now
        self._validation.tick()
        self._delivery.tick(now)
        self._duplicates.tick(now)

    def take(self) -> list[TowerEvent]:
        """What to transmit and what happened since the last call, either in order."""
        return [*transmits(self.take_transmissions()), *self.take_notices()]

    def take_transmissions(self) -> list[Transmissions]:
        """By gate, acknowledgements first: they end repeats."""
        answers, others = self._answers, self._transmissions
        if not (answers or others):
            return []
        self._answers, self._transmissions = {}, {}
        for gate, packets in others.items():
            if gate in answers:
                answers[gate] += packets
            else:
                answers[gate] = packets
        return list(answers.items())

    def take_notices(self) -> list[TowerNotice]:
        """Everything but transmissions."""
        notices = self._notices.copy()
        self._notices.clear()
        return notices

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to take."""
        return not (self._transmissions or self._answers or self._notices)

    @property
    def unacknowledged(self) -> int:
        """Messages sent that have no outcome yet."""
        return len(self._delivery)

    @property
    def remembered(self) -> int:
        """Packets of QoS 2 known, so that a copy is not handed on."""
        return len(self._duplicates)

    @property
    def addresses_met(self) -> int:
        """Addresses behind guarded gates that are known, proven or not."""
        return len(self._validation)

    @property
    def held_size(self) -> int:
        """Bytes that wait for the proof of an address."""
        return self._validation.held_size

    def _forward(self, packet: CrowPacket, return_hop: bytes) -> None:
        try:
            packet = packet.hop(return_hop)
        except DecodeError:
            self.dropped["hop over the address"] += 1
            return
        if not self.forwards:
            self.dropped["forwarding is off"] += 1
        elif packet.address[packet.stage] in self.gates:
            self._leave([packet])  # as large as it came, so a forged source gains nothing
        else:
            self.dropped["unknown gate"] += 1

    def _ended(self, packets: list[CrowPacket], source: bytes, now: float) -> None:
        """Packets from one source came to the end of their route."""
        if source[0] in self._validation.gates:
            self._validation.received(source, packets)
        answered: list[CrowPacket] = []
        acks: dict[int, list[CrowPacket]] = {}
        tell = self._notices.append
        for packet in packets:
            if packet.is_ack:
                acks.setdefault(packet.type, []).append(packet)
            elif packet.qos == 1:
                answered.append(packet)
                tell(PacketArrived(packet, source))
            else:
                self._arrived(packet, source, now)
        if answered:
            self._answer(ACK, answered, source)
        for ack_type, of_type in acks.items():
            self._acknowledged(ack_type, of_type, source, now)

    def _acknowledged(
        self, ack_type: int, acks: list[CrowPacket], return_address: bytes, now: float
    ) -> None:
        seqids = [ack.seqid for ack in acks]
        if ack_type == ACK:
            known = self._delivery.acknowledged(return_address, seqids, 1, now)
        elif ack_type == ACK21:
            # Always, or a peer that missed the first one would repeat itself to the end.
            self._answer(ACK22, acks, return_address)
            known = self._delivery.acknowledged(return_address, seqids, 2, now)
        elif ack_type == ACK22:
            known = sum(self._confirmed(return_address, seqid, now) for seqid in seqids)
        else:
            self.dropped["unknown acknowledgement"] += len(acks)
            return
        if known < len(acks):
            self.dropped["late acknowledgement"] += len(acks) - known

    def _confirmed(self, return_address: bytes, seqid: int, now: float) -> bool:
        """Whether an ACK22 was waited for."""
        return self._duplicates.confirmed(return_address, seqid, now) or (
            return_address[0] in self._validation.gates
            and self._validation.answered(return_address, seqid)
        )

    def _arrived(self, packet: CrowPacket, source: bytes, now: float) -> None:
        """One that must not be handed on twice."""
        if packet.qos == 0:
            is_copy = self._recent_packets.is_copy(packet, source, now)
            verdict = COPY if is_copy else NEW
        elif packet.qos == QOS_MAX:
            verdict = self._duplicates.examine(packet, source, now)
        else:
            self.dropped["qos"] += 1
            return
        if verdict is NEW:
            self._notices.append(PacketArrived(packet, source))
        else:
            self.dropped["copy" if verdict is COPY else "memory full"] += 1

    def _answer(self, ack_type: int, packets: list[CrowPacket], return_address: bytes) -> None:
        self._transmit(
            [
                CrowPacket(
                    ack_type, True, return_address, 0, packet.seqid, 0, packet.ackquant_ms, b""
                )
                for packet in packets
            ]
        )

    def _transmit(self, packets: list[CrowPacket]) -> None:
        """Packets for the same next hop, either all acknowledgements or none."""
        first = packets[0]
        gate = first.address[first.stage]
        if gate not in self.gates:
            self.dropped["unknown gate"] += len(packets)
            return
        if gate in self._validation.gates:
            self._validation.send(first.address, packets)
        else:
            self._leave(packets)

    def _leave(self, packets: list[CrowPacket]) -> None:
        """As `_transmit`, through a gate that there is."""
        first = packets[0]
        gate = first.address[first.stage]
        waiting = self._answers if first.is_ack else self._transmissions
        if gate in waiting:
            waiting[gate] += packets
        else:
            waiting[gate] = packets
