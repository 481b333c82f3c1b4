"""Somebody in the middle: between an agent and its hub, or before a server's door.

Passes on what comes and remembers it; when told to, it speaks in place of the one behind it.
"""

import contextlib
import select
import socket
import threading
from collections import deque
from types import TracebackType
from typing import Self

from rookery.errors import DecodeError
from rookery.wire.fleet import tlv
from rookery.wire.fleet.tags import ACK

Place = tuple[str, int]

_HOST = "127.0.0.1"
_SIZE = 1 << 16
_POLL_S = 0.1


def _readable(*sockets: socket.socket) -> list[socket.socket]:
    """`select.select` has no room for the sockets of an attack."""
    poll = select.poll()
    for each in sockets:
        poll.register(each, select.POLLIN)
    found = {descriptor for descriptor, _ in poll.poll(_POLL_S * 1000)}
    return [each for each in sockets if each.fileno() in found]


class _Relay:
    """A thread that ends with its block."""

    def __init__(self) -> None:
        self._is_over = False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over = True
        self._thread.join()
        self._close()

    def _work(self) -> None:
        while not self._is_over:
            self._turn()

    def _turn(self) -> None:
        raise NotImplementedError

    def _close(self) -> None:
        raise NotImplementedError


class DatagramRelay(_Relay):
    """For one sender; `is_cut`: what it says is heard here and nowhere else."""

    def __init__(self, hub: Place) -> None:
        super().__init__()
        self._front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._front.bind((_HOST, 0))
        self._back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._back.connect(hub)
        self._sender: Place | None = None
        self.place: Place = self._front.getsockname()
        self.heard: deque[bytes] = deque(maxlen=1000)  # of the sender
        self.told: deque[bytes] = deque(maxlen=1000)  # by the hub
        self.heard_count = 0
        self.acknowledgements = 0
        self.is_cut = False

    def answer(self, datagram: bytes) -> None:
        """Say this to the sender, in the hub's place."""
        assert self._sender is not None
        self._front.sendto(datagram, self._sender)

    def repeat(self, datagram: bytes) -> None:
        """Say this to the hub, from where the sender's come from."""
        self._back.send(datagram)

    def _turn(self) -> None:
        ready = _readable(self._front, self._back)
        with contextlib.suppress(ConnectionError):  # a hub that is away
            if self._front in ready:
                datagram, self._sender = self._front.recvfrom(_SIZE)
                self.heard.append(datagram)
                self.heard_count += 1
                if not self.is_cut:
                    self._back.send(datagram)
            if self._back in ready:
                datagram = self._back.recv(_SIZE)
                self.told.append(datagram)
                if self._sender is not None and not self.is_cut:
                    self.acknowledgements += _is_acknowledged(datagram)
                    self._front.sendto(datagram, self._sender)

    def _close(self) -> None:
        self._front.close()
        self._back.close()


def _is_acknowledged(datagram: bytes) -> bool:
    try:
        return any(each.tag == ACK for each in tlv.parse_all(datagram))
    except DecodeError:
        return False


class StreamRelay(_Relay):
    """Before a listener; `lie`: what the second and later connections from now on are told."""

    def __init__(self) -> None:
        super().__init__()
        self._listener = socket.create_server((_HOST, 0))
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._answered: dict[socket.socket, bytearray] = {}  # by who dialled
        self._lied_to: set[socket.socket] = set()
        self._count = 0
        self._lie: bytes | None = None
        self.place: Place = self._listener.getsockname()
        self.target: Place | None = None
        self.lies = 0

    @property
    def answers(self) -> list[bytes]:
        """What the listener has said so far, a text for each connection."""
        return [bytes(each) for each in self._answered.values()]

    def lie(self, lie: bytes | None) -> None:
        self._count = 0
        self._lie = lie

    def _turn(self) -> None:
        for each in _readable(self._listener, *self._pairs):
            if each is self._listener:
                self._accept()
            elif each in self._pairs:
                self._pass_on(each)

    def _accept(self) -> None:
        dialler, _ = self._listener.accept()
        self._count += 1
        if self._lie is not None and self._count > 1:
            self.lies += 1
            self._lied_to.add(dialler)
            threading.Thread(target=_tell, args=(dialler, self._lie), daemon=True).start()
            return
        assert self.target is not None
        door = socket.create_connection(self.target)
        self._pairs |= {dialler: door, door: dialler}
        self._answered[dialler] = bytearray()

    def _pass_on(self, one: socket.socket) -> None:
        other = self._pairs[one]
        data = b""
        with contextlib.suppress(OSError):
            data = one.recv(_SIZE)
        if other in self._answered and len(self._answered[other]) < _SIZE:
            self._answered[other] += data
        with contextlib.suppress(OSError):
            if data:
                other.sendall(data)
                return
        for each in (one, other):
            del self._pairs[each]
            each.close()

    def _close(self) -> None:
        for each in (self._listener, *self._pairs, *self._lied_to):
            each.close()


def _tell(dialler: socket.socket, lie: bytes) -> None:
    """A lie may be long, and the one who hears it may leave before its end."""
    with contextlib.suppress(OSError):
        dialler.sendall(lie)
        while dialler.recv(_SIZE):
            pass
    dialler.close()
