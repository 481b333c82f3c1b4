"""Every channel directly off a link: `link.stream()`, `await link.thtp("GET", "/")`, …"""

from collections.abc import AsyncIterable, Mapping
from typing import TYPE_CHECKING

from rookery.runtime import thtp, ws
from rookery.runtime.channel import Channel
from rookery.runtime.sock import Binding, Forward, OnAccept, SockDatagrams
from rookery.runtime.stream import Stream, open_stream
from rookery.wire.lob import JsonObject

if TYPE_CHECKING:
    from rookery.runtime.mesh import Mesh


class LinkChannels:
    """What `Link` offers its user beside its state."""

    mesh: "Mesh"

    @property
    def hashname(self) -> str:
        raise NotImplementedError

    def open(
        self,
        kind: str,
        /,
        head: JsonObject | None = None,
        body: bytes = b"",
        *,
        reliable: bool = True,
        end: bool = False,
    ) -> Channel:
        raise NotImplementedError

    def stream(self, options: JsonObject | None = None) -> Stream:
        """Bytes both ways; the options tell the peer what for."""
        return open_stream(self, options)

    async def thtp(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | AsyncIterable[bytes] = b"",
    ) -> thtp.Response:
        """An HTTP request to the peer; the body of the response is read from what returns."""
        return await thtp.request(self, method, path, headers, body)

    async def ws(self, path: str = "/") -> ws.WebSocket:
        """Messages both ways, as over a WebSocket."""
        return await ws.connect(self, path)

    async def connect(self, host: str, port: int) -> Stream:
        """A TCP connection made by the peer; its rules must allow it."""
        return await self.mesh.sock.connect(self, host, port)

    async def forward(self, local_host: str, local_port: int, host: str, port: int) -> Forward:
        """Listen here, and have the peer connect to there."""
        return await self.mesh.sock.forward(self, local_host, local_port, host, port)

    async def bind(self, port: int, on_accept: OnAccept) -> Binding:
        """Have the peer listen, and every connection brought here."""
        return await self.mesh.sock.bind(self, port, on_accept)

    async def udp(self, host: str, port: int) -> SockDatagrams:
        """Datagrams to one address, sent by the peer."""
        return await self.mesh.sock.udp(self, host, port)

    async def udp_bind(self, port: int = 0) -> SockDatagrams:
        """A UDP socket at the peer."""
        return await self.mesh.sock.udp_bind(self, port)
