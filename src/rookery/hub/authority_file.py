"""The certificate authority of all hubs on a database, and a copy in the data folder.

DATA/authority.pem     private key and certificate, for the hub's user alone

Clients remember the authority, so hubs that are to stand in for each other must have the same.
"""

import os
import stat
from pathlib import Path

from rookery.errors import DecodeError, UsageError
from rookery.runtime.tls.authority import CertificateAuthority
from rookery.runtime.whole_file import replace
from rookery.store.settings import Settings

FILE_NAME = "authority.pem"

_SETTING = "certificate authority"
_SIZE_MAX = 1 << 14
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


async def hub_authority(
    data: Path, settings: Settings, fleet: str, now: float
) -> CertificateAuthority:
    """The one that is there, or a new one; the first hub that asks makes it for all."""
    file = data / FILE_NAME
    own = _load(file)
    shared = await settings.get(_SETTING)
    if shared is None:
        made = own or CertificateAuthority.make(fleet, now)
        shared = await settings.first(_SETTING, made.serialize())
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
        _save(file, authority)
    return authority


def _load(file: Path) -> CertificateAuthority | None:
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


def _save(file: Path, authority: CertificateAuthority) -> None:
    try:
        replace(file, authority.serialize())
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error
