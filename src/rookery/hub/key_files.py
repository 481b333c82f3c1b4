"""The keys of all hubs on a database, with a copy of each in the data folder.

DATA/identity.json     the identity by which devices and servers know the hub
DATA/authority.pem     private key and certificate of the certificate authority, mode 600

Devices and clients remember these keys, so hubs that stand in for each other share them through
the database.
"""

import os
import stat
from pathlib import Path

from rookery.errors import DecodeError, UsageError
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.identity import Identity
from rookery.link.link import ROOKERY_CSID
from rookery.runtime.atomic_file import replace
from rookery.runtime.endpoint import keystore
from rookery.runtime.tls.authority import CertificateAuthority
from rookery.store.hubs.settings import Settings

CSIDS = (ROOKERY_CSID, RSA_CSID)

_IDENTITY_SETTING = "hub identity"


async def hub_identity(data: Path, settings: Settings) -> Identity:
    """The keys of all hubs on this database, and a copy in the folder; made by the first of them.

    Devices and servers know a hub by its keys, so that hubs which are to stand in for each other
    must have the same.
    """
    own = keystore.load(data) if (data / keystore.FILE_NAME).exists() else None
    shared = await settings.get(_IDENTITY_SETTING)
    if shared is None:
        made = own or Identity.generate(CSIDS, os.urandom)
        shared = await settings.first(_IDENTITY_SETTING, keystore.serialize(made))
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


AUTHORITY_FILE_NAME = "authority.pem"

_AUTHORITY_SETTING = "certificate authority"
_SIZE_MAX = 1 << 14
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


async def hub_authority(
    data: Path, settings: Settings, fleet: str, now: float
) -> CertificateAuthority:
    """The one that is there, or a new one; the first hub that asks makes it for all."""
    file = data / AUTHORITY_FILE_NAME
    own = _load_authority(file)
    shared = await settings.get(_AUTHORITY_SETTING)
    if shared is None:
        made = own or CertificateAuthority.make(fleet, now)
        shared = await settings.first(_AUTHORITY_SETTING, made.serialize())
    try:
        authority = CertificateAuthority.parse(shared)
    except DecodeError as error:
        raise UsageError(f"the authority in the database is damaged: {error}") from error
    if own is not None and own.certificate != authority.certificate:
        raise UsageError(
            f"{file} is another authority than that of the hubs of this database; move it away to "
            "use theirs"
        )
    if now >= authority.ends:
        raise UsageError(
            f"the certificate authority has expired; see the guide of the hub for how to replace "
            f"it: {authority.fingerprint}"
        )
    if own is None:
        _save_authority(file, authority)
    return authority


def _load_authority(file: Path) -> CertificateAuthority | None:
    try:
        with file.open("rb") as stream:
            if os.fstat(stream.fileno()).st_mode & _OTHERS:
                raise UsageError(f"others can read the private key in {file}; chmod 600 it")
            return CertificateAuthority.parse(stream.read(_SIZE_MAX))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except DecodeError as error:
        raise UsageError(
            f"{file} is damaged; move it away to use the copy in the database: {error}"
        ) from error


def _save_authority(file: Path, authority: CertificateAuthority) -> None:
    try:
        replace(file, authority.serialize())
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error
