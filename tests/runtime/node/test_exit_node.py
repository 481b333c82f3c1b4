"""A node that is an exit: what it tells the realm, and whom it lets out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rookery.errors import ChannelError, DeniedError, UnreachableError
from rookery.identity.identity import Identity
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.endpoint.create import create
from rookery.runtime.node.node import MeshNode, mesh_node
from tests.mesh.realms import identity
from tests.patience import PATIENCE_S
from tests.runtime.realms import realm

STRANGER: Identity = identity("mallory", (0x3A, 0x40))


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"hello")
    writer.close()


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
async def nodes(tmp_path: Path, port: int) -> AsyncIterator[tuple[MeshNode, MeshNode]]:
    """Alice, and bob, who lets members out to one port."""
    alices, bobs = realm(tmp_path, "alice", "bob", exits=["bob"])
    rules = ProxyRules.parse([f"tcp 127.0.0.1:{port}"])
    async with AsyncExitStack() as stack:
        bob = await stack.enter_async_context(mesh_node(bobs.identity, bobs.store, rules=rules))
        running = mesh_node(alices.identity, alices.store, peers=[bob.endpoint.address])
        alice = await stack.enter_async_context(running)
        async with asyncio.timeout(PATIENCE_S):
            while not (has_met(alice, bob) and has_met(bob, alice)):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        yield alice, bob


def has_met(node: MeshNode, other: MeshNode) -> bool:
    return node.core.membership.by_hashname(other.hashname) is not None


async def test_members_are_told_what_an_exit_offers(
    nodes: tuple[MeshNode, MeshNode], port: int
) -> None:
    """M8: that is how `auto` finds it."""
    alice, _ = nodes
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                connection = await alice.proxy.connector.tcp_connect("127.0.0.1", port, "auto")
                break
            except UnreachableError:  # the record is still on its way
                await asyncio.sleep(0.05)
        async with connection:
            assert await connection.read() == b"hello"


async def test_whoever_has_no_rules_denies_and_says_so(
    nodes: tuple[MeshNode, MeshNode], port: int
) -> None:
    alice, bob = nodes
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(DeniedError, match="no rule allows it"):
            await bob.proxy.connector.tcp_connect("127.0.0.1", port, alice.hashname)


async def test_a_telehash_member_gets_sockets_by_the_same_rules(
    nodes: tuple[MeshNode, MeshNode], port: int
) -> None:
    alice, bob = nodes
    link = alice.link(bob.hashname)
    async with asyncio.timeout(PATIENCE_S):
        assert await (await link.connect("127.0.0.1", port)).read() == b"hello"
        with pytest.raises(DeniedError):
            await link.connect("127.0.0.1", port - 1)


async def test_strangers_get_none(nodes: tuple[MeshNode, MeshNode], port: int) -> None:
    """They may link, to join, and open nothing else: for them there is no `sock` here."""
    _, bob = nodes
    async with create(STRANGER) as endpoint, asyncio.timeout(PATIENCE_S):
        link = await endpoint.link(bob.endpoint.address).up()
        with pytest.raises(ChannelError, match="unknown type"):
            await link.connect("127.0.0.1", port)
