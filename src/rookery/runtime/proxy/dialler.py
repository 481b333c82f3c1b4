"""Makes the connections that the rules allow, from this host.

A name is resolved first, each of its addresses is checked against the rules, and the same addresses
are dialled, so DNS rebinding has no effect. A member that no rule allows gets `policy`, which says
nothing about the target.
"""

import asyncio
import errno
from collections.abc import Sequence

from rookery.errors import DeniedError, LocalError, UnreachableError
from rookery.link.channels.sock import SockAddress, SockProtocol
from rookery.link.channels.sock_rules import SockListener, plain_address
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.opening import NetTarget, SerialTarget
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.endpoint.channels.sock_server import Resolve, resolve
from rookery.runtime.net.datagram_socket import QueuedDatagramSocket
from rookery.runtime.net.local_networks import LocalNetworks, local_networks
from rookery.runtime.proxy.serial_devices import SerialDevices
from rookery.runtime.proxy.serial_stream import SerialStream
from rookery.runtime.proxy.tcp_stream import TcpStream

ADDRESSES_MAX = 4
DIAL_S = 10.0

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Dialler:
    """Connects on behalf of members, whose hashnames the tunnel has authenticated."""

    def __init__(
        self,
        rules: ProxyRules,
        devices: SerialDevices | None = None,
        *,
        dial_s: float = DIAL_S,
        resolve: Resolve = resolve,
        own: LocalNetworks = local_networks,
    ) -> None:
        self.rules = rules
        self.devices = devices or SerialDevices()
        self._dial_s = dial_s
        self._resolve = resolve
        self._own = own

    async def tcp(self, target: NetTarget, member: str) -> TcpStream:
        """Connect; LocalError with a fault when that fails."""
        return await dial(target, await self._admitted(target, member), self._dial_s)

    async def udp(self, target: NetTarget, member: str) -> tuple[QueuedDatagramSocket, SockAddress]:
        address, *_ = await self._admitted(target, member)
        return await open_datagrams(target, address), SockAddress(address, target.port)

    def serial(self, line: SerialTarget, member: str) -> SerialStream:
        self.rules.check_serial(line.name, member)
        return self.devices.open(line)

    def listener(self, port: int, member: str) -> SockListener:
        """The addresses on which the rules let us listen for a member."""
        return self.rules.net.listener(SockProtocol.TCP, port, member)

    async def _admitted(self, target: NetTarget, member: str) -> list[str]:
        """The addresses to dial, decided after resolving; nothing is resolved for strangers."""
        rules, host, port = self.rules.net, target.host, target.port
        if not rules.admits_question(target.protocol, port, member):
            raise ProxyFault.POLICY.error(target)
        addresses = [host]
        if plain_address(host) is None:
            addresses = await resolved(target, self._dial_s, self._resolve)
            if not addresses and rules.admits_name(target.protocol, host, port, member):
                raise ProxyFault.DNS.error(target)
        allowed = [address for address in addresses if self._is_allowed(target, address, member)]
        if not allowed:
            raise ProxyFault.POLICY.error(target)
        return allowed

    def _is_allowed(self, target: NetTarget, address: str, member: str) -> bool:
        net, host, port = self.rules.net, target.host, target.port
        try:
            net.choose(target.protocol, host, [address], port, member, self._own())
        except DeniedError:
            return False
        return True


async def resolved(
    target: NetTarget, limit_s: float = DIAL_S, resolve: Resolve = resolve
) -> list[str]:
    """All addresses of a name; none if it has none, or they are not resolved in time."""
    try:
        async with asyncio.timeout(limit_s):
            return await resolve(target.host, target.port, target.protocol)
    except TimeoutError:
        return []


async def dial(target: NetTarget, addresses: Sequence[str], limit_s: float = DIAL_S) -> TcpStream:
    """Connect to the first address that answers; each has its share of the time."""
    addresses = addresses[:ADDRESSES_MAX]
    failure: LocalError = ProxyFault.UNREACHABLE.error(target)
    for address in addresses:
        try:
            async with asyncio.timeout(limit_s / len(addresses)):
                return await TcpStream.connect(address, target.port)
        except TimeoutError:
            failure = ProxyFault.TIMEOUT.error(target)
        except OSError as error:
            failure = _fault(error).error(target)
    raise failure


async def open_datagrams(target: NetTarget, address: str) -> QueuedDatagramSocket:
    try:
        return await QueuedDatagramSocket.connect(address, target.port)
    except UnreachableError as error:
        raise ProxyFault.UNREACHABLE.error(target) from error


def _fault(error: OSError) -> ProxyFault:
    if isinstance(error, ConnectionRefusedError):
        return ProxyFault.REFUSED
    return ProxyFault.BUSY if error.errno in _EXHAUSTED else ProxyFault.UNREACHABLE
