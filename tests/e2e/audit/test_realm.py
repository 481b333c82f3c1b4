"""What strangers and members of a realm could do to others; real nodes on loopback."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import msgspec
import pytest

from rookery.errors import ChannelError
from rookery.identity.hashname import PREFIX_MIN
from rookery.identity.identity import Identity
from rookery.runtime.endpoint.create import create
from rookery.runtime.net.link_emulator import LinkEmulator
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.realm.authority import RealmAuthority, found
from rookery.runtime.realm.store import RealmStore
from rookery.sim.mesh.hostile import claim_long_holding
from rookery.sim.network.network import Conditions
from rookery.sim.network.weather import Weather, WeatheredLink
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import NetPath
from tests.cli.program import rookery, running
from tests.e2e.fleet.world import eventually
from tests.mesh.realms import identity
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.runtime.node.test_realm_node import DIALLED_S, joined, names, until
from tests.runtime.realms import realm

HOST = "127.0.0.1"
AWAY_S = 0.12
SAMPLES = 8
ALICE, BOB, CAROL, DAVE = (identity(name) for name in ("alice", "bob", "carol", "dave"))


@asynccontextmanager
async def service() -> AsyncIterator[tuple[int, asyncio.Event]]:
    """Something that listens on loopback, and whether it was ever called."""
    called = asyncio.Event()

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.set()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], called


async def stays_unset(event: asyncio.Event) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(DIALLED_S):
            await event.wait()


async def test_h1_a_stranger_is_told_no_address_of_two_linked_nodes(tmp_path: Path) -> None:
    """Its link has the path that it came by, and none that it was told."""
    alices, bobs = realm(tmp_path, "alice", "bob")
    async with (
        mesh_node(alices.identity, alices.store) as alice,
        mesh_node(bobs.identity, bobs.store, peers=[alice.endpoint.address]) as bob,
        create() as stranger,
    ):
        await until(lambda: "alice" in names(bob) and "bob" in names(alice))
        (tcp,) = (path for path in alice.endpoint.address.paths if path.kind == "tcp4")
        address = type(alice.endpoint.address)(
            alice.hashname, dict(alice.endpoint.address.keys), (tcp,)
        )
        link = await stranger.link(address).up()
        for kind in ("path", "chat"):
            channel = link.open(kind)
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(ChannelError):
                    await channel.receive()
        assert link.paths == (tcp,)


async def test_h1_no_url_is_asked_for_even_when_a_member_lists_it(tmp_path: Path) -> None:
    alices, bobs = realm(tmp_path, "alice", "bob")
    async with (
        service() as (port, called),
        mesh_node(alices.identity, alices.store) as alice,
        mesh_node(bobs.identity, bobs.store, peers=[alice.endpoint.address]) as bob,
    ):
        await until(lambda: "alice" in names(bob) and "bob" in names(alice))
        url = f"http://127.0.0.1:{port}/cgi-bin/reboot?confirm=yes"
        listed: list[JsonObject] = [{"type": "http", "url": url}]
        bob.endpoint.link(alice.endpoint.address).core.say("path", {"paths": listed})
        await stays_unset(called)


async def test_m4_a_member_that_claims_to_hold_beats_is_as_far_away_as_it_is(
    tmp_path: Path,
) -> None:
    """It answers at once, and says that it held each beat for almost as long as it was away."""
    alices, bobs = realm(tmp_path, "alice", "bob")
    port = free_port()
    weather = Weather(conditions=Conditions(delay_s=AWAY_S / 2))
    relay = await LinkEmulator.open(WeatheredLink(weather, Random(1)), (HOST, port))
    outside = tuple(NetPath(kind, *relay.place) for kind in ("tcp4", "udp4"))
    try:
        async with (
            mesh_node(bobs.identity, bobs.store, listen=f"{HOST}:{port}", advertise=outside) as bob,
            mesh_node(
                alices.identity,
                alices.store,
                peers=[msgspec.structs.replace(bob.endpoint.address, paths=outside)],
                advertise=None,
            ) as alice,
        ):
            claim_long_holding(bob.endpoint._core, bob.core)
            seen: set[float] = set()

            def has_measured() -> bool:
                for neighbour in alice.core.neighbours.values():
                    watches = (each for each in neighbour.monitors() if each.path in outside)
                    seen.update(each.quality.srtt_s or AWAY_S for each in watches)
                return len(seen) > SAMPLES

            await until(has_measured)
            assert min(seen) > 0.99 * AWAY_S
    finally:
        await relay.close()


async def test_m5_an_old_certificate_of_an_issuer_takes_in_nobody(tmp_path: Path) -> None:
    """Bob keeps the folder that he had as an issuer, and uses it after the role was taken."""
    store = found(tmp_path / "alice", "home", ALICE, member_name="alice")
    authority = RealmAuthority(RealmStore(store.folder))
    async with mesh_node(ALICE, store) as alice:
        _, invitation = authority.invite(alice.endpoint.address, roles=["relay", "issuer"])
        await joined(tmp_path / "bob", BOB, invitation)
        shutil.copytree(tmp_path / "bob", tmp_path / "kept")
        member = store.membership(time.time()).by_hashname(BOB.hashname)
        assert member is not None
        authority.renew(member, ["relay"])
        await until(lambda: roles(alice, BOB) == {"relay"})

        kept = RealmStore(tmp_path / "kept")
        carols = RealmAuthority(kept, BOB).certify(
            CAROL.keys[0x40],
            CAROL.intermediates(0x40),
            hashname=CAROL.hashname,
            name="carol",
            roles=["relay"],
        )
        smuggled = RealmStore.create(
            tmp_path / "carol", store.realm, carols, peers=[alice.endpoint.address]
        )
        smuggled.add_statements([kept.certificate()])
        async with mesh_node(CAROL, smuggled, peers=[alice.endpoint.address]):
            _, invitation = authority.invite(alice.endpoint.address, roles=["relay"])
            daves = await joined(tmp_path / "dave", DAVE, invitation)
            async with mesh_node(DAVE, daves):
                await until(lambda: "dave" in names(alice))
                await refused(alice, CAROL)
        assert "carol" not in names(alice)


def roles(node: MeshNode, who: Identity) -> frozenset[str]:
    member = node.core.membership.by_hashname(who.hashname)
    return frozenset() if member is None else frozenset(member.roles)


async def refused(node: MeshNode, who: Identity) -> None:
    """It never becomes a member there, however long it tries."""

    async def seen() -> None:
        await until(lambda: node.core.membership.by_hashname(who.hashname) is not None)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(DIALLED_S):
            await seen()


@pytest.mark.slow
def test_m11_a_member_called_like_the_beginning_of_anothers_hashname_is_not_reached_by_it(
    tmp_path: Path,
) -> None:
    """By the command line, over the nodes' control sockets."""
    alices, carols = realm(tmp_path, "alice", "carol")
    beginning = carols.hashname[:PREFIX_MIN]
    impostor = tmp_path / "impostor"
    with running("node", *alices.options) as alice:
        link = tmp_path / "alice.link"
        link.write_text(alice.line())
        asked = rookery("realm", "invite", "--realm", str(alices.realm))
        assert asked.code == 0, asked.err
        (tmp_path / "invitation").write_text(asked.out)
        keys = tmp_path / "mallory"
        assert rookery("id", "new", keys).code == 0
        came = rookery(
            *("realm", "join", tmp_path / "invitation", "--realm", impostor),
            *("--id", keys, "--name", beginning),
        )
        assert came.code == 0, came.err
        with (
            running("node", *carols.options, "--peer", link),
            running("node", "--id", keys, "--realm", impostor, "--peer", link),
        ):
            once = ("--id", alices.keys, "--count", "1")
            eventually(lambda: rookery("ping", "carol", *once).code == 0)
            eventually(lambda: beginning in rookery("peers", "--id", alices.keys).out)
            answer = rookery("ping", beginning, *once)
            assert answer.code == 2
            assert "may be any of" in answer.complaint()
            assert rookery("ping", carols.hashname, *once).code == 0
