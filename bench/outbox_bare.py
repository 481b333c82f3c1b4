"""The limit of an outbox: a thread, a plain queue, and a socket loop. Nothing is promised.

    thread ─put─▶ SimpleQueue ─get─▶ sendall ──TCP──▶ recv ─▶ count

Each request is framed by its length and sent by itself, as such programs are usually written.
"""

import socket
import threading
import time
from multiprocessing.connection import Connection
from queue import SimpleQueue

from bench.process import answer, child
from bench.raw import LOOPBACK

_READ_SIZE = 1 << 16
_BURST = 100
_AHEAD = 10_000


def requests_per_s(size: int, seconds: float) -> float:
    """Requests that have arrived, by the time the last has."""
    with child(_count, None) as pipe:
        queue: SimpleQueue[bytes | None] = SimpleQueue()
        with socket.create_connection((LOOPBACK, answer(pipe, int))) as sock:
            thread = threading.Thread(target=_put, args=(queue, size, seconds))
            began = time.perf_counter()
            thread.start()
            while (payload := queue.get()) is not None:
                sock.sendall(len(payload).to_bytes(4, "big") + payload)
            sock.shutdown(socket.SHUT_WR)
            count = answer(pipe, int)
            took = time.perf_counter() - began
            thread.join()
        return count / took


def _put(queue: SimpleQueue[bytes | None], size: int, seconds: float) -> None:
    payload, until = bytes(size), time.perf_counter() + seconds
    while time.perf_counter() < until:
        for _ in range(_BURST):
            queue.put(payload)
        while queue.qsize() > _AHEAD:
            time.sleep(0.0005)
    queue.put(None)


def _count(pipe: Connection, _: None) -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        pipe.send(server.getsockname()[1])
        sock, _address = server.accept()
        with sock:
            count, held = 0, b""
            while data := sock.recv(_READ_SIZE):
                held += data
                at = 0
                while len(held) - at >= 4:
                    stop = at + 4 + int.from_bytes(held[at : at + 4], "big")
                    if stop > len(held):
                        break
                    at = stop
                    count += 1
                held = held[at:]
        pipe.send(count)
