"""Crow gates: where crow packets enter and leave a tower, one class per medium.

    medium ─ bytes ─▶ gate ─ packet, return hop ─▶ receiver (the tower)
    medium ◀─ bytes ─ gate ◀─ packet ─────────── receiver

A packet for this gate has its id at `address[stage]` and the gate's own argument behind it. At the
other end the return hop is written over both: as many bytes, backwards, that gate's own id last.
Crow does not authenticate peers, so every gate has a list of addresses that are allowed.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from ipaddress import IPv4Network, ip_address
from typing import Protocol, runtime_checkable

from rookery.errors import UsageError
from rookery.wire.crow.packet import CrowPacket

LOOPBACK = ("127.0.0.0/8",)
ANY_ADDRESS = ("0.0.0.0/0",)

_REMEMBERED_MAX = 4096  # cached decisions; forged addresses can cause many


class CrowReceiver(Protocol):
    """What a gate reports to."""

    def received(self, packets: list[CrowPacket], return_hop: bytes) -> None:
        """Packets came in, as they were sent; `return_hop` is to be written over the hop
        they made."""

    def drained(self, *, is_more: bool = False) -> None:
        """A batch of reads is over: a good moment to send what they led to.

        `is_more` says that more is waiting to be read, and will be soon.
        """


class CrowGate(Protocol):
    """What the receiver sends through."""

    id: int

    def send(self, packet: CrowPacket) -> None:
        """Send one packet or drop it; never waits, never raises for the medium's sake."""

    async def close(self) -> None: ...


@runtime_checkable
class BatchGate(CrowGate, Protocol):
    """One that sends many packets with less effort than one at a time."""

    def send_all(self, packets: list[CrowPacket]) -> None:
        """As `send` does each, in order for every neighbour."""


def sender(gate: CrowGate) -> Callable[[list[CrowPacket]], None]:
    """How many packets go through this gate."""
    if isinstance(gate, BatchGate):
        return gate.send_all

    def send_each(packets: list[CrowPacket]) -> None:
        for packet in packets:
            gate.send(packet)

    return send_each


class CrowDropReason(StrEnum):
    """Why a gate let a packet go."""

    MALFORMED = "malformed"  # came in, but is none
    DENIED = "denied"  # from or to somebody it does not talk with
    UNFIT = "unfit"  # to be sent, but its address or size does not fit this gate
    FULL = "full"  # a bound is reached
    UNREACHABLE = "unreachable"  # nobody there, or the line is unplugged
    REFUSED = "refused"  # a connection too many, or one that stayed silent


class CrowAllowList:
    """The IPv4 networks a gate talks with."""

    def __init__(self, networks: Iterable[str] = LOOPBACK) -> None:
        try:
            self._networks = tuple(IPv4Network(network) for network in networks)
        except ValueError as error:
            raise UsageError(f"not a network: {error}") from error
        self._decisions: dict[str, bool] = {}

    def allows(self, ip: str) -> bool:
        decision = self._decisions.get(ip)
        if decision is None:
            if len(self._decisions) >= _REMEMBERED_MAX:
                self._decisions.clear()
            decision = self._decisions[ip] = self._decide(ip)
        return decision

    def _decide(self, ip: str) -> bool:
        try:
            address = ip_address(ip)
        except ValueError:
            return False
        return any(address in network for network in self._networks)


def checked_id(gate_id: int) -> int:
    """UsageError unless it fits the byte that it is on the wire."""
    if not 0 <= gate_id <= 0xFF:
        raise UsageError(f"{gate_id} is no gate: use 0 to 255")
    return gate_id
