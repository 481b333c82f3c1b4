"""`connect`: a router passes on a packet from an endpoint that wants a link to us.

    ▶ {"c":1,"type":"connect","peer":<requester's hashname>}  body: the packet, unchanged

Nothing is answered on the channel; what the packet deserves goes out as a `peer` request.
"""

from rookery.link.channels.peer import parse_opening
from rookery.wire.link.lob import JsonObject

__all__ = ["opening", "parse_opening"]


def opening(requester: str) -> JsonObject:
    return {"peer": requester}
