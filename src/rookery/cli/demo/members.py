"""Members: the keys of all devices and servers of the demo, and the realm of its mesh nodes."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from rookery.cli.demo.folder import DemoFolder
from rookery.cli.demo.site_plan import DEVICES, NODES, SERVERS
from rookery.cli.fleet.keys import FLEET_CSIDS
from rookery.identity.cipher_sets import DEFAULT_CSIDS
from rookery.identity.identity import Identity
from rookery.runtime.endpoint import keystore
from rookery.runtime.realm.authority import RealmAuthority, found
from rookery.runtime.realm.store import RealmStore
from rookery.wire.mesh.certificate import CSID_40, RELAY

REALM = "demo"


@dataclass(frozen=True)
class DemoMembers:
    """Keys by name, and the realm stores of the mesh nodes."""

    identities: dict[str, Identity]
    stores: dict[str, RealmStore]
    forecaster: Identity  # signs what the lake exports

    @property
    def realm_id(self) -> str:
        return self.stores[NODES[0].name].realm.id.hex()

    def hashname(self, name: str) -> str:
        return self.identities[name].hashname


async def make_members(folder: DemoFolder) -> DemoMembers:
    """Make new keys. RSA takes long, so all processors share the work."""
    names = [*(planned.name for planned in DEVICES), *SERVERS]
    keys = await asyncio.gather(*(asyncio.to_thread(_keys) for _ in names))
    identities = dict(zip(names, keys, strict=True))
    forecaster = Identity.generate(DEFAULT_CSIDS, os.urandom)
    for name, identity in identities.items():
        keystore.save(folder.member(name), identity)
    keystore.save(folder.lake_keys, forecaster)
    stores = await asyncio.to_thread(_realm, folder, identities)
    return DemoMembers(identities, stores, forecaster)


def _keys() -> Identity:
    return Identity.generate(FLEET_CSIDS, os.urandom)


def _realm(folder: DemoFolder, identities: dict[str, Identity]) -> dict[str, RealmStore]:
    """The first mesh node has founded it."""
    founder, *others = (planned.name for planned in NODES)
    first = found(_realm_folder(folder, founder), REALM, identities[founder], member_name=founder)
    stores, authority = {founder: first}, RealmAuthority(first)
    for name in others:
        identity = identities[name]
        certificate = authority.certify(
            identity.keys[CSID_40],
            identity.intermediates(CSID_40),
            hashname=identity.hashname,
            name=name,
            roles=[RELAY],
        )
        stores[name] = RealmStore.create(_realm_folder(folder, name), first.realm, certificate)
        first.add_statements([certificate])
    return stores


def _realm_folder(folder: DemoFolder, name: str) -> Path:
    return folder.member(name) / "realm"
