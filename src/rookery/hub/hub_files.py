"""What a hub keeps in its data folder beside database and spool: its keys, and its spool's name.

DATA/identity.json     keys; hubs that share the stores share a copy of it
DATA/spool.name        of this folder alone, so that each hub finds its own place again
"""

import os
from pathlib import Path

from rookery.errors import UsageError
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.identity import Identity
from rookery.link.link import ROOKERY_CSID
from rookery.runtime import keystore
from rookery.runtime.whole_file import replace

CSIDS = (ROOKERY_CSID, RSA_CSID)

_NAME_SIZE = 8


def hub_identity(data: Path) -> Identity:
    """The keys in the folder; made when there are none."""
    if not (data / keystore.FILE_NAME).exists():
        return keystore.create(data, CSIDS)
    identity = keystore.load(data)
    if missing := [f"{csid:02x}" for csid in CSIDS if csid not in identity.keys]:
        raise UsageError(f"the keys in {data} lack cipher set {' and '.join(missing)}")
    return identity


def spool_name(data: Path) -> str:
    """Made once."""
    file = data / "spool.name"
    try:
        if not file.exists():
            replace(file, os.urandom(_NAME_SIZE).hex().encode())
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot use {file}: {error}") from error
