"""Crow over UDP: one datagram is one packet under a v1 header, IPv4 only.

    hop   | id | ip | port |     port big-endian
          | 1  | 4  |  2   |

The return hop names the sender as this socket sees it. Acknowledgements find their packet by that
address byte for byte, so a tower must be addressed by the very IP it answers from.
"""

import socket
from collections.abc import Iterable
from typing import Final, Self

from rookery.errors import UsageError
from rookery.runtime.crow.gates.codec import CrowGateCodec, CrowGateCounters
from rookery.runtime.crow.gates.gate import (
    LOOPBACK,
    CrowAllowList,
    CrowDropReason,
    CrowReceiver,
    checked_id,
)
from rookery.runtime.endpoint.gates.burst_socket import DATAGRAM_SIZE_MAX, BurstSocket
from rookery.runtime.net.address import SocketAddress, advertised_ip, bound_socket
from rookery.wire.crow.address import udp_hop
from rookery.wire.crow.packet import CrowPacket

ID: Final = 12
ADDRESSES_MAX: Final = 4096  # peers remembered, to save working out the same address again

_ARGUMENT_SIZE: Final = 6
# Half of a usual window, so that both ends work at the same time, each on its half. With fewer the
# calls into the system, and what they do to the caches, cost more than working in turn.
_ANSWERED_MAX: Final = 8


class CrowUdpGate:
    """One bound UDP socket; make it with `bind`."""

    def __init__(
        self, receiver: CrowReceiver, sock: socket.socket, *, gate_id: int, allow: Iterable[str]
    ) -> None:
        self.id = checked_id(gate_id)
        self._codec = CrowGateCodec(receiver)
        self._receiver = receiver
        self._allow = CrowAllowList(allow)
        ip, self.port = sock.getsockname()
        self.address = udp_hop(advertised_ip(ip), self.port, gate_id)
        self._return_hops: dict[SocketAddress, bytes] = {}
        self._targets: dict[bytes, SocketAddress] = {}
        self._socket = BurstSocket(sock, self, answered_max=_ANSWERED_MAX)

    @classmethod
    async def bind(
        cls,
        receiver: CrowReceiver,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        gate_id: int = ID,
        allow: Iterable[str] = LOOPBACK,
    ) -> Self:
        """Listen on this address; UsageError when that cannot be.

        `allow` are the networks whose hosts the gate talks with.
        """
        sock = await bound_socket(socket.SOCK_DGRAM, host, port)
        try:
            if sock.family != socket.AF_INET:
                raise UsageError(f"cannot listen on {host!r}: crow knows IPv4 only")
            return cls(receiver, sock, gate_id=gate_id, allow=allow)
        except UsageError:
            sock.close()
            raise

    @property
    def counters(self) -> CrowGateCounters:
        return self._codec.counters

    def send(self, packet: CrowPacket) -> None:
        self.send_all([packet])

    def send_all(self, packets: list[CrowPacket]) -> None:
        if not packets:
            return
        address, stage = packets[0].address, packets[0].stage
        if all(each.address is address and each.stage == stage for each in packets):
            self._send(address[stage + 1 : stage + 1 + _ARGUMENT_SIZE], packets)
        else:
            self._send_to_several(packets)

    def _send_to_several(self, packets: list[CrowPacket]) -> None:
        neighbours: dict[bytes, list[CrowPacket]] = {}
        for packet in packets:
            start = packet.stage + 1
            argument = packet.address[start : start + _ARGUMENT_SIZE]
            if argument in neighbours:
                neighbours[argument].append(packet)
            else:
                neighbours[argument] = [packet]
        for argument, its_packets in neighbours.items():
            self._send(argument, its_packets)

    async def close(self) -> None:
        self._socket.close()

    def _send(self, argument: bytes, packets: list[CrowPacket]) -> None:
        codec = self._codec
        target = self._targets.get(argument) or self._target(argument)
        if target is None:
            reason = (
                CrowDropReason.DENIED if len(argument) == _ARGUMENT_SIZE else CrowDropReason.UNFIT
            )
            codec.drop(reason, len(packets))
            return
        datagrams = codec.leave_all(_longer_first(packets))
        if any(len(each) > DATAGRAM_SIZE_MAX for each in datagrams):
            codec.drop(
                CrowDropReason.UNFIT, sum(len(each) > DATAGRAM_SIZE_MAX for each in datagrams)
            )
            datagrams = [each for each in datagrams if len(each) <= DATAGRAM_SIZE_MAX]
        sock = self._socket
        # An answer leaves before anybody here hears of what came: the other end waits for it.
        send = sock.send_now if sock.is_reading else sock.send_all
        left_over = len(datagrams) - send(datagrams, target)
        if left_over:
            codec.drop(CrowDropReason.FULL, left_over)

    # What the socket reports.

    def datagrams_received(self, datagrams: list[bytes], address: SocketAddress) -> None:
        return_hop = self._return_hops.get(address)
        if return_hop is None:
            return_hop = self._return_hop(address)
        if return_hop:
            self._codec.enter_all(datagrams, return_hop)
        else:
            self._codec.drop(CrowDropReason.DENIED, len(datagrams))

    def drained(self) -> None:
        self._receiver.drained(is_more=self._socket.is_behind)

    def datagrams_sent(self, count: int, size: int) -> None:
        self._codec.sent(size, count)

    def datagram_lost(self) -> None:
        self._codec.drop(CrowDropReason.UNREACHABLE)

    def _return_hop(self, address: SocketAddress) -> bytes:
        """In wire order; empty for somebody we do not talk with."""
        if len(self._return_hops) >= ADDRESSES_MAX:  # anybody can fill it with forged addresses
            self._return_hops.clear()
        ip, port = address[0], address[1]
        allowed = self._allow.allows(ip)
        return_hop = udp_hop(ip, port, self.id)[::-1] if allowed else b""
        self._return_hops[address] = return_hop
        return return_hop

    def _target(self, argument: bytes) -> SocketAddress | None:
        if len(argument) != _ARGUMENT_SIZE:
            return None
        ip, port = socket.inet_ntoa(argument[:4]), int.from_bytes(argument[4:], "big")
        if not port or not self._allow.allows(ip):
            return None
        if len(self._targets) >= ADDRESSES_MAX:
            self._targets.clear()
        self._targets[argument] = (ip, port)
        return ip, port


def _longer_first(packets: list[CrowPacket]) -> list[CrowPacket]:
    """Acknowledgements last: one call can send what has one size, and a shorter one behind it."""
    if not packets[0].is_ack or packets[-1].is_ack:
        return packets
    return [each for each in packets if not each.is_ack] + [each for each in packets if each.is_ack]
