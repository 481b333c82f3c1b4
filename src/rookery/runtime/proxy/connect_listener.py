"""An HTTP CONNECT listener: for programs that know `https_proxy` and no SOCKS."""

import asyncio
import re
from base64 import b64decode
from binascii import Error as Base64Error
from functools import partial

import h11

from rookery.errors import ChannelError, DecodeError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.credentials import ProxyCredentials
from rookery.mesh.proxy.fault import ProxyFault
from rookery.runtime.proxy.listener import HANDSHAKE_S, ListenerContext, client_listener, say_last
from rookery.runtime.proxy.tcp_stream import TcpStream

_HEAD_SIZE_MAX = 1 << 14
_STEP_SIZE = 4096
_AUTHORITY = re.compile(rb"(?:\[([0-9A-Fa-f:.%]+)\]|([0-9A-Za-z._-]{1,253})):([0-9]{1,5})")
_STATUSES = {
    ProxyFault.POLICY: 403,
    ProxyFault.TIMEOUT: 504,
    ProxyFault.BUSY: 503,
    ProxyFault.INVALID: 400,
}
_BAD_GATEWAY = 502
_CONNECTED = b"HTTP/1.1 200 connected\r\n\r\n"


async def _serve(passage: ListenerContext, stream: TcpStream) -> None:
    http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_SIZE_MAX)
    try:
        async with asyncio.timeout(HANDSHAKE_S):
            request = await _request(stream, http)
    except h11.RemoteProtocolError as error:
        await say_last(stream, _refusal(http, error.error_status_hint))
        raise DecodeError("not HTTP") from error
    if request is None:
        return  # went away
    if not _is_known(request, passage.credentials):
        challenge = ("proxy-authenticate", 'Basic realm="rookery"')
        await say_last(stream, _refusal(http, 407, challenge))
    elif request.method != b"CONNECT":
        await say_last(stream, _refusal(http, 405, ("allow", "CONNECT")))
    elif (to := _authority(request.target)) is None:
        await say_last(stream, _refusal(http, 400))
    else:
        early, _ = http.trailing_data
        await passage.connect(stream, to, _CONNECTED, partial(_fault_refusal, http), early)


connect_listener = partial(client_listener, _serve)  # listens for HTTP clients


def _is_known(request: h11.Request, credentials: ProxyCredentials | None) -> bool:
    if credentials is None:
        return True
    kind, _, value = dict(request.headers).get(b"proxy-authorization", b"").partition(b" ")
    try:
        user, colon, password = b64decode(value.strip(), validate=True).partition(b":")
    except (Base64Error, ValueError):
        return False
    is_match = credentials.match(user, password)
    return kind.lower() == b"basic" and bool(colon) and is_match


async def _request(stream: TcpStream, http: h11.Connection) -> h11.Request | None:
    while (event := http.next_event()) is h11.NEED_DATA:
        try:
            http.receive_data(await stream.read(_STEP_SIZE))
        except ChannelError:
            return None
    return event if isinstance(event, h11.Request) else None


def _fault_refusal(http: h11.Connection, fault: ProxyFault) -> bytes:
    return _refusal(http, _STATUSES.get(fault, _BAD_GATEWAY))


def _refusal(http: h11.Connection, status: int, *headers: tuple[str, str]) -> bytes:
    if http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return b""
    head = [("content-length", "0"), ("connection", "close"), *headers]
    return http.send(h11.Response(status_code=status, headers=head)) or b""


def _authority(target: bytes) -> SockAddress | None:
    found = _AUTHORITY.fullmatch(target)
    if found is None or not 0 < int(found[3]) < 0x10000:
        return None
    return SockAddress((found[1] or found[2]).decode("ascii"), int(found[3]))
