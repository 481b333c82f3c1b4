"""A realm of several members in one folder, founded without invitations."""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from rookery.identity.identity import Identity
from rookery.runtime.endpoint import keystore
from rookery.runtime.realm.authority import RealmAuthority, found
from rookery.runtime.realm.store import RealmStore
from rookery.wire.mesh.certificate import CSID_40


class Home(NamedTuple):
    """Where one member keeps its keys and its realm."""

    name: str
    keys: Path
    realm: Path
    identity: Identity

    @property
    def hashname(self) -> str:
        return self.identity.hashname

    @property
    def options(self) -> list[str]:
        return ["--id", str(self.keys), "--realm", str(self.realm)]

    @property
    def store(self) -> RealmStore:
        return RealmStore(self.realm)


def realm(folder: Path, *names: str, exits: Collection[str] = ()) -> list[Home]:
    """The first founds it; all may relay, and some of the others be exits."""
    homes = [
        Home(
            name,
            folder / name,
            folder / f"{name}-realm",
            keystore.create(folder / name, [CSID_40]),
        )
        for name in names
    ]
    founder, *others = homes
    store = found(founder.realm, "home", founder.identity, member_name=founder.name)
    authority = RealmAuthority(store)
    for home in others:
        certificate = authority.certify(
            home.identity.keys[CSID_40],
            home.identity.intermediates(CSID_40),
            hashname=home.hashname,
            name=home.name,
            roles=["relay", "exit"] if home.name in exits else ["relay"],
        )
        RealmStore.create(home.realm, store.realm, certificate)
    return homes
