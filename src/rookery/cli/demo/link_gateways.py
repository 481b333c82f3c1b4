"""The gateways of the demo: a realm of four, two of whom nobody can dial.

        ┌── east ──┐
north ──┤          ├── south        north and south are behind NATs, so to speak:
        └── west ──┘                they dial the relays, and nothing leads to them
"""

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rookery.identity.cipher_sets import DEFAULT_CSIDS
from rookery.identity.identity import Identity
from rookery.runtime.node import MeshNode, mesh_node
from rookery.runtime.realm_authority import RealmAuthority, found
from rookery.runtime.realm_store import RealmStore
from rookery.wire.certificate import CSID_40, RELAY
from rookery.wire.path import NetPath
from rookery.wire.uri import LinkAddress

RELAYS = ("east", "west")


@dataclass(frozen=True, slots=True)
class Relay:
    name: str
    node: MeshNode
    _stack: AsyncExitStack

    async def stop(self) -> None:
        await self._stack.aclose()


@asynccontextmanager
async def gateways() -> AsyncIterator[tuple[MeshNode, tuple[Relay, ...], MeshNode]]:
    """North, the relays, and south, on loopback, with their realm in a folder that goes away."""
    with tempfile.TemporaryDirectory(prefix="rookery-demo-") as folder:
        keys = {name: _keys() for name in (*RELAYS, "north", "south")}
        realm = _Realm(Path(folder), keys)
        async with AsyncExitStack() as stack:
            relays = []
            for name in RELAYS:
                own = await stack.enter_async_context(AsyncExitStack())
                node = await own.enter_async_context(realm.node(name, [], ()))
                relays.append(Relay(name, node, own))
            peers = [relay.node.mesh.address for relay in relays]
            north = await stack.enter_async_context(realm.node("north", peers, None))
            south = await stack.enter_async_context(realm.node("south", peers, None))
            yield north, tuple(relays), south


class _Realm:
    """Folders for all of them; east has founded it."""

    def __init__(self, folder: Path, keys: dict[str, Identity]) -> None:
        self._keys = keys
        founder, *others = keys
        founded = found(folder / founder, "demo", keys[founder], member_name=founder)
        self._stores = {founder: founded}
        authority = RealmAuthority(founded)
        for name in others:
            identity = keys[name]
            certificate = authority.certify(
                identity.keys[CSID_40],
                identity.intermediates(CSID_40),
                hashname=identity.hashname,
                name=name,
                roles=[RELAY] if name in RELAYS else [],
            )
            store = RealmStore.create(folder / name, founded.realm, certificate)
            self._stores[name] = store
            founded.add_statements([certificate])

    def node(
        self, name: str, peers: list[LinkAddress], advertise: tuple[NetPath, ...] | None
    ) -> AbstractAsyncContextManager[MeshNode]:
        return mesh_node(self._keys[name], self._stores[name], peers=peers, advertise=advertise)


def _keys() -> Identity:
    return Identity.generate(DEFAULT_CSIDS, os.urandom)
