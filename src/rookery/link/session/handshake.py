"""Handshakes: the keys that an endpoint sends to request a link.

Encrypted, as the inner packet of a message:

    LOB({"type":"link","at":N}, LOB({other csid: base32 intermediate, …}, key of this csid))

A sealed stream of a fleet may add `"offer"`: a handshake under a higher set, as a packet in base32.

Unencrypted, only inside `peer` and `connect`, when the target's keys are not known yet: the same,
with `"csid"` in addition to the type, and usually without `at`.

An endpoint that is unknown when its handshake or announcement arrives becomes a `Stranger`. It is
not answered until the application passes it back to the endpoint, with its keys, its path and the
handshake that waits for an answer.
"""

from collections.abc import Mapping
from typing import Self

import msgspec

from rookery.errors import DecodeError
from rookery.identity.hashname import hashname
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject, Packet, integer, text
from rookery.wire.link.path import Path

AT_MAX = (1 << 63) - 1
_CSIDS_MAX = 16
_DIGEST_SIZE = 32


class Handshake(msgspec.Struct, frozen=True):
    """A parsed handshake; whether its sender holds the key is for the cipher set to verify."""

    csid: int
    key: bytes
    intermediates: Mapping[int, bytes]  # of the sender's other cipher sets
    at: int | None = None
    offer: bytes = b""  # a packet; whether it is a handshake is for who takes it to see

    @property
    def hashname(self) -> str:
        return hashname({self.csid: self.key}, self.intermediates)

    @property
    def csids(self) -> frozenset[int]:
        return frozenset(self.intermediates) | {self.csid}

    def inner(self) -> bytes:
        """The inner packet of the encrypted form."""
        assert self.at is not None
        head: JsonObject = {"type": "link", "at": self.at}
        if self.offer:
            head["offer"] = base32.encode(self.offer)
        return Packet.of(head, self._attached()).serialize()

    def unencrypted(self) -> bytes:
        """The form for a target whose keys are unknown."""
        head: JsonObject = {"type": "link", "csid": f"{self.csid:02x}"}
        if self.at is not None:
            head["at"] = self.at
        return Packet.of(head, self._attached()).serialize()

    def _attached(self) -> bytes:
        others = {
            f"{csid:02x}": base32.encode(digest) for csid, digest in self.intermediates.items()
        }
        return Packet.of(others, self.key).serialize()

    @classmethod
    def parse_inner(cls, csid: int, inner: bytes) -> Self:
        """Read the inner packet of a message that came under `csid`."""
        packet = Packet.parse(inner)
        head = packet.json
        if head.get("type", "link") != "link":
            raise DecodeError("not a link handshake")
        at = integer(head, "at")
        if at is None or not 0 < at <= AT_MAX:
            raise DecodeError("a handshake needs a positive `at`")
        offer = text(head, "offer")
        return cls._parse_attached(csid, packet.body, at, base32.decode(offer) if offer else b"")

    @classmethod
    def parse_unencrypted(cls, packet: Packet) -> Self:
        """Read the form that names its cipher set itself."""
        head = packet.json
        if head.get("type", "link") != "link":
            raise DecodeError("not a link handshake")
        csid = parse_csid(text(head, "csid"))
        return cls._parse_attached(csid, packet.body, integer(head, "at"))

    @classmethod
    def _parse_attached(
        cls, csid: int, attached: bytes, at: int | None, offer: bytes = b""
    ) -> Self:
        packet = Packet.parse(attached)
        others = packet.json
        if not packet.body or len(others) > _CSIDS_MAX:
            raise DecodeError("a handshake carries one key and few intermediates")
        intermediates = {}
        for name, digest in others.items():
            # The JavaScript peer lists the active set as null; its key is attached anyway.
            if digest is None or name == f"{csid:02x}":
                continue
            intermediates[parse_csid(name)] = _parse_digest(digest)
        return cls(csid, packet.body, intermediates, at, offer)


def parse_csid(name: str | None) -> int:
    """Two lower-case hex digits."""
    if name is None or len(name) != 2 or not set(name) <= set("0123456789abcdef"):
        raise DecodeError("a cipher set id is two hex digits")
    return int(name, 16)


def _parse_digest(value: object) -> bytes:
    if not isinstance(value, str):
        raise DecodeError("an intermediate must be a string")
    digest = base32.decode(value)
    if len(digest) != _DIGEST_SIZE:
        raise DecodeError("an intermediate must have 32 bytes")
    return digest


class Stranger(msgspec.Struct, frozen=True):
    """An endpoint without a link that sent a handshake or an announcement."""

    hashname: str
    keys: Mapping[int, bytes]
    paths: tuple[Path, ...]
    handshake: Packet | None = None  # waits for an answer over the first path
    is_proven: bool = False  # its handshake shows that it holds the keys
