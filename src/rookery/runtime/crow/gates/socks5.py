"""SOCKS5 (RFC 1928): have a proxy such as Tor make a connection to a named host.

    we      | 5 | 1 | 0 |
    proxy   | 5 | 0 |
    we      | 5 | 1 | 0 | 3 | count | host | port |
    proxy   | 5 | reply | 0 | kind | address | port |

The proxy looks the name up, so nobody near us learns it.
"""

import asyncio
import re
import socket

from rookery.errors import UnreachableError

HOST_SIZE_MAX = 0xFF

_NAME = re.compile(rb"[A-Za-z0-9._-]{1,255}")
_ADDRESS_SIZES = {1: 4, 4: 16}
_NAME_KIND = 3
_REPLIES = {
    2: "its rules forbid it",
    3: "the network is unreachable",
    4: "the host is unreachable",
    5: "the connection was refused",
    6: "it took too long",
}


def is_host(name: bytes) -> bool:
    """Whether this can be the name of a host."""
    return _NAME.fullmatch(name) is not None


async def connect(proxy: tuple[str, int], host: bytes, port: int) -> socket.socket:
    """A connected, non-blocking socket; UnreachableError or OSError when there is none."""
    assert is_host(host)
    loop = asyncio.get_running_loop()
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await loop.sock_connect(sock, proxy)
        await loop.sock_sendall(sock, b"\x05\x01\x00")
        if await _exactly(sock, 2) != b"\x05\x00":
            raise UnreachableError("the proxy speaks no SOCKS5, or wants to know who we are")
        target = bytes([len(host)]) + host + port.to_bytes(2, "big")
        await loop.sock_sendall(sock, b"\x05\x01\x00\x03" + target)
        await _answered(sock)
    except BaseException:
        sock.close()
        raise
    return sock


async def _answered(sock: socket.socket) -> None:
    version, reply, _, kind = await _exactly(sock, 4)
    if version != 5 or reply:
        raise UnreachableError(f"the proxy cannot reach it: {_REPLIES.get(reply, 'it failed')}")
    size = (await _exactly(sock, 1))[0] if kind == _NAME_KIND else _ADDRESS_SIZES.get(kind)
    if size is None:
        raise UnreachableError("the proxy answers in a way that SOCKS5 does not know")
    await _exactly(sock, size + 2)  # where the proxy is bound: nothing to us


async def _exactly(sock: socket.socket, size: int) -> bytes:
    loop = asyncio.get_running_loop()
    data = b""
    while len(data) < size:
        more = await loop.sock_recv(sock, size - len(data))
        if not more:
            raise UnreachableError("the proxy hung up")
        data += more
    return data
