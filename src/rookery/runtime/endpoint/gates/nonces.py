"""Nonces for cloaking, drawn from the system in blocks: one system call serves 512 packets."""

import os
from collections.abc import Iterator

from rookery.wire.link.cloak import NONCE_SIZE

_BLOCK_SIZE = 512 * NONCE_SIZE


def nonces() -> Iterator[bytes]:
    """Random nonces without end."""
    while True:
        block = os.urandom(_BLOCK_SIZE)
        for start in range(0, _BLOCK_SIZE, NONCE_SIZE):
            yield block[start : start + NONCE_SIZE]
