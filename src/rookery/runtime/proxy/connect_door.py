"""An HTTP CONNECT door: for programs that know `https_proxy` and no SOCKS."""

import asyncio
import re
from base64 import b64decode
from binascii import Error as Base64Error

import h11

from rookery.errors import ChannelError, DecodeError, LocalError
from rookery.link.channels.sock import Address
from rookery.mesh.proxy.fault import Fault, fault_of
from rookery.mesh.proxy.socks import Credentials
from rookery.runtime.proxy.connector import AUTO, Connector, Proxy
from rookery.runtime.proxy.door import (
    CONNECTIONS_MAX,
    HANDSHAKE_S,
    LOOPBACK,
    Door,
    check_guarded,
    say_last,
)
from rookery.runtime.proxy.socket_stream import SocketStream
from rookery.runtime.proxy.splice import IdleLimits, splice

_HEAD_SIZE_MAX = 1 << 14
_STEP_SIZE = 4096
_AUTHORITY = re.compile(rb"(?:\[([0-9A-Fa-f:.%]+)\]|([0-9A-Za-z._-]{1,253})):([0-9]{1,5})")
_STATUSES = {
    Fault.POLICY: 403,
    Fault.TIMEOUT: 504,
    Fault.BUSY: 503,
    Fault.INVALID: 400,
}
_BAD_GATEWAY = 502


async def connect_door(
    connector: Connector,
    proxy: Proxy = AUTO,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    credentials: Credentials | None = None,
    connections_max: int = CONNECTIONS_MAX,
    idle: IdleLimits | None = None,
) -> Door:
    """Listen for HTTP clients; beyond this machine only with credentials."""
    check_guarded(host, credentials)
    server = _Connect(connector, proxy, credentials, idle or IdleLimits())
    return await Door.bind(server.serve, host, port, connections_max)


class _Connect:
    def __init__(
        self, connector: Connector, proxy: Proxy, credentials: Credentials | None, idle: IdleLimits
    ) -> None:
        self._connector = connector
        self._proxy = proxy
        self._credentials = credentials
        self._idle = idle

    async def serve(self, stream: SocketStream) -> None:
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_SIZE_MAX)
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                request = await _request(stream, http)
        except h11.RemoteProtocolError as error:
            await _refuse(stream, http, error.error_status_hint)
            raise DecodeError("not HTTP") from error
        if request is None:
            return  # went away
        if not self._is_known(request):
            await _refuse(stream, http, 407, [("proxy-authenticate", 'Basic realm="rookery"')])
        elif request.method != b"CONNECT":
            await _refuse(stream, http, 405, [("allow", "CONNECT")])
        elif (to := _authority(request.target)) is None:
            await _refuse(stream, http, 400)
        else:
            await self._connect(stream, http, to)

    async def _connect(self, stream: SocketStream, http: h11.Connection, to: Address) -> None:
        try:
            connection = await self._connector.tcp_connect(to.host, to.port, self._proxy)
        except LocalError as error:
            await _refuse(stream, http, _STATUSES.get(fault_of(error), _BAD_GATEWAY))
            raise
        async with connection:
            answer = http.send(h11.Response(status_code=200, headers=[], reason=b"connected"))
            assert answer is not None
            await stream.write(answer)
            early, _ = http.trailing_data
            if early:
                await connection.write(early)
            await splice(stream, connection, self._idle)

    def _is_known(self, request: h11.Request) -> bool:
        if self._credentials is None:
            return True
        kind, _, value = dict(request.headers).get(b"proxy-authorization", b"").partition(b" ")
        try:
            user, colon, password = b64decode(value.strip(), validate=True).partition(b":")
        except (Base64Error, ValueError):
            return False
        known = self._credentials.match(user, password)
        return kind.lower() == b"basic" and bool(colon) and known


async def _request(stream: SocketStream, http: h11.Connection) -> h11.Request | None:
    while (event := http.next_event()) is h11.NEED_DATA:
        try:
            http.receive_data(await stream.read(_STEP_SIZE))
        except ChannelError:
            return None
    return event if isinstance(event, h11.Request) else None


async def _refuse(
    stream: SocketStream,
    http: h11.Connection,
    status: int,
    headers: list[tuple[str, str]] | None = None,
) -> None:
    head = [("content-length", "0"), ("connection", "close"), *(headers or [])]
    answer = None
    if http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
        answer = http.send(h11.Response(status_code=status, headers=head))
    await say_last(stream, answer or b"")


def _authority(target: bytes) -> Address | None:
    found = _AUTHORITY.fullmatch(target)
    if found is None or not 0 < int(found[3]) < 0x10000:
        return None
    return Address((found[1] or found[2]).decode("ascii"), int(found[3]))
