"""A guest: one connection by hand, from any address of this machine, with or without manners."""

import contextlib
import os
import socket
import time
from types import TracebackType
from typing import NamedTuple, Self

from rookery.errors import RemoteError
from rookery.fleet.sealed_stream import SealedStream
from rookery.identity.identity import Identity
from rookery.wire.fleet import messages
from rookery.wire.fleet.tlv import Tlv
from tests.e2e.fleet.relays import Place
from tests.patience import PATIENCE_S

_SIZE = 1 << 16


class Address(NamedTuple):
    """A listener, and who should be behind it."""

    place: Place
    hashname: str
    key2a: bytes


def connected(place: Place, source: str) -> socket.socket:
    """A TCP connection from that address; all of 127/8 are ours."""
    return socket.create_connection(place, PATIENCE_S, (source, 0))


def is_ended(sock: socket.socket, patience_s: float = PATIENCE_S) -> bool:
    """Whether the other end closes it, whatever it says before."""
    sock.settimeout(patience_s)
    try:
        while sock.recv(_SIZE):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


class Guest:
    """A sealed stream on a socket, for `with`."""

    def __init__(self, address: Address, identity: Identity, source: str) -> None:
        now_ms = time.time_ns() // 1_000_000
        self._stream = SealedStream.dial(
            identity, address.hashname, {0x2A: address.key2a}, now_ms, os.urandom
        )
        self._heard: list[Tlv] = []
        self._socket = connected(address.place, source)
        self.sent = b""
        self._flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def say(self, message: messages.Message) -> None:
        self._stream.send(messages.encode(message))
        self._flush()

    def hear(self) -> messages.Message | None:
        """What comes next; None when the other end has closed."""
        while not self._heard:
            try:
                data = self._socket.recv(_SIZE)
                if not data:
                    return None
                self._heard += self._stream.feed(data)
            except (ConnectionError, RemoteError):
                return None
            with contextlib.suppress(ConnectionError):
                self._flush()
        return messages.decode(self._heard.pop(0))

    def asked(self, message: messages.Message) -> messages.Message | None:
        """The answer to the first and only thing it says."""
        self.say(message)
        return self.hear()

    def _flush(self) -> None:
        data = self._stream.take()
        self.sent += data
        self._socket.sendall(data)
