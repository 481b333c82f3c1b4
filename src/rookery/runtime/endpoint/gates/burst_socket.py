"""A UDP socket that reads and writes in bursts.

One wake-up takes a whole batch of datagrams, so a burst costs one turn of the loop and answers
leave together. What is sent leaves at the end of the turn, many datagrams per system call where the
system can do that (rookery.runtime.endpoint.gates.segmentation).
"""

import asyncio
import contextlib
import socket
from collections import deque
from typing import Final, Protocol

from rookery.runtime.endpoint.gates.segmentation import (
    ANCILLARY_SPACE,
    cut_every,
    enable,
    run_length,
    segment_size,
)
from rookery.runtime.net.address import SocketAddress

BATCH_MAX: Final = 64
QUEUE_MAX: Final = 256  # datagrams kept while the socket takes no more
DATAGRAM_SIZE_MAX: Final = 0xFFFF - 8 - 20

_BUFFER_SIZE: Final = 4 << 20
_READ_SIZE: Final = 0xFFFF
# A datagram that comes alone is answered before anybody looks for another one, which takes a call
# into the system and an exception. Every so many wake-ups look, to see whether they come in crowds.
_LOOK_EVERY: Final = 8


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
        self._read = sock.recvmsg_into
        self._send_one = sock.sendto
        self._user = user
        self._loop = asyncio.get_running_loop()
        self._queue: deque[tuple[SocketAddress, list[bytes]]] = deque()  # what to one in a row
        self._queued = 0  # datagrams
        self._last: list[bytes] = []  # those at the end of the queue
        self._last_target: SocketAddress | None = None
        self._buffer = memoryview(bytearray(_READ_SIZE))
        self._buffers = [self._buffer]
        self._sends_runs = enable(sock)
        self._answered_max = answered_max
        self._flush_at = BATCH_MAX
        self._flush_due = False
        self._wake_ups = 0
        self._is_crowded = False  # there was more than one read to a wake-up
        self._is_blocked = False  # the socket takes no more for now
        self._is_closed = False
        self.is_reading = False  # who sent what is read now may wait for an answer
        self.is_behind = False  # there may be more to read, and it will be soon
        self._loop.add_reader(sock, self._readable)

    def send(self, datagram: bytes, target: SocketAddress) -> bool:
        """Send before this turn of the loop ends; False when there is no room."""
        return self.send_all([datagram], target) == 1

    def send_all(self, datagrams: list[bytes], target: SocketAddress) -> int:
        """Send these before this turn of the loop ends; for how many of them there is room."""
        taken = 0
        while taken < len(datagrams) and self._queued < QUEUE_MAX and not self._is_closed:
            portion = datagrams[taken : taken + min(BATCH_MAX, QUEUE_MAX - self._queued)]
            taken += len(portion)
            self._queued += len(portion)
            if target == self._last_target:
                self._last += portion
            else:
                self._last, self._last_target = portion, target
                self._queue.append((target, portion))
            if self._queued >= self._flush_at:
                if not self._is_blocked:
                    self._flush()
            elif not self._flush_due:
                self._flush_due = True
                self._loop.call_soon(self._flush)
        return taken

    def send_now(self, datagrams: list[bytes], target: SocketAddress) -> int:
        """Send these at once; for how many of them there is room if the socket takes no more."""
        if self._queue or self._is_closed:
            return self.send_all(datagrams, target)
        sent, count = 0, len(datagrams)
        try:
            while sent < count:
                sent += self._send_some(datagrams[sent:] if sent else datagrams, target)
        except (BlockingIOError, InterruptedError):
            sent += self.send_all(datagrams[sent:], target)
        return sent

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
        self._queued, self._last_target = 0, None
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()

    def _readable(self) -> None:
        read, buffer = self._read, self._buffers
        count = reads = 0
        self._wake_ups += 1
        looks = self._is_crowded or self._wake_ups % _LOOK_EVERY == 0
        self.is_reading = True
        self._flush_at, self._flush_due = self._answered_max, True  # at the end
        try:
            # The loop calls again while there is more: often there is not, and to ask costs a call.
            while count < self._answered_max and not self._is_closed:
                try:
                    size, ancillary, _, address = read(buffer, ANCILLARY_SPACE)
                except (BlockingIOError, InterruptedError):
                    break
                except OSError:  # an earlier datagram could not be delivered, says ICMP
                    count += 1
                    continue
                datagrams = self._cut(size, segment_size(ancillary, size) if ancillary else size)
                reads += 1
                count += len(datagrams)
                self._pass_on(datagrams, address)
                if not looks:
                    break
        finally:
            if looks:
                self._is_crowded = reads > 1
            self._flush_at = BATCH_MAX
            try:
                self._answer(is_behind=count >= self._answered_max)
            finally:
                self.is_reading = False

    def _pass_on(self, datagrams: list[bytes], address: SocketAddress) -> None:
        """Portion by portion, so that the sender has answers to work on before the last one."""
        portion_max = self._answered_max
        if len(datagrams) <= portion_max:
            self._user.datagrams_received(datagrams, address)
            return
        for start in range(0, len(datagrams), portion_max):
            if start:
                self._answer(is_behind=True)
            if self._is_closed:
                return
            self._user.datagrams_received(datagrams[start : start + portion_max], address)

    def _answer(self, *, is_behind: bool) -> None:
        self.is_behind = is_behind
        self._user.drained()
        if self._queue:
            self._flush()
        self._flush_due = False

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
                target, datagrams = self._queue[0]
                count = self._send_some(datagrams, target)
                self._queued -= count
                del datagrams[:count]
                if not datagrams:
                    self._queue.popleft()
                    if not self._queue:
                        self._last_target = None
        except (BlockingIOError, InterruptedError):
            if not self._is_blocked:
                self._is_blocked = True
                self._loop.add_writer(self._socket, self._flush)
            return
        if self._is_blocked:
            self._is_blocked = False
            self._loop.remove_writer(self._socket)

    def _send_some(self, datagrams: list[bytes], target: SocketAddress) -> int:
        """Hand as many as one call takes to the socket; how many are dealt with."""
        if len(datagrams) > 1 and self._sends_runs:
            count = run_length(datagrams)
            if count > 1 and self._send_run(datagrams[:count], target):
                return count
        try:
            self._send_one(datagrams[0], target)
        except (BlockingIOError, InterruptedError):
            raise
        except OSError:
            self._user.datagram_lost()
        else:
            self._user.datagrams_sent(1, len(datagrams[0]))
        return 1

    def _send_run(self, run: list[bytes], target: SocketAddress) -> bool:
        try:
            size = self._socket.sendmsg(run, cut_every(len(run[0])), 0, target)
        except (BlockingIOError, InterruptedError):
            raise
        except OSError:  # the device cannot, or its packets are smaller
            return False
        self._user.datagrams_sent(len(run), size)
        return True
