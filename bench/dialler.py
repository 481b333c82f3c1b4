"""The least that can dial: a link core on a blocking socket, in full view of whoever holds it."""

import os
import socket
import time

from rookery.identity.identity import Identity
from rookery.link.endpoint import Endpoint
from rookery.link.events import Transmit
from rookery.link.link import Link, LinkState
from rookery.wire.link.cloak import cloak, reveal
from rookery.wire.link.path import NetPath
from rookery.wire.link.uri import LinkAddress

_PATIENCE_S = 5.0


class Dialler:
    """Dials at once."""

    def __init__(self, address: LinkAddress, identity: Identity) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(_PATIENCE_S)
        paths = (path for path in address.paths if isinstance(path, NetPath))
        self._path = next(path for path in paths if path.kind == "udp4")
        now = time.monotonic()
        self._core = Endpoint(identity, random=os.urandom, unix_s=time.time(), now=now)
        assert address.hashname is not None
        self._link: Link = self._core.link(address.hashname, address.keys, [self._path], now)
        self._carry_out()

    def wait_until_up(self) -> None:
        while self._link.state is not LinkState.UP:
            self._receive()

    def send_inner(self, inner: bytes) -> None:
        """Seal and send what no honest channel would."""
        assert self._link.exchange is not None
        self._send(self._link.exchange.seal(inner))

    def drain(self) -> None:
        """Take what has come, answer what must be answered, and wait for nothing."""
        self._socket.setblocking(False)
        try:
            while True:
                self._receive()
        except BlockingIOError:
            pass
        finally:
            self._socket.settimeout(_PATIENCE_S)
        self._core.tick(time.monotonic())
        self._carry_out()

    def close(self) -> None:
        self._socket.close()

    def _receive(self) -> None:
        packet = reveal(self._socket.recv(1 << 16))
        self._core.received(self._path, packet, time.monotonic())
        self._carry_out()

    def _carry_out(self) -> None:
        self._core.flush(time.monotonic())
        for event in self._core.take():
            if isinstance(event, Transmit):
                self._send(bytes(event.data))

    def _send(self, data: bytes) -> None:
        self._socket.sendto(cloak(data, os.urandom(8)), self._path.address)
