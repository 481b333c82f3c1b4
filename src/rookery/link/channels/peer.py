"""`peer`: ask a router to pass one packet on to an endpoint that it has a link to.

    ▶ {"c":1,"type":"peer","peer":<hashname>}  body: the packet for that endpoint

The body is a handshake, encrypted when the target's keys are known. The router never answers.
"""

from rookery.errors import DecodeError
from rookery.identity.hashname import is_hashname
from rookery.wire.link.lob import JsonObject, Packet, text

BODY_SIZE_MAX = 4096


def opening(target: str) -> JsonObject:
    return {"peer": target}


def parse_opening(head: JsonObject, body: bytes) -> tuple[str, Packet]:
    """The target's hashname and the packet to pass on; `connect` has the same shape."""
    hashname = text(head, "peer")
    if hashname is None or not is_hashname(hashname):
        raise DecodeError("`peer` must be a hashname")
    if len(body) > BODY_SIZE_MAX:
        raise DecodeError(f"{len(body)} bytes are too many for an introduction")
    return hashname, Packet.parse(body)
