"""Tunnels between nodes as anybody runs them, against ssh, Reticulum and the bare socket.

What is measured passes a listener of one node, its link and the exit of another, each in a process
of its own; with ssh it passes as many. Two cores are shared by these and by both ends.
"""

import itertools
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.connection import Connection
from statistics import quantiles

from bench import passage, reticulum
from bench.figure import Effort, Figure, Goal, Missing, Row, middle
from bench.passage import Passage
from bench.peers import MissingPeerError
from bench.process import answer, child
from bench.raw import LOOPBACK
from bench.round_trip import BODY_SIZE

_WRITE_SIZE = 1 << 16
_READ_SIZE = 1 << 18
_MEGABYTE = 1e6
_TRIPS = 500  # of one turn, for each second a rate would be measured
_WARM_UP = 50
_HOPS = 3
_SSH = "ssh -L, aes256-gcm"


class Course:
    """One way from client to target, and what was seen of it turn by turn."""

    def __init__(self, port: int, passage: Passage | None = None) -> None:
        self.rates: list[float] = []  # bytes per second
        self.cpu_s: list[float] = []  # of what is in between, for each gigabyte
        self.times: list[float] = []
        self._port = port
        self._passage = passage

    def transfer(self, seconds: float) -> None:
        """Write for so long, then wait until the target has it all."""
        began_cpu_s = self._cpu_s()
        data, size = bytes(_WRITE_SIZE), 0
        with self._connected(b"s") as sock:
            began = time.perf_counter()
            while time.perf_counter() - began < seconds:
                sock.sendall(data)
                size += len(data)
            sock.shutdown(socket.SHUT_WR)
            assert int(sock.makefile("rb").read()) == size
            self.rates.append(size / (time.perf_counter() - began))
        self.cpu_s.append((self._cpu_s() - began_cpu_s) / (size / 1e9))

    def round_trips(self, count: int) -> None:
        body = bytes(BODY_SIZE)
        with self._connected(b"e") as sock:
            for number in range(_WARM_UP + count):
                began = time.perf_counter()
                sock.send(body)
                assert sock.recv(_READ_SIZE)
                if number >= _WARM_UP:
                    self.times.append(time.perf_counter() - began)

    @property
    def rate(self) -> float:
        return middle(self.rates) / _MEGABYTE

    def percentile_us(self, percent: int) -> float:
        return quantiles(self.times, n=100)[percent - 1] * 1e6

    def _cpu_s(self) -> float:
        return 0.0 if self._passage is None else self._passage.cpu_s()

    def _connected(self, wish: bytes) -> socket.socket:
        sock = socket.create_connection((LOOPBACK, self._port), 60)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(wish)
        return sock


def measure(effort: Effort) -> list[Row]:
    with child(target, None) as pipe, ExitStack() as stack:
        port = answer(pipe, int)
        bare = Course(port)
        near = stack.enter_context(passage.mesh(port))
        far = stack.enter_context(passage.mesh(port, _HOPS - 1))
        ssh = stack.enter_context(passage.ssh(port))
        one, three = Course(near.port, near), Course(far.port, far)
        peer = None if ssh is None else Course(ssh.port, ssh)
        courses = [course for course in (bare, one, three, peer) if course is not None]
        for _, course in itertools.product(range(effort.runs), courses):
            course.transfer(effort.seconds)
            course.round_trips(max(int(_TRIPS * effort.seconds), 20))
    return [
        *_throughput(bare, one, three, peer),
        beside_reticulum(one, effort),
        *_round_trips(bare, one, three, peer),
    ]


def _throughput(bare: Course, one: Course, three: Course, peer: Course | None) -> list[Row]:
    def figure(
        what: str, course: Course, against: str, limit: Course, goal: Goal | None = None
    ) -> Figure:
        return Figure(
            what=f"through {what}",
            value=course.rate,
            unit="MB/s",
            limit=limit.rate,
            against=against,
            goal=goal,
            remark=f"{middle(course.cpu_s):.1f} CPU-s per GB",
        )

    goal = Goal(ratio_min=1.0)
    beside_ssh: list[Row] = [
        Missing(what="through 1 hop", against=_SSH, why="no ssh, sshd or ssh-keygen", goal=goal)
    ]
    if peer is not None:
        beside_ssh = [
            figure("1 hop", one, _SSH, peer, goal),
            figure(_SSH, peer, "bare TCP", bare),
        ]
    return [
        *beside_ssh,
        figure("1 hop", one, "bare TCP", bare),
        figure("3 hops", three, "1 hop", one, Goal(ratio_min=0.4)),
    ]


def beside_reticulum(one: Course, effort: Effort) -> Row:
    """What one hop carried, beside a resource of Reticulum."""
    what, goal = "bulk, 1 hop", Goal(ratio_min=10.0)
    try:
        name, rate = reticulum.measured(effort)
    except MissingPeerError as error:
        return Missing(what=what, against="Reticulum", why=str(error), goal=goal)
    return Figure(
        what=what,
        value=one.rate,
        unit="MB/s",
        limit=rate / _MEGABYTE,
        against=f"a resource of {name} over local TCP",
        goal=goal,
    )


def _round_trips(bare: Course, one: Course, three: Course, peer: Course | None) -> list[Figure]:
    courses = {"1 hop": one, "3 hops": three}
    if peer is not None:
        courses["ssh -L"] = peer
    return [
        Figure(
            what=f"round trip of {BODY_SIZE} B through {what}, p{percent}",
            value=course.percentile_us(percent),
            unit="µs",
            limit=bare.percentile_us(percent),
            against="bare TCP",
            goal=Goal(ratio_max=6.0) if (what, percent) == ("1 hop", 50) else None,
        )
        for percent in (50, 99)
        for what, course in courses.items()
    ]


def target(pipe: Connection, _: None) -> None:
    """What is at the end of all of them: a sink that counts, and an echo."""
    with socket.create_server((LOOPBACK, 0)) as server:
        pipe.send(server.getsockname()[1])
        while True:
            sock, _address = server.accept()
            threading.Thread(target=_serve, args=(sock,), daemon=True).start()


def _serve(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wishes: dict[bytes, Callable[[socket.socket], None]] = {b"s": _swallow, b"e": _echo}
    with sock:
        wish = wishes.get(sock.recv(1))  # none, when somebody only looked whether we are there
        if wish is not None:
            wish(sock)


def _swallow(sock: socket.socket) -> None:
    buffer, size = bytearray(_READ_SIZE), 0
    while count := sock.recv_into(buffer):
        size += count
    sock.sendall(str(size).encode())


def _echo(sock: socket.socket) -> None:
    while data := sock.recv(_READ_SIZE):
        sock.sendall(data)
