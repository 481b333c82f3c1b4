"""Unix sockets: connections between programs of one machine, also without any network.

Who may connect is what the file's permissions say: its owner alone, unless they are changed.
"""

import asyncio
import errno
import os
import socket
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path as FilePath
from typing import Final, cast

from rookery.errors import DecodeError, UsageError
from rookery.runtime.endpoint.gates.connection import InboundConnection, OutboundConnection
from rookery.runtime.endpoint.gates.framing import dialled
from rookery.runtime.endpoint.gates.gate import ConnectionLimits, GateReceiver
from rookery.runtime.endpoint.gates.stream_gate import (
    RESOURCE,
    Dial,
    LinkJson,
    StreamGate,
    undiscoverable,
)
from rookery.runtime.net.address import BACKLOG
from rookery.wire.link.path import Path, UnixPath, unix_path
from rookery.wire.link.transport import UNIX
from rookery.wire.octets import Octets

_KINDS: Final = frozenset({UNIX})


class UnixGate(StreamGate):
    """Accepts after `listen`, on any number of files."""

    def __init__(
        self,
        receiver: GateReceiver,
        *,
        limits: ConnectionLimits | None = None,
        resource: str = RESOURCE,
        link_json: LinkJson = undiscoverable,
    ) -> None:
        super().__init__(receiver, _KINDS, limits, resource, link_json)
        self._listening: dict[UnixPath, int] = {}  # with the number of its file
        self._accepted = 0

    async def listen(self, file: str | FilePath) -> UnixPath:
        """Accept connections here; UsageError if that fails. A file left by a crash is replaced."""
        path, sock, number = await asyncio.to_thread(_bound, file)

        def accept() -> asyncio.Protocol:
            self._accepted += 1
            known = UnixPath(path.file, self._accepted)
            connection = InboundConnection(self, UNIX, self._accepting(), None, known)
            return cast(asyncio.Protocol, connection)

        server = await self._loop.create_unix_server(accept, sock=sock, backlog=BACKLOG)
        self._servers.append(server)
        self._listening[path] = number
        return path

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(self._listening)

    async def close(self) -> None:
        """End everything, and remove the files that are still ours."""
        await super().close()
        await asyncio.to_thread(_removed, self._listening)

    def _dialled(self, path: Path, first_packet: Octets) -> tuple[OutboundConnection, Dial]:
        if not isinstance(path, UnixPath) or path.connection:
            raise DecodeError("nothing that can be dialled")
        file = path.file
        connection = OutboundConnection(self, path, dialled(first_packet, self._spare), None)
        protocol = cast(asyncio.Protocol, connection)
        return connection, lambda: self._loop.create_unix_connection(lambda: protocol, file)


def _bound(file: str | FilePath) -> tuple[UnixPath, socket.socket, int]:
    """A socket at this file, for its owner alone, and the file's number.

    UsageError where another program listens.
    """
    try:
        path = unix_path(os.path.abspath(file))
    except DecodeError as error:
        raise UsageError(str(error)) from error
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            sock.bind(path.file)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not _is_abandoned(path.file):
                raise
            os.unlink(path.file)
            sock.bind(path.file)
        os.chmod(path.file, 0o600)  # nobody is accepted before the server listens
        number = os.stat(path.file).st_ino
    except OSError as error:
        sock.close()
        raise UsageError(f"cannot listen on {path.file}: {error.strerror or error}") from error
    sock.setblocking(False)
    return path, sock, number


def _is_abandoned(file: str) -> bool:
    """True if this is a socket on which nobody listens any more."""
    if not stat.S_ISSOCK(os.stat(file).st_mode):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(file)
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False


def _removed(files: Mapping[UnixPath, int]) -> None:
    """Remove the files that are still those which were made here."""
    for path, number in files.items():
        with suppress(OSError):
            if os.stat(path.file).st_ino == number:
                os.unlink(path.file)
