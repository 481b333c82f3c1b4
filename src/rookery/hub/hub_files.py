"""What a hub keeps in its data folder beside database and spool: its keys.

DATA/identity.json     hubs that share a database share them through it
"""

import os
from pathlib import Path

from rookery.errors import DecodeError, UsageError
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.identity import Identity
from rookery.link.link import ROOKERY_CSID
from rookery.runtime import keystore
from rookery.store.settings import Settings

CSIDS = (ROOKERY_CSID, RSA_CSID)

_IDENTITY = "hub identity"


async def hub_identity(data: Path, settings: Settings) -> Identity:
    """The keys of all hubs on this database, and a copy in the folder; made by the first of them.

    Routers and servers know a hub by its keys, so that hubs which are to stand in for each other
    must have the same.
    """
    own = keystore.load(data) if (data / keystore.FILE_NAME).exists() else None
    shared = await settings.get(_IDENTITY)
    if shared is None:
        made = own or Identity.generate(CSIDS, os.urandom)
        shared = await settings.first(_IDENTITY, keystore.serialize(made))
    try:
        identity = keystore.parse(shared)
    except DecodeError as error:
        raise UsageError(f"the keys in the database are damaged: {error}") from error
    if own is not None and own.hashname != identity.hashname:
        raise UsageError(
            f"the keys in {data} are of another hub than those in its database; move them away to "
            "join the hubs of this database"
        )
    if missing := [f"{csid:02x}" for csid in CSIDS if csid not in identity.keys]:
        raise UsageError(f"the keys in {data} lack cipher set {' and '.join(missing)}")
    if own is None:
        keystore.save(data, identity)
    return identity
