"""Which of its keys a server may answer with on a sealed stream.

Who was told its key of cipher set 40 takes nothing less: the hub tells it only of servers that say
in their reports that their streams take that set.
"""

from collections.abc import Mapping
from typing import Protocol

from rookery.errors import ProtocolError
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.cs40 import CSID as ROOKERY_CSID
from rookery.identity.hashname import hashname, intermediate


class ServerKeys(Protocol):
    """What a hub tells of a server to those it sends there."""

    @property
    def key2a(self) -> bytes: ...

    @property
    def digest40(self) -> bytes: ...

    @property
    def key40(self) -> bytes: ...


def stream_keys(server: ServerKeys) -> Mapping[int, bytes]:
    """As `SealedStream.dial` takes them."""
    return {ROOKERY_CSID: server.key40} if server.key40 else {RSA_CSID: server.key2a}


def checked_keys(server: ServerKeys, name: str) -> Mapping[int, bytes]:
    """The same, or ProtocolError when they are not of the server with that hashname."""
    is_other = server.key40 and intermediate(server.key40) != server.digest40
    if is_other or hashname({RSA_CSID: server.key2a}, {ROOKERY_CSID: server.digest40}) != name:
        raise ProtocolError("the hub names a server by keys that are not its own")
    return stream_keys(server)
