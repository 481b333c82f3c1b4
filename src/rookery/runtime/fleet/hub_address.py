"""The hub as routers and servers know it: who it is for sure, and where it is, looked up anew."""

import asyncio
import socket
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from rookery.errors import UnreachableError, UsageError
from rookery.fleet.sealed_stream import STREAM_CSIDS
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.cs40 import CSID as ROOKERY_CSID
from rookery.identity.hashname import hashname
from rookery.wire.link.path import NetPath
from rookery.wire.link.uri import LinkAddress

RESOLVE_S_MAX = 10.0


class HubSocketAddress(NamedTuple):
    """An address to send to."""

    ip: str
    port: int


class HubAddress:
    """A checked link of a hub."""

    def __init__(self, link: LinkAddress) -> None:
        missing = {ROOKERY_CSID, RSA_CSID} - link.keys.keys()
        if missing:
            raise UsageError("the hub's link lacks its keys; take the line that the hub prints")
        self.hashname = hashname(link.keys)
        if link.hashname not in (None, self.hashname):
            raise UsageError("the keys of the hub's link make another hashname than it says")
        self.keys: Mapping[int, bytes] = MappingProxyType(dict(link.keys))
        names_streams = link.stream >= ROOKERY_CSID
        self.stream_keys: Mapping[int, bytes] = MappingProxyType(
            {csid: link.keys[csid] for csid in STREAM_CSIDS[: 1 if names_streams else None]}
        )
        """Those that it may answer with on sealed streams: of 40 alone, once its link says so."""
        self.insisted = frozenset({self.hashname} if names_streams else ())
        """Itself, if it is to come with no less than 40 when it dials us."""
        self._link = link
        for carrier in ("udp", "tcp"):
            if not link.host and not self._paths(carrier):
                raise UsageError(f"the hub's link leads nowhere over {carrier.upper()}")

    async def udp(self) -> list[HubSocketAddress]:
        """Where reports go, the likeliest first; UnreachableError while the name has no address."""
        return await self._places("udp", socket.SOCK_DGRAM)

    async def tcp(self) -> list[HubSocketAddress]:
        """Where to connect to, likewise."""
        return await self._places("tcp", socket.SOCK_STREAM)

    async def _places(self, carrier: str, kind: socket.SocketKind) -> list[HubSocketAddress]:
        known = [HubSocketAddress(path.ip, path.port) for path in self._paths(carrier)]
        if not self._link.host:
            return known
        try:
            return [*known, *await _resolved(self._link.host, self._link.port, kind)]
        except UnreachableError:
            if known:
                return known
            raise

    def _paths(self, carrier: str) -> list[NetPath]:
        return [
            path
            for path in self._link.paths
            if isinstance(path, NetPath) and path.kind in (f"{carrier}4", f"{carrier}6")
        ]


async def _resolved(host: str, port: int, kind: socket.SocketKind) -> list[HubSocketAddress]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_S_MAX):
            found = await loop.getaddrinfo(host, port, type=kind)
    except (OSError, UnicodeError, TimeoutError) as error:
        raise UnreachableError(f"no address of {host} is known") from error
    return [HubSocketAddress(str(entry[4][0]), port) for entry in found]
