"""Kill -9, again and again: a sender and a receiver with durable outboxes, as real processes.

    python -m tests.e2e.outbox.killing FOLDER ROUNDS SEED

The sender adds numbers for as long as it lives and notes which of them are known to be kept; the
receiver's handler writes each into a table, in the transaction of its outbox. After every round one
or both are killed at a random moment and started anew. In the end both run in peace until nothing
is left; a line of JSON says what came of it. Processes are forked from this one, so that a round
takes no longer than it lives.
"""

import asyncio
import gc
import json
import os
import random
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from rookery.outbox.intake import IncomingRequest
from rookery.outbox.limits import OutboxLimits
from rookery.runtime.outbox.ledger import SqliteLedger
from rookery.runtime.outbox.outbox import AsyncOutbox
from rookery.runtime.outbox.socket_stream import OutboxSocketStream
from rookery.wire.outbox.frames import Qos
from tests.patience import PATIENCE_S

ALICE, BOB = "a" * 51 + "a", "b" * 51 + "a"
LIMITS = OutboxLimits(peer_bytes_max=2_000_000)
BURST = 20


async def send(folder: Path, port: int, *, is_last: bool) -> None:
    """Alice; the last of them adds nothing and ends when everything is acknowledged."""

    async def dial(_: str) -> OutboxSocketStream:
        return await OutboxSocketStream.connect("127.0.0.1", port)

    outbox = AsyncOutbox(
        ALICE, dial=dial, limits=LIMITS, ledger=SqliteLedger(folder / "alice.sqlite")
    )
    peer = outbox.add_peer(BOB)
    if is_last:
        async with asyncio.timeout(PATIENCE_S):
            while peer.count:  # noqa: ASYNC110 - bounded, and nothing else tells
                await asyncio.sleep(0.01)
        await outbox.close()
        return
    await add(outbox, folder)


async def add(outbox: AsyncOutbox, folder: Path) -> None:
    """Number after number, none of them twice, whoever was here before."""
    with (
        (folder / "meant").open("ab", buffering=0) as meant,
        (folder / "kept").open("ab", buffering=0) as kept,
    ):
        number = (folder / "meant").stat().st_size
        while True:
            await outbox.room(BOB, BURST * 1000)
            meant.write(bytes(BURST))  # one byte a number
            for _ in range(BURST):
                request = outbox.request(b"%d" % number, qos=Qos.ONCE)
                outbox.peer(BOB).add_packet(request)
                request.release()
                number += 1
            await outbox.flush()
            kept.write(f"{number - BURST} {number}\n".encode())


async def receive(folder: Path, sock: socket.socket) -> None:
    """Bob."""
    ledger = SqliteLedger(folder / "bob.sqlite")

    def write_down(arrival: IncomingRequest, connection: sqlite3.Connection) -> bytes | None:
        connection.execute("INSERT INTO effects (number) VALUES (?)", (int(arrival.payload),))
        return None

    outbox = AsyncOutbox(BOB, limits=LIMITS, ledger=ledger, transact=write_down)
    outbox.add_peer(ALICE)
    server = await asyncio.start_server(
        lambda reader, writer: outbox.serve(OutboxSocketStream(reader, writer)), sock=sock
    )
    await server.serve_forever()


def forked(work: Callable[[], None]) -> int:
    """A process that does this and nothing else."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException as error:  # nobody else would hear of it
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit("a process ended by itself")


class Ordeal:
    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        # Ours stays open: whoever dials a dead bob is heard by the next one.
        self._sock = socket.create_server(("127.0.0.1", 0))
        self._port = self._sock.getsockname()[1]
        self.kills = 0
        with sqlite3.connect(folder / "bob.sqlite") as connection:
            connection.execute("CREATE TABLE effects (at INTEGER PRIMARY KEY, number INTEGER)")
        connection.close()

    def alice(self, *, is_last: bool = False) -> int:
        return forked(lambda: asyncio.run(send(self._folder, self._port, is_last=is_last)))

    def bob(self) -> int:
        return forked(lambda: asyncio.run(receive(self._folder, self._sock)))

    def run(self, rounds: int) -> None:
        alice, bob = self.alice(), self.bob()
        for _ in range(rounds):
            time.sleep(self._chance.uniform(0.02, 0.2))  # the moment is the point
            victims = self._chance.choice(("alice", "bob", "both"))
            if victims != "bob":
                kill(alice)
                alice = self.alice()
            if victims != "alice":
                kill(bob)
                bob = self.bob()
            self.kills += 1 + (victims == "both")
        kill(alice)
        last = self.alice(is_last=True)
        _, status = os.waitpid(last, 0)
        kill(bob)
        if status:
            raise SystemExit("what was kept could not be delivered")

    def report(self) -> dict[str, object]:
        with sqlite3.connect(self._folder / "bob.sqlite") as connection:
            rows = connection.execute("SELECT number FROM effects ORDER BY at").fetchall()
        connection.close()
        numbers = [number for (number,) in rows]
        kept: set[int] = set()
        for line in (self._folder / "kept").read_text().splitlines():
            first, stop = map(int, line.split())
            kept.update(range(first, stop))
        return {
            "kills": self.kills,
            "handled": len(numbers),
            "kept": len(kept),
            "twice": len(numbers) - len(set(numbers)),
            "out of order": sum(after <= before for before, after in pairwise(numbers)),
            "lost": len(kept - set(numbers)),
        }


def main() -> None:
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    gc.freeze()  # the children share what is loaded
    ordeal = Ordeal(folder, seed)
    ordeal.run(rounds)
    print(json.dumps(ordeal.report()))


if __name__ == "__main__":
    main()
