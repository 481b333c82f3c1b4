"""Address validation: limits what is sent to return addresses that may be forged.

The source of a datagram can be forged, and so can the return route in it. A broker that trusted it
could be used to amplify traffic towards a third party. So an address that is not proven gets at
most three times the bytes that came from it, as in QUIC. Anything beyond that is held until two
ACK21 with random numbers were answered from there, as every tower does.

    unproven ─two ACK22─▶ proven ─60 s─▶ unproven
       │ ▲
       └─┘ every half second: the two ACK21 again, out of the same three times

An answer proves that the peer receives what is sent to its address. `now` is in monotonic seconds.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

from rookery.crow.limits import AddressValidationLimits
from rookery.identity.cipher_set import RandomBytes
from rookery.wire.crow.packet import ACK21, HEADER_SIZE, SEQID_MODULUS, CrowPacket

AMPLIFICATION_MAX: Final = 3  # bytes for each that came, as in QUIC
VALIDATED_S: Final = 60.0
REVALIDATED_S: Final = 30.0  # before a proof expires, the next challenge is sent
HELD_S: Final = 5.0
CHALLENGE_REPEATED_S: Final = 0.5

_CREDIT_MAX: Final = 1 << 16
_ROUNDS_RESERVED: Final = 2  # of challenges: data must not use up the credit that they need
_WRONG_MAX: Final = 16  # wrong answers, after which new numbers are chosen
# A challenge must not have the number of a packet that the peer expects to be acknowledged.
_APART: Final = 0x1000


class _ValidatedAddress:
    __slots__ = (
        "address",
        "challenged_at",
        "challenges",
        "credit",
        "held",
        "held_at",
        "held_size",
        "proven_until",
        "seqid",
        "wrong",
    )

    def __init__(self, address: bytes) -> None:
        self.address = address
        self.credit = 0  # bytes that may be sent before it is proven
        self.seqid = 0  # of the last packet from it
        self.proven_until = float("-inf")
        self.challenges: dict[int, bool] = {}  # number -> whether it is answered
        self.challenged_at = float("-inf")
        self.wrong = 0
        self.held: list[CrowPacket] = []
        self.held_at = 0.0  # since when something waits
        self.held_size = 0


class AddressValidation:
    """The addresses behind gates whose sources can be forged."""

    def __init__(
        self,
        limits: AddressValidationLimits,
        random: RandomBytes,
        dropped: Counter[str],
        transmit: Callable[[list[CrowPacket]], None],
    ) -> None:
        self.gates: set[int] = set()  # whose sources can be forged
        self.now = 0.0
        self._limits = limits
        self._random = random
        self._dropped = dropped
        self._transmit = transmit  # what may leave
        self._unproven: OrderedDict[bytes, _ValidatedAddress] = OrderedDict()  # by the last packet
        self._proven: OrderedDict[bytes, _ValidatedAddress] = OrderedDict()  # by the last proof
        self._waiting: OrderedDict[bytes, _ValidatedAddress] = (
            OrderedDict()
        )  # what is held, oldest first
        self._held_size = 0
        self._due: float | None = None

    def __len__(self) -> int:
        """Addresses known."""
        return len(self._unproven) + len(self._proven)

    @property
    def held_size(self) -> int:
        """Bytes that wait for a proof."""
        return self._held_size

    @property
    def deadline(self) -> float | None:
        return self._due

    def received(self, address: bytes, packets: list[CrowPacket]) -> None:
        """Packets came from this address, which raises the credit for sending there."""
        peer = self._proven.get(address)
        if peer is None:
            peer = self._unproven.get(address) or self._add_unproven(address)
            self._unproven.move_to_end(address)
            size = sum(HEADER_SIZE + len(each.address) + len(each.data) for each in packets)
            peer.credit = min(peer.credit + AMPLIFICATION_MAX * size, _CREDIT_MAX)
        last = packets[-1]
        if not last.is_ack:
            peer.seqid = last.seqid

    def send(self, address: bytes, packets: list[CrowPacket]) -> None:
        """Send what the credit allows, and hold the rest until the address is proven."""
        peer = self._proven.get(address)
        if peer is not None and self._is_proven(peer):
            self._transmit(packets)
            return
        peer = self._unproven.get(address)
        if peer is None:  # nothing came from there: credit for one challenge
            peer = self._add_unproven(address)
            peer.credit = _ROUNDS_RESERVED * _round_size(address)
        if packets[0].is_ack:
            self._send_acks(peer, packets)
        else:
            self._send_data(peer, packets)

    def answered(self, address: bytes, seqid: int) -> bool:
        """An ACK22 came that belongs to no message; False if it answers no challenge either."""
        peer = self._unproven.get(address) or self._proven.get(address)
        if peer is None:
            return False
        if seqid not in peer.challenges:
            peer.wrong += 1
            if peer.wrong >= _WRONG_MAX:  # guessing
                peer.challenges = {}
            return False
        peer.challenges[seqid] = True
        if all(peer.challenges.values()):
            self._prove(peer)
        return True

    def tick(self) -> None:
        """Repeat challenges of addresses with held packets; drop packets held for too long."""
        if self._due is None or self.now < self._due:
            return
        for peer in list(self._waiting.values()):
            if self.now - peer.held_at >= HELD_S:
                self._drop_held(peer)
            else:
                self._challenge(peer)
        if self._waiting:
            self._due = self.now + CHALLENGE_REPEATED_S

    def _add_unproven(self, address: bytes) -> _ValidatedAddress:
        if len(self._unproven) >= self._limits.addresses_max:
            _, longest_silent = self._unproven.popitem(last=False)
            self._drop_held(longest_silent)
        peer = self._unproven[address] = _ValidatedAddress(address)
        return peer

    def _is_proven(self, peer: _ValidatedAddress) -> bool:
        left_s = peer.proven_until - self.now
        if left_s <= 0:
            del self._proven[peer.address]
            again = self._add_unproven(peer.address)
            again.credit = _ROUNDS_RESERVED * _round_size(peer.address)
            again.seqid = peer.seqid
            return False
        if left_s < VALIDATED_S - REVALIDATED_S and self.now - peer.challenged_at >= HELD_S:
            self._send_challenges(peer)
        return True

    def _prove(self, peer: _ValidatedAddress) -> None:
        address = peer.address
        self._unproven.pop(address, None)
        if address not in self._proven and len(self._proven) >= self._limits.addresses_max:
            self._proven.popitem(last=False)
        self._proven[address] = peer
        self._proven.move_to_end(address)
        peer.proven_until = self.now + VALIDATED_S
        peer.challenges = {}
        peer.wrong = 0
        held = peer.held
        self._forget_held(peer)
        if held:
            self._transmit(held)

    def _send_acks(self, peer: _ValidatedAddress, packets: list[CrowPacket]) -> None:
        """As many as the credit allows; the peer's repetitions raise it."""
        size = HEADER_SIZE + len(packets[0].address)  # of each
        count = min(len(packets), peer.credit // size)
        peer.credit -= count * size
        if count:
            self._transmit(packets[:count])
        if count < len(packets):
            self._dropped["unproven"] += len(packets) - count

    def _send_data(self, peer: _ValidatedAddress, packets: list[CrowPacket]) -> None:
        reserve = _ROUNDS_RESERVED * _round_size(peer.address)
        leaving: list[CrowPacket] = []
        for packet in packets:
            size = HEADER_SIZE + len(packet.address) + len(packet.data)
            if not peer.held and peer.credit - size >= reserve:
                peer.credit -= size
                leaving.append(packet)
            else:
                self._hold(peer, packet, size)
        if leaving:
            self._transmit(leaving)
        if peer.held:
            self._challenge(peer)

    def _hold(self, peer: _ValidatedAddress, packet: CrowPacket, size: int) -> None:
        if peer.held_size + size > self._limits.held_per_address_max:
            self._dropped["unproven"] += 1
            return
        while self._waiting and self._held_size + size > self._limits.held_max:
            self._drop_held(next(iter(self._waiting.values())))
        if not peer.held:
            peer.held_at = self.now
            self._waiting[peer.address] = peer
            if self._due is None:
                self._due = self.now + CHALLENGE_REPEATED_S
        peer.held.append(packet)
        peer.held_size += size
        self._held_size += size

    def _drop_held(self, peer: _ValidatedAddress) -> None:
        if peer.held:
            self._dropped["unproven"] += len(peer.held)
            self._forget_held(peer)

    def _forget_held(self, peer: _ValidatedAddress) -> None:
        self._waiting.pop(peer.address, None)
        self._held_size -= peer.held_size
        peer.held, peer.held_size = [], 0
        if not self._waiting:
            self._due = None

    def _challenge(self, peer: _ValidatedAddress) -> None:
        size = _round_size(peer.address)
        if self.now - peer.challenged_at < CHALLENGE_REPEATED_S or peer.credit < size:
            return
        peer.credit -= size
        self._send_challenges(peer)

    def _send_challenges(self, peer: _ValidatedAddress) -> None:
        peer.challenged_at = self.now
        while len(peer.challenges) < 2:
            peer.wrong = 0
            peer.challenges[self._number(peer.seqid)] = False
        self._transmit(
            [
                CrowPacket(ACK21, True, peer.address, 0, seqid, 0, 0, b"")
                for seqid in peer.challenges
            ]
        )

    def _number(self, taken: int) -> int:
        """A random number that is not near those that the peer uses."""
        offset = int.from_bytes(self._random(4), "little") % (SEQID_MODULUS - 2 * _APART)
        return (taken + _APART + offset) % SEQID_MODULUS


def _round_size(address: bytes) -> int:
    """Bytes of one round of challenges."""
    return 2 * (HEADER_SIZE + len(address))
