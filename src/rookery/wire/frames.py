"""Frames: what members say to each other inside a link, beside its channels.

A frame is a packet with a binary head of 1 to 6 bytes, sealed like any other; the head's first
byte tells its type. Endpoints that know none of them drop them.
"""

FORWARD = 1  # a packet on its way along a source route
PING = 2
PONG = 3
STATEMENTS = 4  # signed statements, passed on through the realm
DIGEST = 5  # anti-entropy: what I have, by bucket,
SUMMARY = 6  # by statement,
WANT = 7  # and what I lack
MEMBER = 8  # the sender's certificate
BESIDE = 9  # about the datagram path beside a stream
DATAGRAM = 10  # a program's datagram, end to end
TUNNEL = 11  # streams and datagrams between two members, over several ways

HEAD_SIZE_MAX = 6
