"""Keys and MACs as the verbs of the fleet take them."""

from pathlib import Path

from rookery.cli.link.keys import load_identity
from rookery.errors import DecodeError, UsageError
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.cs40 import CSID as CSID40
from rookery.identity.identity import Identity
from rookery.runtime.endpoint import keystore
from rookery.wire.fleet.mac import parse_mac

FLEET_CSIDS = (CSID40, RSA_CSID)


def fleet_identity(folder: Path) -> Identity:
    """The keys in a folder, which are made if there are none; UsageError if they will not do."""
    if not (folder / keystore.FILE_NAME).exists():
        return keystore.create(folder, FLEET_CSIDS)
    identity = load_identity(folder)
    if missing := [f"{csid:02x}" for csid in FLEET_CSIDS if csid not in identity.keys]:
        raise UsageError(
            f"the keys in {folder} lack cipher set {' and '.join(missing)}; "
            "make others with: rookery id new DIR --cs 40,2a"
        )
    return identity


def parse_mac_argument(text: str) -> bytes:
    """A MAC on the command line."""
    try:
        return parse_mac(text)
    except DecodeError as error:
        raise UsageError(str(error)) from error
