"""A UDP socket that reads and writes in bursts.

One wake-up takes a whole batch of datagrams, so a burst costs one turn of the loop and answers
leave together. What is sent leaves at the end of the turn, many datagrams per system call where the
system can do that (rookery.runtime.gates.segmentation).
"""

import asyncio
import contextlib
import socket
from collections import deque
from typing import Protocol

from rookery.runtime.gates.address import SocketAddress
from rookery.runtime.gates.segmentation import (
    ANCILLARY_SPACE,
    cut_every,
    enable,
    first_run,
    segment_size,
)

BATCH_MAX = 64
QUEUE_MAX = 256  # datagrams kept while the socket takes no more
DATAGRAM_SIZE_MAX = 0xFFFF - 8 - 20

_BUFFER_SIZE = 4 << 20
_READ_SIZE = 0xFFFF


class BurstUser(Protocol):
    """Whose socket it is."""

    def datagrams_received(self, datagrams: list[bytes], address: SocketAddress) -> None:
        """One or more in a row from one sender."""

    def drained(self) -> None:
        """A batch of reads is over; what is sent now leaves at once."""

    def datagrams_sent(self, count: int, size: int) -> None:
        """So many with so many bytes together."""

    def datagram_lost(self) -> None:
        """The system would not take one: too large, unreachable, not allowed."""


class BurstSocket:
    """Owns a bound, non-blocking socket."""

    def __init__(
        self, sock: socket.socket, user: BurstUser, *, answered_max: int = BATCH_MAX
    ) -> None:
        """So many of what is read are answered together; with few, both ends work at once."""
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            with contextlib.suppress(OSError):  # a smaller buffer works too
                sock.setsockopt(socket.SOL_SOCKET, option, _BUFFER_SIZE)
        self._socket = sock
        self._user = user
        self._loop = asyncio.get_running_loop()
        self._queue: deque[tuple[bytes, SocketAddress]] = deque()
        self._buffer = memoryview(bytearray(_READ_SIZE))
        self._sends_runs = enable(sock)
        self._answered_max = answered_max
        self._flush_at = BATCH_MAX
        self._flush_due = False
        self._is_blocked = False  # the socket takes no more for now
        self._is_closed = False
        self.is_behind = False  # there may be more to read, and it will be soon
        self._loop.add_reader(sock, self._readable)

    def send(self, datagram: bytes, target: SocketAddress) -> bool:
        """Send before this turn of the loop ends; False when there is no room."""
        queue = self._queue
        if self._is_closed or len(queue) >= QUEUE_MAX:
            return False
        queue.append((datagram, target))
        if self._is_blocked:
            return True
        if len(queue) >= self._flush_at:
            self._flush()
        elif not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)
        return True

    def broadcast(self, datagram: bytes, target: SocketAddress) -> None:
        """Send one now, also to a broadcast address, which `send` never does."""
        if self._is_closed:
            self._user.datagram_lost()
            return
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        try:
            self._socket.sendto(datagram, target)
        except OSError:
            self._user.datagram_lost()
        else:
            self._user.datagrams_sent(1, len(datagram))
        finally:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 0)

    def close(self) -> None:
        if self._is_closed:
            return
        self._flush()
        self._is_closed = True
        self._queue.clear()
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()

    def _readable(self) -> None:
        read, buffer = self._socket.recvmsg_into, [self._buffer]
        count = answered = 0
        self._flush_at = self._answered_max
        try:
            while count < BATCH_MAX and not self._is_closed:
                try:
                    size, ancillary, _, address = read(buffer, ANCILLARY_SPACE)
                except (BlockingIOError, InterruptedError):
                    break
                except OSError:  # an earlier datagram could not be delivered, says ICMP
                    count += 1
                    continue
                datagrams = self._cut(size, segment_size(ancillary, size))
                self._user.datagrams_received(datagrams, address)
                count += len(datagrams)
                if count - answered >= self._answered_max:
                    answered = count
                    self._answer(is_behind=True)
        finally:
            self._answer(is_behind=count >= BATCH_MAX)
            self._flush_at = BATCH_MAX

    def _answer(self, *, is_behind: bool) -> None:
        self.is_behind = is_behind
        self._user.drained()
        self._flush()

    def _cut(self, size: int, segment: int) -> list[bytes]:
        """The datagrams that lie in the buffer."""
        data = bytes(self._buffer[:size])
        if size <= segment:
            return [data]
        return [data[start : start + segment] for start in range(0, size, segment)]

    def _flush(self) -> None:
        """Hand what waits to the socket, as much of it as it takes."""
        self._flush_due = False
        if self._is_closed:
            return
        try:
            while self._queue:
                if not self._send_run():
                    self._send_one()
        except (BlockingIOError, InterruptedError):
            if not self._is_blocked:
                self._is_blocked = True
                self._loop.add_writer(self._socket, self._flush)
            return
        if self._is_blocked:
            self._is_blocked = False
            self._loop.remove_writer(self._socket)

    def _send_run(self) -> bool:
        """Send several at once, if the system can; BlockingIOError if it could, but not now."""
        if not self._sends_runs or len(self._queue) == 1:
            return False
        run = first_run(self._queue)
        if len(run) == 1:
            return False
        try:
            self._socket.sendmsg(run, cut_every(len(run[0])), 0, self._queue[0][1])
        except (BlockingIOError, InterruptedError):
            raise
        except OSError:  # the device cannot, or its packets are smaller
            return False
        for _ in run:
            self._queue.popleft()
        self._user.datagrams_sent(len(run), sum(map(len, run)))
        return True

    def _send_one(self) -> None:
        datagram, target = self._queue[0]
        try:
            self._socket.sendto(datagram, target)
        except (BlockingIOError, InterruptedError):
            raise
        except OSError:
            self._user.datagram_lost()
        else:
            self._user.datagrams_sent(1, len(datagram))
        self._queue.popleft()
