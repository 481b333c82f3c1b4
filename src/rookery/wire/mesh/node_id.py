"""Node id: what records and source routes call a member, the first 8 bytes of its hashname.

Eight bytes keep a route short. They name, they do not prove: membership ties an id to one whole
hashname, and what travels to it is sealed end to end.
"""

from functools import lru_cache
from typing import Final

from rookery.errors import DecodeError
from rookery.wire import base32

NodeId = bytes

NODE_ID_SIZE: Final = 8
_DIGEST_SIZE: Final = 32
_REMEMBERED_MAX: Final = 8192


@lru_cache(_REMEMBERED_MAX)
def node_id(hashname: str) -> NodeId:
    """The id of the node with this hashname; DecodeError if it is not a hashname."""
    digest = base32.decode(hashname)
    if len(digest) != _DIGEST_SIZE:
        raise DecodeError(f"{hashname!r} is not a hashname")
    return digest[:NODE_ID_SIZE]
