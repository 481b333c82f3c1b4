"""M7–M9: a node's proxy as a whole, and the exits that a real realm tells of."""

import asyncio
from pathlib import Path

import pytest

from rookery.errors import DeniedError
from rookery.link.channels.sock import SockProtocol
from rookery.mesh.proxy.exit_memory import Exit
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.endpoint.create import create
from rookery.runtime.node.node import mesh_node
from rookery.runtime.proxy.connector import no_exits
from rookery.runtime.proxy.proxy import Proxy, exits_of
from rookery.runtime.proxy.serial_devices import SerialDevices
from rookery.runtime.realm.authority import RealmAuthority, found
from rookery.runtime.realm.join import join
from rookery.runtime.realm.store import RealmStore
from tests.mesh.realms import identity
from tests.runtime.message_channel_pair import ALICE as SOCK_ALICE
from tests.runtime.message_channel_pair import BOB as SOCK_BOB
from tests.runtime.message_channel_pair import Switchboard, until
from tests.runtime.proxy.servers import echo_server, gadget
from tests.runtime.proxy.town import ALICE, BOB, Town


async def names(host: str, port: int, protocol: SockProtocol) -> list[str]:
    return {"here.example": ["127.0.0.1"], "inside.example": ["10.0.0.1"]}.get(host, [])


async def test_two_proxies_serve_each_other(tmp_path: Path) -> None:
    async with Town() as town, echo_server() as port:
        with gadget(tmp_path / "meter"):
            bob = Proxy(
                town.opener(BOB),
                rules=ProxyRules.parse(["tcp 127.0.0.1:*", "serial *"]),
                devices=SerialDevices(folder=str(tmp_path)),
                resolve=names,
            )
            alice = Proxy(town.opener(ALICE), lambda: [Exit(BOB, bob.services(), 1)])
            for name, proxy in ((ALICE, alice), (BOB, bob)):
                town.serve(name, proxy.handle)
            assert alice.services() == ()
            assert bob.services() == ("exit:tcp", "serial:meter")
            connection = await alice.connector.tcp_connect("here.example", port, "auto")
            assert connection.exit == BOB
            connection.abort()
            line = await alice.connector.serial_open("meter", "auto")
            assert line.exit == BOB
            line.abort()
            with pytest.raises(DeniedError):  # alice offers nothing
                await bob.connector.tcp_connect("127.0.0.1", port, ALICE)
        assert list(no_exits()) == []


async def test_a_telehash_peer_is_served_by_the_same_rules() -> None:
    rules = ProxyRules.parse(["tcp 127.0.0.1:*"])
    async with Town() as town, Switchboard() as board, echo_server() as port:
        bob = Proxy(town.opener(BOB), rules=rules, resolve=names)
        alice = Proxy(town.opener(ALICE))
        board.serve(SOCK_BOB, "sock", bob.sock.handle)
        link = board.link(SOCK_ALICE, SOCK_BOB)
        stream = await alice.sock.connect(link, "here.example", port)
        async with stream:
            stream.write(b"hello")
            stream.write_eof()
            assert await stream.read() == b"HELLO"
        with pytest.raises(DeniedError):
            await alice.sock.connect(link, "inside.example", port)


async def test_a_realm_tells_of_its_exits(tmp_path: Path) -> None:
    """M8: what a member offers comes with its record, and the role with its certificate."""
    who = {name: identity(name, (0x3A, 0x40)) for name in ("alice", "bob", "carol")}
    store = found(tmp_path / "alice", "home", who["alice"], member_name="alice")
    authority = RealmAuthority(RealmStore(store.folder))
    async with mesh_node(who["alice"], store) as alice:
        exits = exits_of(alice.core, alice.endpoint.now)
        assert list(exits()) == []
        for name, roles in (("bob", ["relay", "exit"]), ("carol", ["relay"])):
            link = RealmStore(store.folder).link()
            assert link is not None
            _, invitation = authority.invite(link, roles=roles)
            async with create(who[name]) as endpoint:
                answer = await join(endpoint, invitation, name, 10)
            RealmStore.create(
                tmp_path / name, invitation.realm, answer.certificate, peers=[answer.link]
            )
        async with (
            mesh_node(who["bob"], RealmStore(tmp_path / "bob")) as bob,
            mesh_node(who["carol"], RealmStore(tmp_path / "carol")) as carol,
        ):
            for node in (bob, carol):
                node.core.publisher.services = ("exit:tcp/443",)
            await until(lambda: len(list(exits())) > 0, 20)
            await until(lambda: len(alice.core.database.records) == 3, 20)
            await asyncio.sleep(0)
            (exit_,) = exits()
            assert exit_.hashname == who["bob"].hashname
            assert exit_.services == ("exit:tcp/443",)
            assert exit_.cost_us > 0
