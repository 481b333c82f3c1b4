"""Announcements: how an endpoint in discovery mode shows itself on its local network.

The public specification names the ports and leaves the packet open, so two forms are sent and
three are read, all unencrypted:

    {"json":{"type":"hn","hn":{csid: base32 key, …}}}     the JavaScript peer's (its wrapper too)
    {"type":"hn","hn":{csid: base32 key, …}}              the same, as it was meant
    {"type":"link","csid":"3a"} + attached keys           an unencrypted handshake
"""

from collections.abc import Mapping

from rookery.errors import DecodeError
from rookery.identity.hashname import hashname
from rookery.identity.identity import Identity
from rookery.link.session.handshake import Handshake, Stranger, parse_csid
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject, Packet, text
from rookery.wire.link.path import Path

MULTICAST_GROUP = "239.42.42.42"
PORT = 42420
INTERVAL_S = 10.0
_KEYS_MAX = 8


def announcements(identity: Identity) -> list[bytes]:
    """The packets to broadcast, one for every kind of listener."""
    listed = {f"{csid:02x}": base32.encode(key) for csid, key in identity.keys.items()}
    best = max(identity.keys)
    handshake = Handshake(best, identity.keys[best], identity.intermediates(best))
    return [
        Packet.of({"json": {"type": "hn", "hn": listed}}).serialize(),
        handshake.unencrypted(),
    ]


def parse_announcement(packet: Packet, source: Path) -> Stranger:
    """The announcing endpoint; that it holds the keys is not proven."""
    head = packet.json
    wrapped = head.get("json")
    if isinstance(wrapped, dict):
        head = wrapped
    if text(head, "type") == "hn":
        keys = _parse_keys(head)
        return Stranger(hashname(keys), keys, (source,))
    handshake = Handshake.parse_unencrypted(packet)
    return Stranger(handshake.hashname, {handshake.csid: handshake.key}, (source,))


def _parse_keys(head: JsonObject) -> Mapping[int, bytes]:
    listed = head.get("hn")
    if not isinstance(listed, dict) or not 0 < len(listed) <= _KEYS_MAX:
        raise DecodeError("an announcement lists a few keys")
    keys = {}
    for name, key in listed.items():
        if not isinstance(key, str):
            raise DecodeError("a key must be base32 text")
        keys[parse_csid(name)] = base32.decode(key)
    return keys
