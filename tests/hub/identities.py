"""Keys for tests: an RSA key takes a tenth of a second, so they are made once and shared."""

import os
from functools import cache

from rookery.fleet.rendezvous.seat_authority import SeatAuthority
from rookery.hub.key_files import CSIDS
from rookery.identity.identity import Identity

ANNAS = SeatAuthority(bytes(32), None)  # which no server of these tests asks after


@cache
def identity(name: str) -> Identity:
    """The same for the same name, within one process."""
    return Identity.generate(CSIDS, os.urandom)


def mac(number: int) -> bytes:
    return b"\x02\xfc" + number.to_bytes(4, "big")
