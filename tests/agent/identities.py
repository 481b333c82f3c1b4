"""Keys for tests; the RSA halves come from the vectors, as making such keys takes long."""

import os
from functools import cache

from rookery.identity.cipher_sets import cipher_set
from rookery.identity.identity import Identity
from tests.fleet.identities import ACCEPTOR, DIALLER

_DIALLERS = frozenset({"router", "client"})


@cache
def identity(name: str) -> Identity:
    """Always the same one for a name."""
    rsa = (DIALLER if name in _DIALLERS else ACCEPTOR).pairs[0x2A]
    return Identity({0x40: cipher_set(0x40).generate(os.urandom), 0x2A: rsa})
