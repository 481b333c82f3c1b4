"""How many turns of the loop traffic through a listener, a link and an exit costs."""

import asyncio
import socket
import threading
from asyncio import Handle
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from contextvars import Context
from pathlib import Path
from typing import TypeVarTuple

from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.proxy.forward import tcp_forward
from tests.patience import PATIENCE_S
from tests.runtime.realms import realm

LOOPBACK = "127.0.0.1"
TRIPS = 200

Arguments = TypeVarTuple("Arguments")


class CountingLoop(asyncio.SelectorEventLoop):
    """Counts what is put off to the next turn."""

    calls = 0

    def call_soon(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> Handle:
        self.calls += 1
        return super().call_soon(callback, *args, context=context)


@contextmanager
def echo() -> Iterator[int]:
    """Gives everything back to one client, without the loop."""
    with socket.create_server((LOOPBACK, 0)) as server:

        def serve() -> None:
            sock, _ = server.accept()
            with sock:
                while data := sock.recv(1 << 18):
                    sock.sendall(data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(PATIENCE_S)


def asked(port: int, texts: list[bytes]) -> list[bytes]:
    """One after the other, over one connection."""
    with socket.create_connection((LOOPBACK, port), PATIENCE_S) as sock:
        answers = []
        for text in texts:
            sock.sendall(text)
            answer = b""
            while len(answer) < len(text):
                answer += sock.recv(1 << 18)
            answers.append(answer)
        return answers


async def passed(folder: Path, texts: list[bytes]) -> list[bytes]:
    """Through a listener of alice and an exit at bob, and back."""
    alices, bobs = realm(folder, "alice", "bob", exits=["bob"])
    async with AsyncExitStack() as stack:
        port = stack.enter_context(echo())
        rules = ProxyRules.parse([f"tcp {LOOPBACK}:{port}"])
        bob = await stack.enter_async_context(mesh_node(bobs.identity, bobs.store, rules=rules))
        dialling = mesh_node(alices.identity, alices.store, peers=[bob.endpoint.address])
        alice = await stack.enter_async_context(dialling)
        await have_met(alice, bob)
        to = SockAddress(LOOPBACK, port)
        connector = alice.proxy.connector
        listener = await stack.enter_async_context(await tcp_forward(connector, to, bob.hashname))
        loop = asyncio.get_running_loop()
        assert isinstance(loop, CountingLoop)
        loop.calls = 0
        return await loop.run_in_executor(None, asked, listener.address.port, texts)


async def have_met(alice: MeshNode, bob: MeshNode) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while alice.core.membership.by_hashname(bob.hashname) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def test_a_short_message_takes_one_turn_of_each_node_and_no_task(tmp_path: Path) -> None:
    """A turn costs more than all that is done in it; with tasks and timers it took four."""
    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        texts = [b"%d" % number for number in range(TRIPS)]
        loop = runner.get_loop()
        assert isinstance(loop, CountingLoop)
        assert runner.run(passed(tmp_path, texts)) == texts
        assert loop.calls < 3 * TRIPS
