"""SOCKS5 as a server speaks it (RFC 1928, RFC 1929): bytes in, requests and replies out.

client   | 5 | count | methods |
server   | 5 | method |
client   | 1 | size | user | size | password |           only if asked for
server   | 1 | 0 or 1 |
client   | 5 | command | 0 | address kind | address | port |
server   | 5 | reply | 0 | address kind | address | port |

datagram | 0 | 0 | fragment | address kind | address | port | data |
"""

from enum import IntEnum
from ipaddress import ip_address

import msgspec

from rookery.errors import AuthenticationError, DecodeError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.credentials import ProxyCredentials
from rookery.mesh.proxy.fault import ProxyFault

STEP_SIZE_MAX = 3 + 2 * 255  # user and password; so less than this is held between two calls
NOWHERE = SockAddress("0.0.0.0", 0)  # noqa: S104  "no address", nothing is bound

_VERSION = 5
_PASSWORD_VERSION = 1
_NO_METHOD = b"\x05\xff"
_IPV4, _NAME, _IPV6 = 1, 3, 4
_IP_SIZES = {_IPV4: 4, _IPV6: 16}


class SocksCommand(IntEnum):
    CONNECT = 1
    BIND = 2
    UDP_ASSOCIATE = 3


class SocksReply(IntEnum):
    SUCCEEDED = 0
    FAILED = 1
    FORBIDDEN = 2
    NETWORK_UNREACHABLE = 3
    HOST_UNREACHABLE = 4
    REFUSED = 5
    TTL_EXPIRED = 6
    NO_SUCH_COMMAND = 7
    NO_SUCH_ADDRESS = 8

    @classmethod
    def of(cls, fault: ProxyFault) -> "SocksReply":
        return _REPLIES.get(fault, cls.FAILED)


_REPLIES = {
    ProxyFault.REFUSED: SocksReply.REFUSED,
    ProxyFault.UNREACHABLE: SocksReply.NETWORK_UNREACHABLE,
    ProxyFault.DNS: SocksReply.HOST_UNREACHABLE,
    ProxyFault.POLICY: SocksReply.FORBIDDEN,
    ProxyFault.TIMEOUT: SocksReply.TTL_EXPIRED,
    ProxyFault.GONE: SocksReply.HOST_UNREACHABLE,
}


class SocksRequest(msgspec.Struct, frozen=True):
    command: SocksCommand
    address: SockAddress


class SocksNegotiation:
    """Everything up to the request. Always write what `take` returns."""

    def __init__(self, credentials: ProxyCredentials | None = None) -> None:
        self._credentials = credentials
        self._held = bytearray()
        self._out = bytearray()
        self._step = self._greeting
        self.request: SocksRequest | None = None

    def take(self) -> bytes:
        """What is to be written now."""
        data, self._out = bytes(self._out), bytearray()
        return data

    @property
    def early(self) -> bytes:
        """What the client sent behind its request without waiting for the reply."""
        return bytes(self._held)

    def feed(self, data: bytes) -> None:
        """DecodeError when this is no SOCKS5, AuthenticationError when it is the wrong person."""
        self._held += data
        while self.request is None and self._step():
            pass

    def _greeting(self) -> bool:
        if self._held and self._held[0] != _VERSION:
            raise DecodeError("not SOCKS5")
        if len(self._held) < 2 or len(self._held) < 2 + self._held[1]:
            return False
        methods = self._cut(2 + self._held[1])[2:]
        method = 0 if self._credentials is None else 2
        if method not in methods:
            self._out += _NO_METHOD
            raise AuthenticationError("SOCKS client offers no method that we take")
        self._out += bytes([_VERSION, method])
        self._step = self._request if self._credentials is None else self._password
        return True

    def _password(self) -> bool:
        held = self._held
        if held and held[0] != _PASSWORD_VERSION:
            raise DecodeError("not a SOCKS5 password")
        if len(held) < 2 or len(held) < 3 + held[1] or len(held) < 3 + held[1] + held[2 + held[1]]:
            return False
        user_end = 2 + held[1]
        message = self._cut(user_end + 1 + held[user_end])
        assert self._credentials is not None
        if not self._credentials.match(message[2:user_end], message[user_end + 1 :]):
            self._out += bytes([_PASSWORD_VERSION, 1])
            raise AuthenticationError("SOCKS client gives a wrong user or password")
        self._out += bytes([_PASSWORD_VERSION, 0])
        self._step = self._request
        return True

    def _request(self) -> bool:
        held = self._held
        if held and held[0] != _VERSION:
            raise DecodeError("not a SOCKS5 request")
        if len(held) < 5:
            return False
        size = _address_size(held[3], held[4])
        if size is None:
            raise self._error(SocksReply.NO_SUCH_ADDRESS)
        if len(held) < 3 + size:
            return False
        message = self._cut(3 + size)
        if not SocksCommand.CONNECT <= message[1] <= SocksCommand.UDP_ASSOCIATE:
            raise self._error(SocksReply.NO_SUCH_COMMAND)
        try:
            self.request = SocksRequest(SocksCommand(message[1]), _address(message[3:]))
        except DecodeError:
            raise self._error(SocksReply.NO_SUCH_ADDRESS) from None
        return True

    def _error(self, code: SocksReply) -> DecodeError:
        self._out += reply(code)
        return DecodeError(f"SOCKS request: {code.name.lower().replace('_', ' ')}")

    def _cut(self, size: int) -> bytes:
        data = bytes(self._held[:size])
        del self._held[:size]
        return data


def reply(code: SocksReply, bound: SockAddress = NOWHERE) -> bytes:
    """The answer to a request, with an address where one is told."""
    return bytes([_VERSION, code, 0]) + _address_bytes(bound)


def parse_datagram(data: bytes) -> tuple[SockAddress, bytes]:
    """The target and content of a datagram for us to pass on; DecodeError for anything else."""
    if len(data) < 5 or data[:2] != b"\0\0":
        raise DecodeError("not a SOCKS5 datagram")
    if data[2]:
        raise DecodeError("SOCKS5 fragments are not put together")
    size = _address_size(data[3], data[4])
    if size is None or len(data) < 3 + size:
        raise DecodeError("SOCKS5 datagram names no address")
    return _address(data[3 : 3 + size]), data[3 + size :]


def datagram(source: SockAddress, data: bytes) -> bytes:
    """A datagram for the client, and where it came from."""
    return b"\0\0\0" + _address_bytes(source) + data


def _address_size(kind: int, first: int) -> int | None:
    """Of kind, address and port; `first` is the byte behind the kind."""
    size = 1 + first if kind == _NAME else _IP_SIZES.get(kind)
    return None if size is None else 1 + size + 2


def _address(data: bytes) -> SockAddress:
    port = int.from_bytes(data[-2:], "big")
    if data[0] != _NAME:
        return SockAddress(str(ip_address(data[1:-2])), port)
    try:
        return SockAddress(data[2:-2].decode("ascii"), port)
    except UnicodeDecodeError as error:
        raise DecodeError("SOCKS host name is not ASCII") from error


def _address_bytes(address: SockAddress) -> bytes:
    port = address.port.to_bytes(2, "big")
    try:
        packed = ip_address(address.host.partition("%")[0]).packed
    except ValueError:
        name = address.host.encode("ascii", "replace")[:255]
        return bytes([_NAME, len(name)]) + name + port
    return bytes([_IPV4 if len(packed) == 4 else _IPV6]) + packed + port
