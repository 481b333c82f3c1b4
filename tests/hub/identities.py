"""Keys for tests: an RSA key takes a tenth of a second, so they are made once and shared."""

import os
from functools import cache

from rookery.hub.hub_files import CSIDS
from rookery.identity.identity import Identity


@cache
def identity(name: str) -> Identity:
    """The same for the same name, within one process."""
    return Identity.generate(CSIDS, os.urandom)


def mac(number: int) -> bytes:
    return b"\x02\xfc" + number.to_bytes(4, "big")
