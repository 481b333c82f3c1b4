"""M5, M7, M9: long sessions of databases through a forward, while the relays below them die.

    client ── alice ── east, west ── north, south ── bob ── database

While commands go on, the relay next to alice that carries them is killed, and then the one next to
bob. A session that waits is fine; one that loses, repeats or reorders a command is not.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.e2e.mesh.colony import Colony, exits, two_relays_apart, until
from tests.e2e.mesh.databases import Lists, command, has_postgres, postgres, psql
from tests.e2e.mesh.destinations import connected, serving

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("sessions")]

BATCH = 50
BETWEEN = 40  # steps before, between and after the failures
ANSWER_S = 60.0


class Steps:
    """Steps of a session, one after the other."""

    def __init__(self, step: Callable[[int], None]) -> None:
        self.count = 0
        self.slowest_s = 0.0
        self._step = step

    def go_on(self) -> None:
        started = time.monotonic()
        self._step(self.count)
        self.slowest_s = max(self.slowest_s, time.monotonic() - started)
        self.count += 1

    def some_more(self) -> None:
        """Wait until there were some more; for another thread."""
        enough = self.count + BETWEEN
        until(lambda: self.count >= enough)


def kill_relays(nodes: Colony, steps: Steps) -> None:
    steps.some_more()
    near = nodes.relays("alice", "bob")[0][0]
    nodes.kill(near)
    steps.some_more()
    until(lambda: all(near not in relays for relays in nodes.relays("alice", "bob")))
    nodes.kill(nodes.relays("alice", "bob")[0][1])
    steps.some_more()


def outlive_two_relays(nodes: Colony, step: Callable[[int], None], what: str) -> int:
    """How many steps there were."""
    steps = Steps(step)
    with ThreadPoolExecutor(1) as threads:
        killing = threads.submit(kill_relays, nodes, steps)
        while not killing.done():
            steps.go_on()
        killing.result()
    print(f"{what}: {steps.count} steps, the longest {1000 * steps.slowest_s:.0f} ms")
    return steps.count


@contextmanager
def forwarded(folder: Path, port: int) -> Iterator[tuple[Colony, int]]:
    """A port here that leads to that one behind bob."""
    with (
        two_relays_apart(folder, *exits(f"tcp 127.0.0.1:{port}")) as nodes,
        nodes.listener("alice", "forward", f"0:127.0.0.1:{port}@bob") as (_, local),
    ):
        yield nodes, local


def test_a_session_like_those_of_redis_outlives_two_relays(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = Lists()
        port = serving(stack, server)
        nodes, local = stack.enter_context(forwarded(tmp_path, port))
        session = stack.enter_context(connected(local))
        session.settimeout(ANSWER_S)
        answers = stack.enter_context(session.makefile("rb"))

        def push(step: int) -> None:
            numbers = range(step * BATCH, (step + 1) * BATCH)
            commands = (command(b"RPUSH", b"log", b"%d" % number) for number in numbers)
            session.sendall(b"".join(commands))
            for number in numbers:
                assert answers.readline() == b":%d\r\n" % (number + 1)

        count = outlive_two_relays(nodes, push, "RESP") * BATCH
        assert server.lists[b"log"] == [b"%d" % number for number in range(count)]
        assert server.sessions == 1
        assert count >= 3 * BETWEEN * BATCH


@pytest.mark.skipif(not has_postgres(), reason="needs PostgreSQL, and root to start it")
def test_a_session_of_postgresql_outlives_two_relays(tmp_path: Path) -> None:
    with (
        postgres() as port,
        forwarded(tmp_path, port) as (nodes, local),
        psql(local) as client,
    ):
        backend = client.ask("CREATE TABLE log (number int); SELECT pg_backend_pid();")

        def insert(step: int) -> None:
            assert client.ask(f"INSERT INTO log VALUES ({step}) RETURNING number;") == str(step)

        count = outlive_two_relays(nodes, insert, "PostgreSQL")
        assert client.ask("SELECT count(*), count(DISTINCT number) FROM log;") == f"{count}|{count}"
        assert client.ask("SELECT pg_backend_pid();") == backend
        assert count >= 3 * BETWEEN
