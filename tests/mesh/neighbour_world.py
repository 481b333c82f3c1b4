"""Two neighbours in virtual time, joined by a stream and by datagrams with loss, delay and blocks.

Alice dialled Bob. Datagrams of hers reach Bob from `seen_port`, as a NAT would have it; a stream
that is blocked holds back what was sent until it is free again, datagrams are gone.
"""

import random
from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from rookery.errors import RemoteError
from rookery.mesh.membership.membership import Member
from rookery.mesh.membership.neighbour import Neighbour
from rookery.wire.link.frame_types import COMPANION, PING, PONG
from rookery.wire.link.path import NetPath, Path
from rookery.wire.mesh.companion import CompanionFrame, CompanionKind
from rookery.wire.mesh.ping import Pong
from rookery.wire.octets import Parts

ALICE_IP, BOB_IP = "192.0.2.1", "192.0.2.2"
PORT = 42424
ALICES_STREAM = NetPath("tcp4", BOB_IP, PORT)
BOBS_STREAM = NetPath("tcp4", ALICE_IP, 50001)
ALICES_UDP = NetPath("udp4", BOB_IP, PORT)

Passes = Callable[[float, int], bool]  # when it is sent, and its size
Drop = Callable[[str, Path, bytes, bytes], bool]  # who sends, where to, head and body


def everything(_: float, __: int) -> bool:
    return True


def nothing(_: float, __: int) -> bool:
    return False


def small(_: float, size: int) -> bool:
    return size <= 600


class View:
    """A path as the link shows it."""

    def __init__(self, path: Path, *, dialled: bool) -> None:
        self.path = path
        self.dialled = dialled
        self.monitored = False
        self.is_usable = True
        self.is_direct = isinstance(path, NetPath)
        self.is_stream = not path.kind.startswith("udp")


class Wire:
    """One direction of one carrier."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.passes: Passes = everything
        self.loss = 0.0


class Site:
    """One end: a link with its paths, and the neighbour on it."""

    def __init__(self, world: "World", name: str, stream: NetPath, *, dialled: bool) -> None:
        self.name = name
        self.views: dict[Path, View] = {stream: View(stream, dialled=dialled)}
        self.stream = stream
        self.channel_packets = 0
        self.is_frozen = False
        self.refused: list[RemoteError] = []
        self.measures: list[tuple[Path, float]] = []
        self.log: list[tuple[float, str, Path]] = []
        self.sent: list[tuple[float, Path, bytes, int]] = []
        self.delivered: list[tuple[float, Path, bytes]] = []
        self._world = world

    # --- the port ---

    @property
    def paths(self) -> Iterable[View]:
        return list(self.views.values())

    def send_frame(self, head: bytes, body: bytes, path: Path | None = None) -> None:
        assert path is not None
        self.sent.append((self._world.now, path, head, len(head) + len(body)))
        if head[:2] == bytes((COMPANION, CompanionKind.OFFER)):
            self._world.attempts.append(CompanionFrame.parse(head, body).attempt)
            self._world.offer_times.append(self._world.now)
        self._world.carry(self, path, head, body)

    def send_parts(self, head: bytes, parts: Parts, path: Path | None = None) -> None:
        self.send_frame(head, b"".join(parts), path)

    def measured(self, path: Path, rtt_s: float) -> None:
        self.measures.append((path, rtt_s))

    def monitor(self, path: Path, now: float) -> None:
        self.log.append((now, "monitor", path))
        view = self.views[path] = View(path, dialled=False)
        view.monitored, view.is_usable = True, False

    def prove(self, path: Path, rtt_s: float) -> None:
        assert rtt_s > 0
        self.log.append((self._world.now, "prove", path))
        self.views[path].is_usable = True

    def hang_up(self, path: Path) -> None:
        self.log.append((self._world.now, "hang up", path))
        self.views[path].is_usable = False

    def distrust(self, path: Path) -> None:
        self.log.append((self._world.now, "distrust", path))
        self.views[path].is_usable = False

    def unmonitor(self, path: Path) -> None:
        self.log.append((self._world.now, "unmonitor", path))
        del self.views[path]

    # --- for the tests ---

    @property
    def udp_usable(self) -> bool:
        return any(view.monitored and view.is_usable for view in self.views.values())

    def to_udp(self) -> list[Path]:
        return [path for _, path, _, _ in self.sent if path.kind.startswith("udp")]


def member(name: str) -> Member:
    return Member(
        node=name.encode().ljust(8, b"\0"),
        hashname=name,
        key=b"",
        signing_key=b"",
        roles=frozenset(),
        name=name,
        certificate=b"",
        not_after_s=2**40,
    )


class World:
    """Alice and Bob."""

    def __init__(
        self, seed: int = 0, *, delay_s: float = 0.02, udp: bool = True, bob_udp: bool = True
    ) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.seen_port = PORT
        self.stream_ip = ALICE_IP
        self.wires = {
            (name, carrier): Wire(delay_s)
            for name in ("alice", "bob")
            for carrier in ("tcp", "udp")
        }
        self.is_connected = True
        self.queue_size = 0
        self.drop: Drop = lambda name, path, head, body: False  # frames lost in a full queue
        self.attempts: list[int] = []  # that were offered, and when
        self.offer_times: list[float] = []
        self.pongs: list[tuple[bytes, bytes]] = []  # that reached Alice
        self.step_us = 0  # how far Bob's clock steps while he holds a ping
        self._events: list[tuple[float, int, Site, Path, bytes, bytes]] = []
        self._count = 0
        self._held: list[tuple[Site, Path, bytes, bytes, Wire]] = []
        self.alice = Site(self, "alice", ALICES_STREAM, dialled=True)
        self.bob = Site(self, "bob", BOBS_STREAM, dialled=False)
        self.a = self.neighbour_of(self.alice, udp=udp)
        self.b = self.neighbour_of(self.bob, udp=bob_udp)

    def neighbour_of(self, site: Site, *, udp: bool = True) -> Neighbour:
        return Neighbour(
            member("bob" if site.name == "alice" else "alice"),
            site,
            now=self.now,
            random=self.random.randbytes,
            is_udp_allowed=udp,
            queue_size=lambda _: self.queue_size,
        )

    def wire(self, name: str, carrier: str) -> Wire:
        return self.wires[name, carrier]

    def block_udp(self, passes: Passes = nothing) -> None:
        self.wire("alice", "udp").passes = self.wire("bob", "udp").passes = passes

    def carry(self, sender: Site, path: Path, head: bytes, body: bytes) -> None:
        carrier = "udp" if path.kind.startswith("udp") else "tcp"
        wire, size = self.wires[sender.name, carrier], len(head) + len(body)
        if self.drop(sender.name, path, head, body):
            return
        if carrier == "udp":
            assert isinstance(path, NetPath)
            target = (BOB_IP, PORT) if sender is self.alice else (ALICE_IP, self.seen_port)
            if path.address != target:
                return
        if carrier == "tcp" and not self.is_connected:
            return
        if not wire.passes(self.now, size):
            if carrier == "tcp":
                self._held.append((sender, path, head, body, wire))
            return
        if self.random.random() < wire.loss:
            return
        self._schedule(sender, carrier, head, body, wire)

    def _schedule(self, sender: Site, carrier: str, head: bytes, body: bytes, wire: Wire) -> None:
        receiver = self.bob if sender is self.alice else self.alice
        seen: Path
        if carrier == "tcp":
            seen = receiver.stream
        else:
            seen = NetPath("udp4", ALICE_IP, self.seen_port) if receiver is self.bob else ALICES_UDP
        self._count += 1
        event = (self.now + wire.delay_s, self._count, receiver, seen, head, body)
        heappush(self._events, event)

    def release(self) -> None:
        """Streams that were blocked go on with what they held back."""
        held, self._held = self._held, []
        for sender, path, head, body, _ in held:
            self.carry(sender, path, head, body)

    def cut_stream(self) -> None:
        """The connection is reset, and both ends hear of it."""
        self.is_connected = False
        for site, neighbour in ((self.alice, self.a), (self.bob, self.b)):
            site.views.pop(site.stream)
            neighbour.path_lost(site.stream, self.now)

    def run(self, until: float) -> None:
        while True:
            due = [
                neighbour.deadline
                for site, neighbour in ((self.alice, self.a), (self.bob, self.b))
                if neighbour.deadline is not None and not site.is_frozen
            ]
            arrival = self._events[0][0] if self._events else float("inf")
            self.now = max(self.now, min(min(due, default=float("inf")), arrival))
            if self.now > until:
                self.now = until
                return
            if arrival <= self.now:
                self._deliver(*heappop(self._events)[2:])
            else:
                for site, neighbour in ((self.alice, self.a), (self.bob, self.b)):
                    deadline = neighbour.deadline
                    if deadline is not None and deadline <= self.now and not site.is_frozen:
                        neighbour.tick(self.now)

    def _deliver(self, site: Site, path: Path, head: bytes, body: bytes) -> None:
        if site.is_frozen:
            return
        neighbour = self.a if site is self.alice else self.b
        if head[0] not in (PING, PONG, COMPANION):
            site.delivered.append((self.now, path, head + body))
            neighbour.carried(self.now, size_in=len(head) + len(body), path=path)
            return
        if head[0] == PONG and site is self.alice:
            if self.step_us:
                head, body = stepped(head, body, self.step_us)
            self.pongs.append((head, body))
        try:
            neighbour.received(head[0], path, head, body, self.now)
        except RemoteError as error:
            site.refused.append(error)

    def chat(self, until: float, *, every_s: float = 0.5, size: int = 100) -> None:
        """Alice sends something all the time."""
        while self.now < until:
            self.a.send(b"\x0a", (bytes(size - 1),), self.now)
            self.run(min(self.now + every_s, until))


def stepped(head: bytes, body: bytes, step_us: int) -> tuple[bytes, bytes]:
    """A PONG whose maker's clock stepped while it held the PING."""
    pong = Pong.parse(head, body)
    changed = Pong(
        attempt=pong.attempt,
        sequence=pong.sequence,
        received_us=pong.received_us,
        sent_us=max(pong.sent_us + step_us, 0),
        report=pong.report,
        size=pong.size,
    )
    return changed.serialize()
