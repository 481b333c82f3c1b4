"""Hashname: the fingerprint of an endpoint's public keys, 52 base32 characters.

    roll = ""                                     for every cipher set, lowest CSID first:
    roll = sha256(roll || csid)                   csid is one byte
    roll = sha256(roll || intermediate)           intermediate = sha256(public key)

A key and its bare intermediate contribute the same, so a peer can check the whole name while
holding only the key it needs.
"""

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import TypeVar

from rookery.errors import DecodeError
from rookery.wire import base32

HASHNAME_SIZE = 52
DIGEST_SIZE = 32
PREFIX_MIN = 8  # characters that stand for a whole hashname, as long as only one begins so

T = TypeVar("T")

_NONE: Mapping[int, bytes] = MappingProxyType({})


def intermediate(key: bytes) -> bytes:
    return sha256(key).digest()


def hashname(keys: Mapping[int, bytes], intermediates: Mapping[int, bytes] = _NONE) -> str:
    """The hashname of the holder of `keys`; intermediates of keys that are given are ignored."""
    parts = {**intermediates, **{csid: intermediate(key) for csid, key in keys.items()}}
    if not parts:
        raise DecodeError("a hashname needs at least one key")
    roll = b""
    for csid, part in sorted(parts.items()):
        if not 0 < csid < 0x100 or len(part) != DIGEST_SIZE:
            raise DecodeError("a hashname is made of one-byte CSIDs and 32-byte intermediates")
        roll = sha256(roll + csid.to_bytes(1, "big")).digest()
        roll = sha256(roll + part).digest()
    return base32.encode(roll)


def is_hashname(text: str) -> bool:
    if len(text) != HASHNAME_SIZE:
        return False
    try:
        base32.decode(text)
    except DecodeError:
        return False
    return True


def named_by(text: str, those: Iterable[T], names: Callable[[T], tuple[str, str]]) -> list[T]:
    """The members that `text` names: by name, or by the first characters of their hashname.

    `names` gives the name and the hashname of a member. A name does not win over a hashname, so a
    member that takes the beginning of another's hashname for its name makes that text ambiguous
    and is not reached by it. A whole hashname names only the member that has it.
    """
    if is_hashname(text):
        return [one for one in those if names(one)[1] == text]
    return [one for one in those if _is_named_by(text, *names(one))]


def _is_named_by(text: str, name: str, whole: str) -> bool:
    is_prefix = len(text) >= PREFIX_MIN and whole.startswith(text)
    return is_prefix or (name == text and name != "")
