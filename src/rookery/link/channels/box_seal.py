"""The content of a box message: an encrypted E3X message that names and proves its sender.

    | 0001 | csid | sealed: {"type":"box","csid","key","keys","at"} + content |

The keeper sees the cipher set and the size, nothing more. The sender's key and the intermediates
of the sender's other keys travel inside, so that a recipient who never met the sender computes
the hashname and checks that the holder of that key wrote the message. There is no forward
secrecy: no handshake took place.
"""

import re
from collections.abc import Mapping

import msgspec

from rookery.errors import DecodeError, UsageError
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.hashname import hashname, intermediate
from rookery.identity.identity import Identity
from rookery.link.channels.box import MESSAGE_SIZE_MAX
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject, Packet, integer, text

_KEYS_MAX = 16
_CSID = re.compile(r"[0-9a-f]{2}", re.ASCII)


class BoxMessage(msgspec.Struct, frozen=True):
    """An opened message; the sender has been proved."""

    sender: str
    at: int  # Unix seconds, by the sender's clock
    content: bytes

    def __repr__(self) -> str:
        return f"BoxMessage(from {self.sender[:8]}…, {len(self.content)} bytes)"


def seal(
    identity: Identity,
    recipient_keys: Mapping[int, bytes],
    content: bytes,
    at: int,
    random: RandomBytes,
) -> bytes:
    """A message that only the holder of `recipient_keys` can open; UsageError when too long."""
    common = identity.keys.keys() & recipient_keys.keys()
    if not common:
        raise UsageError("no cipher set in common with the recipient")
    csid = max(common)
    others = {
        f"{other:02x}": base32.encode(intermediate(key))
        for other, key in identity.keys.items()
        if other != csid
    }
    head: JsonObject = {
        "type": "box",
        "csid": f"{csid:02x}",
        "key": base32.encode(identity.keys[csid]),
        "keys": others,
        "at": at,
    }
    cipher = identity.local[csid].exchange(recipient_keys[csid], random)
    inner = Packet.of(head, content).serialize()
    message = Packet(csid.to_bytes(1, "big"), cipher.seal(inner)).serialize()
    if len(message) > MESSAGE_SIZE_MAX:
        raise UsageError(f"sealed {len(message)} bytes; a box takes {MESSAGE_SIZE_MAX}")
    return message


def unseal(identity: Identity, message: bytes) -> BoxMessage:
    """Open a message for us: DecodeError, or AuthenticationError when its sender is not proved."""
    if len(message) > MESSAGE_SIZE_MAX:
        raise DecodeError(f"{len(message)} bytes cannot be a box message")
    outer = Packet.parse(message)
    if len(outer.head) != 1 or (local := identity.local.get(outer.head[0])) is None:
        raise DecodeError("not a message to any of our keys")
    opened = local.open(outer.body)
    inner = Packet.parse(opened.inner)
    head = inner.json
    if text(head, "type") != "box" or text(head, "csid") != f"{local.csid:02x}":
        raise DecodeError("an encrypted message, but not one of a box")
    key, at = base32.decode(text(head, "key") or ""), integer(head, "at")
    if at is None:
        raise DecodeError("a box message without a time")
    local.verify(opened, key)
    return BoxMessage(hashname({local.csid: key}, _intermediates(head)), at, inner.body)


def _intermediates(head: JsonObject) -> dict[int, bytes]:
    keys = head.get("keys")
    if not isinstance(keys, dict) or len(keys) > _KEYS_MAX:
        raise DecodeError("no intermediates of the sender's other keys")
    result = {}
    for csid, value in keys.items():
        if not _CSID.fullmatch(csid) or not isinstance(value, str):
            raise DecodeError("an intermediate is base32 under two hexadecimal digits")
        result[int(csid, 16)] = base32.decode(value)
    return result
