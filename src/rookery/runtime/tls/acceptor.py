"""Where TLS connections come in: counted before they may cost a handshake.

    accept ─▶ is there room? ─▶ handshake, in time ─▶ the protocol that was meant

A server made with `ssl=` would tell its owner of a connection only after the handshake.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from typing import NamedTuple

_PAUSE_S = 0.1  # where the system has no more file descriptors

_log = logging.getLogger(__name__)


class ListenerTls(NamedTuple):
    """How a listener speaks TLS."""

    context: ssl.SSLContext
    handshake_s: float


class AcceptCallbacks(NamedTuple):
    """Who may come in, and what becomes of it."""

    admit: Callable[[str], bool]  # by IP address
    accept: Callable[[], asyncio.Protocol]  # for one that was admitted
    failed: Callable[[asyncio.Protocol, str], None]  # that one, whose handshake came to nothing


class TlsAcceptor:
    """`run` accepts until it is cancelled."""

    def __init__(self, sock: socket.socket, secured: ListenerTls, book: AcceptCallbacks) -> None:
        self._sock = sock
        self._secured = secured
        self._book = book
        self._loop = asyncio.get_running_loop()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as handshakes:
            while True:
                try:
                    connection, address = await self._loop.sock_accept(self._sock)
                except OSError as error:
                    _log.warning("no connection could be accepted: %s", error.strerror)
                    await asyncio.sleep(_PAUSE_S)
                    continue
                if self._book.admit(address[0]):
                    handshakes.create_task(self._shake_hands(connection, address[0]))
                else:
                    connection.close()

    async def _shake_hands(self, connection: socket.socket, ip: str) -> None:
        context, handshake_s = self._secured
        protocol = self._book.accept()
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=context, ssl_handshake_timeout=handshake_s
            )
        except OSError:  # no TLS, none of ours, or not in time; SSLError is one as well
            self._book.failed(protocol, ip)
        except asyncio.CancelledError:
            self._book.failed(protocol, ip)
            raise
