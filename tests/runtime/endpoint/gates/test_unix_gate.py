"""Unix sockets: endpoints of one machine, linked without any network."""

import asyncio
import os
import socket
import stat
from pathlib import Path

import pytest

import rookery
from rookery.errors import UnreachableError, UsageError
from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.runtime.endpoint.gates.gate import ConnectionLimits
from rookery.runtime.endpoint.gates.unix_gate import UnixGate
from rookery.runtime.node.node import mesh_node
from rookery.runtime.tunnels.stream import TunnelStream
from rookery.wire.link.path import UnixPath
from rookery.wire.link.uri import LinkAddress
from tests.patience import PATIENCE_S
from tests.runtime.message_channel_pair import until
from tests.runtime.realms import realm
from tests.runtime.recorder import Recorder


async def echo(stream: LinkStream) -> None:
    async for chunk in stream:
        stream.write(chunk)
        await stream.drain()


def only_unix(address: LinkAddress) -> LinkAddress:
    paths = tuple(path for path in address.paths if isinstance(path, UnixPath))
    assert paths
    return LinkAddress(address.hashname, address.keys, paths)


async def test_endpoints_without_a_network_link(tmp_path: Path) -> None:
    file = tmp_path / "bob.sock"
    async with (
        rookery.create(udp=None, tcp=None) as alice,
        rookery.create(udp=None, tcp=None, unix=file) as bob,
    ):
        bob.on_discover = bob.link
        bob.on_stream(echo)
        link = await alice.link(only_unix(bob.address).uri()).up()
        payload = os.urandom(1_000_000)
        async with link.stream() as stream:
            stream.write(payload)
            stream.write_eof()
            assert await stream.read() == payload
    assert not file.exists()


async def test_members_of_a_realm_tunnel_over_a_unix_socket(tmp_path: Path) -> None:
    alice, bob = realm(tmp_path, "alice", "bob")
    payload = os.urandom(100_000)
    taken = bytearray()
    is_over = asyncio.Event()

    async def take(stream: TunnelStream) -> None:
        while chunk := await stream.read():
            taken.extend(chunk)
        is_over.set()

    async with mesh_node(bob.identity, bob.store, unix=tmp_path / "bob.sock") as there:
        there.serve("take", take)
        peer = only_unix(there.endpoint.address)
        async with (
            asyncio.timeout(PATIENCE_S),
            mesh_node(alice.identity, alice.store, peers=[peer]) as here,
        ):
            link = await here.endpoint.link(peer).up()
            assert UnixPath(str(tmp_path / "bob.sock")) in link.core.paths
            await until(lambda: len(here.core.neighbours) == 1)
            stream = await here.open(bob.hashname, "take")
            await stream.write(payload)
            await stream.finish()
            await is_over.wait()
    assert taken == payload


async def test_the_socket_is_its_owners_alone(tmp_path: Path) -> None:
    gate = UnixGate(Recorder())
    path = await gate.listen(tmp_path / "own.sock")
    assert stat.S_IMODE((tmp_path / "own.sock").stat().st_mode) == 0o600
    assert gate.paths == (path,)
    await gate.close()


async def test_a_socket_left_by_a_crash_is_replaced_and_one_in_use_is_not(tmp_path: Path) -> None:
    file = tmp_path / "node.sock"
    with socket.socket(socket.AF_UNIX) as crashed:
        crashed.bind(str(file))
    first, second = UnixGate(Recorder()), UnixGate(Recorder())
    await first.listen(file)
    with pytest.raises(UsageError, match=r"cannot listen on .*node\.sock"):
        await second.listen(file)
    await second.close()
    assert file.exists()  # it is the first one's
    await first.close()
    assert not file.exists()


async def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "letter"
    file.write_text("dear reader")
    gate = UnixGate(Recorder())
    with pytest.raises(UsageError):
        await gate.listen(file)
    await gate.close()
    assert file.read_text() == "dear reader"


@pytest.mark.parametrize("name", ["x" * 120, "nul\0"])
async def test_a_name_that_no_socket_can_have_is_refused(tmp_path: Path, name: str) -> None:
    gate = UnixGate(Recorder())
    with pytest.raises(UsageError):
        await gate.listen(f"{tmp_path}/{name}")
    await gate.close()


async def test_nobody_behind_the_file_is_a_lost_path(tmp_path: Path) -> None:
    async with rookery.create(udp=None, tcp=None, unix=tmp_path / "bob.sock") as bob:
        address = only_unix(bob.address)
    async with rookery.create(udp=None, tcp=None) as alice:
        with pytest.raises(UnreachableError):
            await alice.link(address).up(1.0)


async def test_what_makes_no_sense_ends_the_connection(tmp_path: Path) -> None:
    recorder = Recorder()
    gate = UnixGate(recorder, limits=ConnectionLimits(first_packet_s=0.05))
    path = await gate.listen(tmp_path / "own.sock")
    reader, writer = await asyncio.open_unix_connection(path.file)
    writer.write(b"\xff" * 100_000)
    async with asyncio.timeout(PATIENCE_S):
        assert await reader.read() == b""
    writer.close()
    assert recorder.packets == []
    await gate.close()
