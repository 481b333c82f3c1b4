"""Two ends with RSA keys from the vectors, as making such keys takes long."""

import json
from pathlib import Path

from rookery.identity.cipher_set import KeyPair
from rookery.identity.identity import Identity

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "fleet_stream.json").read_text())


def _pair(row: dict[str, str], csid: str) -> KeyPair:
    return KeyPair(bytes.fromhex(row[f"key{csid}"]), bytes.fromhex(row[f"secret{csid}"]))


def identity(name: str) -> Identity:
    """The `dialler` or the `acceptor` of the vectors."""
    row = VECTORS[name]
    return Identity({0x40: _pair(row, "40"), 0x2A: _pair(row, "2a")})


DIALLER = identity("dialler")
ACCEPTOR = identity("acceptor")
