"""Where an endpoint's keys live: `identity.json` in a folder of its own, readable by its owner.

    {"v":1,"hashname":"…","keys":{"40":"<base32>"},"secrets":{"40":"<base32>"}}

Written aside and renamed, so a crash leaves the old file or the new one, never half of either.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from rookery.errors import DecodeError, UsageError
from rookery.identity.cipher_set import KeyPair
from rookery.identity.identity import Identity
from rookery.runtime.atomic_file import replace
from rookery.wire import base32

FILE_NAME = "identity.json"
VERSION = 1
_SIZE_MAX = 1 << 16


class _StoredKeys(msgspec.Struct, forbid_unknown_fields=True):
    v: int
    hashname: str
    keys: dict[str, str]
    secrets: dict[str, str]


def create(folder: Path, csids: Iterable[int]) -> Identity:
    """Make keys and store them; UsageError where there are some already."""
    file = folder / FILE_NAME
    if file.exists():
        raise UsageError(f"{file} exists already; remove it or choose another folder")
    identity = Identity.generate(csids, os.urandom)
    save(folder, identity)
    return identity


def save(folder: Path, identity: Identity) -> None:
    """Store keys for their owner alone."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace(folder / FILE_NAME, serialize(identity))
    except OSError as error:
        raise UsageError(f"cannot write keys to {folder}: {error.strerror}") from error


def load(folder: Path) -> Identity:
    """Read and check stored keys; UsageError names what is wrong with them."""
    file = folder / FILE_NAME
    try:
        with file.open("rb") as stream:
            data = stream.read(_SIZE_MAX + 1)
    except FileNotFoundError as error:
        raise UsageError(f"no keys in {folder}; make some with: rookery id new {folder}") from error
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    try:
        return parse(data)
    except DecodeError as error:
        raise UsageError(f"{file} is damaged: {error}") from error


def serialize(identity: Identity) -> bytes:
    """All of it, the secret half as well."""
    stored = _StoredKeys(
        VERSION,
        identity.hashname,
        {f"{csid:02x}": base32.encode(pair.key) for csid, pair in identity.pairs.items()},
        {f"{csid:02x}": base32.encode(pair.secret) for csid, pair in identity.pairs.items()},
    )
    return msgspec.json.format(msgspec.json.encode(stored)) + b"\n"


def parse(data: bytes) -> Identity:
    """What `serialize` made, or DecodeError."""
    try:
        stored = msgspec.json.decode(data, type=_StoredKeys)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError("it does not hold keys") from error
    if stored.v != VERSION:
        raise DecodeError(f"version {stored.v} is not known here")
    if stored.keys.keys() != stored.secrets.keys():
        raise DecodeError("public and secret keys do not match")
    pairs = {
        _csid(name): KeyPair(base32.decode(key), base32.decode(stored.secrets[name]))
        for name, key in stored.keys.items()
    }
    if not pairs:
        raise DecodeError("it holds no key")
    identity = Identity(pairs)
    if identity.hashname != stored.hashname:
        raise DecodeError("the keys make another hashname than it says")
    return identity


def _csid(name: str) -> int:
    try:
        return int(name, 16)
    except ValueError as error:
        raise DecodeError("a cipher set id is two hex digits") from error
