"""Frame types: messages between members inside a link, outside its channels.

A frame is a packet with a binary head of 1 to 6 bytes, sealed like any other; the head's first
byte tells its type. Endpoints that know none of them drop them.
"""

from typing import Final

FORWARD: Final = 1  # a packet on a source route
PING: Final = 2
PONG: Final = 3
STATEMENTS: Final = 4  # signed statements, passed on through the realm
DIGEST: Final = 5  # anti-entropy: what I have, by bucket,
SUMMARY: Final = 6  # by statement,
WANT: Final = 7  # and what I lack
MEMBER: Final = 8  # the sender's certificate
COMPANION: Final = 9  # negotiation of the UDP path that accompanies a stream
DATAGRAM: Final = 10  # a program's datagram, end to end
TUNNEL: Final = 11  # streams and datagrams between two members, over several paths
RENEWAL: Final = 12  # new session keys; the link itself reads it
PROBE: Final = 13  # whether packets of a link arrive by the route that they take,
PROBED: Final = 14  # and that one did

HEAD_SIZE_MAX: Final = 6
