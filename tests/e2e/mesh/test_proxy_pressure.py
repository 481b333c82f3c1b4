"""M9: who does not read makes the far writer wait, and no node in between hoards what waits.

client ── alice ── east, west ── north, south ── bob ── server
"""

import hashlib
import re
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.e2e.mesh.colony import Colony, exits, two_relays_apart
from tests.e2e.mesh.destinations import LOCAL, QuietServer, connected, received, serving
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("pressure")]

MIB = 1 << 20
PATTERN = bytes(range(251)) * 1024
STREAMS = 4
STANDSTILL_S = 2.0
# A tunnel's window for slow readers, what its writers have in hand, and the sockets' own buffers.
HELD_MAX = 96 * MIB
GROWTH_MAX = 32 * MIB


class Fountain(QuietServer):
    """Writes to everybody without an end, and counts what it got rid of."""

    def __init__(self) -> None:
        super().__init__(LOCAL, _Flow)
        self.sent = [0] * STREAMS
        self.count = iter(range(STREAMS))


class _Flow(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Fountain)
        number = next(self.server.count)
        while True:
            self.request.sendall(PATTERN)
            self.server.sent[number] += len(PATTERN)


class Sink(QuietServer):
    """Reads nothing until it is opened, and then everything; answers with the digest."""

    def __init__(self) -> None:
        super().__init__(LOCAL, _Drain)
        self.opened = threading.Event()


class _Drain(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Sink)
        self.server.opened.wait(2 * PATIENCE_S)
        digest = hashlib.sha256()
        while data := self.request.recv(1 << 16):
            digest.update(data)
        self.request.sendall(digest.digest())


def memory(nodes: Colony) -> dict[str, int]:
    """What each node has resident, in bytes."""
    return {name: resident(node.pid) for name, node in nodes.nodes.items()}


def resident(pid: int) -> int:
    found = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found is not None
    return int(found[1]) << 10


def standstill(count: Callable[[], int]) -> int:
    """What it counts when it counts no more."""
    deadline, last, since = time.monotonic() + PATIENCE_S, -1, 0.0
    while last <= 0 or time.monotonic() < since + STANDSTILL_S:
        assert time.monotonic() < deadline, f"at {last} bytes it still goes on"
        if (now := count()) != last:
            last, since = now, time.monotonic()
        time.sleep(0.05)
    return last


@contextmanager
def bounded(nodes: Colony, what: str) -> Iterator[None]:
    """No node may grow by more than that meanwhile."""
    before = memory(nodes)
    yield
    after = memory(nodes)
    growth = {name: after[name] - before[name] for name in nodes.nodes}
    print(what, {name: f"{size / MIB:+.1f} MiB" for name, size in growth.items()})
    assert max(growth.values()) < GROWTH_MAX


def test_those_who_do_not_read_make_a_far_server_wait(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = Fountain()
        port = serving(stack, server)
        nodes = stack.enter_context(two_relays_apart(tmp_path, *exits(f"tcp 127.0.0.1:{port}")))
        way = f"0:127.0.0.1:{port}@bob"
        _, local = stack.enter_context(nodes.listener("alice", "forward", way))
        with bounded(nodes, "nobody reads:"):
            idle = [stack.enter_context(connected(local)) for _ in range(STREAMS)]
            held = standstill(lambda: sum(server.sent))
            print(f"{held / MIB:.1f} MiB of {STREAMS} connections are under way")
            assert held < HELD_MAX
        for _ in range(2 * held // len(PATTERN) // STREAMS):  # those who read again get it all
            assert received(idle[0], len(PATTERN)) == PATTERN


def test_a_far_server_that_does_not_read_makes_a_client_wait(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = Sink()
        port = serving(stack, server)
        stack.callback(server.opened.set)
        nodes = stack.enter_context(two_relays_apart(tmp_path, *exits(f"tcp 127.0.0.1:{port}")))
        way = f"0:127.0.0.1:{port}@bob"
        _, local = stack.enter_context(nodes.listener("alice", "forward", way))
        client = stack.enter_context(connected(local))
        client.setblocking(False)
        sent = 0

        def push() -> int:
            nonlocal sent
            try:
                while True:
                    sent += client.send(PATTERN[sent % len(PATTERN) :])
            except BlockingIOError:
                return sent

        with bounded(nodes, "the server does not read:"):
            held = standstill(push)
            print(f"{held / MIB:.1f} MiB are under way")
            assert held < HELD_MAX
        client.setblocking(True)
        client.settimeout(PATIENCE_S)
        server.opened.set()
        client.shutdown(1)
        whole = PATTERN * (sent // len(PATTERN)) + PATTERN[: sent % len(PATTERN)]
        assert received(client, 32) == hashlib.sha256(whole).digest()
