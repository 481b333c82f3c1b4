"""Message ids of `chat` and `box`: 8-byte SipHash digests under one's hashname.

The key is the first half of a hashname, so everyone who knows the name can check a digest; a chain
of them is useful because it cannot be walked backwards.
"""

from rookery.errors import DecodeError
from rookery.wire import base32
from rookery.wire.siphash import siphash_js

ID_SIZE = 8
_KEY_SIZE = 16


def digest(hashname: str, message: bytes) -> bytes:
    """SipHash of `message` under the key that a (checked) hashname gives."""
    return siphash_js(base32.decode(hashname)[:_KEY_SIZE], message)


def parse_id(text: str) -> bytes:
    """The digest that a base32 id spells, or DecodeError."""
    data = base32.decode(text)
    if len(data) != ID_SIZE:
        raise DecodeError(f"a {len(data)}-byte id")
    return data


def format_id(data: bytes) -> str:
    assert len(data) == ID_SIZE
    return base32.encode(data)
