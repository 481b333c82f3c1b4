"""`rookery.create` on real loopback sockets."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import rookery
from rookery.errors import UnreachableError, UsageError
from rookery.identity.identity import Identity
from rookery.runtime.endpoint import keystore
from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.runtime.net.address import parse_address
from rookery.wire.link.path import UrlPath


async def echo(stream: LinkStream) -> None:
    async for chunk in stream:
        stream.write(chunk)
        await stream.drain()


@pytest.mark.parametrize("kind", ["udp4", "tcp4"])
@pytest.mark.parametrize("csid", [0x40, 0x3A, 0x2A])
async def test_two_meshes_link_over_every_transport_and_cipher_set(kind: str, csid: int) -> None:
    """T2, T7."""
    ours, theirs = (Identity.generate([csid], os.urandom) for _ in range(2))
    async with rookery.create(ours) as alice, rookery.create(theirs) as bob:
        bob.on_discover = bob.link
        bob.on_stream(echo)
        address = bob.address
        paths = tuple(path for path in address.paths if path.kind == kind)
        link = await alice.link(rookery.LinkAddress(address.hashname, address.keys, paths)).up()
        assert link.csid == csid
        payload = os.urandom(200_000)
        async with link.stream() as stream:
            stream.write(payload)
            stream.write_eof()
            assert await stream.read() == payload


async def test_ipv6_works_as_well() -> None:
    async with (
        rookery.create(udp="[::1]:0", tcp="[::1]:0") as alice,
        rookery.create(udp="[::1]:0", tcp="[::1]:0") as bob,
    ):
        bob.on_discover = bob.link
        link = await alice.link(bob.address.uri()).up()
        assert link.path is not None
        assert link.path.kind.endswith("6")


async def test_a_websocket_needs_the_hashname_as_its_path() -> None:
    """T2: a link over HTTP, at the hashname and nowhere else."""
    async with rookery.create(udp=None) as alice, rookery.create(udp=None) as bob:
        bob.on_discover = bob.link
        (tcp,) = bob.address.paths
        root = f"http://127.0.0.1:{tcp.json()['port']}"
        address = bob.address.json()
        with pytest.raises(UnreachableError):
            await alice.link({**address, "paths": [UrlPath(root + "/").json()]}).up(timeout_s=2)
        alice.links[bob.hashname].close()
        link = alice.link({**address, "paths": [UrlPath(f"{root}/{bob.hashname}").json()]})
        await link.up()
        assert link.path is not None
        assert link.path.kind == "http"


async def test_a_public_url_is_told_to_others() -> None:
    async with rookery.create(http="http://192.0.2.1/rook") as endpoint:
        assert UrlPath("http://192.0.2.1/rook") in endpoint.address.paths
    with pytest.raises(UsageError, match="not a URL"):
        await rookery.create(http="gopher://192.0.2.1")


async def test_stored_keys_are_used(tmp_path: Path) -> None:
    """T1, T5."""
    stored = keystore.create(tmp_path, [0x40])
    async with rookery.create(tmp_path) as endpoint:
        assert endpoint.hashname == stored.hashname
    async with rookery.create(stored.pairs) as endpoint:
        assert endpoint.hashname == stored.hashname


async def test_new_keys_are_made_when_none_are_given() -> None:
    """T5."""
    async with rookery.create() as one, rookery.create() as other:
        assert one.hashname != other.hashname
        assert set(one.identity.keys) == {0x40, 0x3A}


async def test_a_busy_port_is_one_clear_error() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"udp port {port} .* in use"):
            await rookery.create(udp=f"127.0.0.1:{port}")


async def test_tls_needs_a_certificate() -> None:
    with pytest.raises(UsageError, match="certificate"):
        await rookery.create(tls="127.0.0.1:0")


async def test_closing_twice_does_no_harm() -> None:
    endpoint = await rookery.create()
    await endpoint.close()
    await endpoint.close()


@pytest.mark.parametrize("text", ["", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", ":-1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="IP:PORT"):
        parse_address(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("[::1]:80", ("::1", 80)),
        ("localhost:0", ("localhost", 0)),
    ],
)
def test_addresses_of_both_families_are_read(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


def test_importing_rookery_loads_nothing_heavy() -> None:
    script = "import sys, rookery; print('asyncio' in sys.modules, 'cryptography' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = rookery.nonsense


def test_every_public_name_can_be_had() -> None:
    for name in rookery.__all__:
        assert getattr(rookery, name) is not None
