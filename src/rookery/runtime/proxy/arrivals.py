"""Connections that reach a listener of ours at an exit, and come back as streams.

The exit opens them with the token that we asked with. A token is good for the one member it was
given to, so nobody else can pass connections off as arrivals.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from rookery.mesh.proxy.fault import Fault
from rookery.mesh.proxy.opening import TOKEN_SIZE, Accepted
from rookery.runtime.proxy.byte_stream import Serve

EXPECTED_MAX = 256


class Arrivals:
    """Who waits for what."""

    def __init__(self) -> None:
        self._expected: dict[tuple[str, str], Serve] = {}

    @contextmanager
    def expect(self, hashname: str, serve: Serve) -> Iterator[str]:
        """The token for that exit to use; good until the block is left."""
        if len(self._expected) >= EXPECTED_MAX:
            raise Fault.BUSY.error("another listener at an exit")
        token = secrets.token_hex(TOKEN_SIZE // 2)
        self._expected[hashname, token] = serve
        try:
            yield token
        finally:
            del self._expected[hashname, token]

    def server(self, hashname: str, opening: Accepted) -> Serve:
        """Who waits for this; DeniedError when nobody does."""
        serve = self._expected.get((hashname, opening.token))
        if serve is None:
            raise Fault.POLICY.error("an arrival")
        return serve
