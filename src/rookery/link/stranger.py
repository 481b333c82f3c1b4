"""A stranger: somebody unknown whose handshake or announcement reached us.

Nothing has been answered. Whoever decides to link gives the stranger back to the endpoint, which
then knows the keys, the way there, and the handshake still waiting for an answer.
"""

from collections.abc import Mapping

import msgspec

from rookery.wire.lob import Packet
from rookery.wire.path import Path


class Stranger(msgspec.Struct, frozen=True):
    """What is known of an endpoint we have no link with."""

    hashname: str
    keys: Mapping[int, bytes]
    paths: tuple[Path, ...]
    handshake: Packet | None = None  # waits for an answer over the first path
    is_proven: bool = False  # its handshake shows that it holds the keys
