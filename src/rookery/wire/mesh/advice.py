"""Advice: the body of the artifact that predicts when links will be worse, as msgpack.

    [[realm, a, b, [[start_ms, end_ms, factor, confidence], …]], …]

`realm` is the realm's id, `a` and `b` are the hashnames of the link's ends, smaller one first.
While a window is open the link's cost counts `factor` times, by as much of that as the confidence
allows. What stands behind the known elements of an array is for later versions.
"""

from itertools import pairwise
from typing import Annotated, Self

import msgspec
from msgspec import Meta

from rookery.errors import DecodeError
from rookery.wire.artifact import Hashname, Milliseconds, Ratio, check_hashnames
from rookery.wire.mesh.statement import REALM_ID_SIZE

FACTOR_MAX = 2.0
LINKS_MAX = 1024
WINDOWS_MAX = 64

RealmId = Annotated[bytes, Meta(min_length=REALM_ID_SIZE, max_length=REALM_ID_SIZE)]


class AdviceWindow(msgspec.Struct, frozen=True, array_like=True):
    """From `start_ms` up to, not including, `end_ms`."""

    start_ms: Milliseconds
    end_ms: Milliseconds
    factor: Annotated[float, Meta(ge=1.0, le=FACTOR_MAX)]
    confidence: Ratio

    @property
    def weighted(self) -> float:
        """By how much to multiply: 1 without any confidence, the factor with all of it."""
        return 1 + (self.factor - 1) * self.confidence


class LinkAdvice(msgspec.Struct, frozen=True, array_like=True):
    """One link, and its windows: in order, none overlapping."""

    realm: RealmId
    a: Hashname
    b: Hashname
    windows: Annotated[tuple[AdviceWindow, ...], Meta(max_length=WINDOWS_MAX)]

    def window_at(self, at_ms: int) -> AdviceWindow | None:
        """The one that is open then."""
        return next((each for each in self.windows if each.start_ms <= at_ms < each.end_ms), None)


class Advice(msgspec.Struct, frozen=True):
    """What is known about all links; each is named once."""

    links: tuple[LinkAdvice, ...]

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Read the body of an advice, or raise DecodeError."""
        try:
            links = _DECODER.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(f"no advice: {error}") from error
        for link in links:
            _check(link)
        names = {(link.realm, link.a, link.b) for link in links}
        if len(names) < len(links):
            raise DecodeError("an advice that names a link twice")
        return cls(links)

    def body(self) -> bytes:
        return msgspec.msgpack.encode(self.links)


def _check(link: LinkAdvice) -> None:
    check_hashnames((link.a, link.b))
    if link.a >= link.b:
        raise DecodeError("a link whose ends are not in order")
    if any(each.start_ms >= each.end_ms for each in link.windows):
        raise DecodeError("a window that ends before it begins")
    if any(one.end_ms > other.start_ms for one, other in pairwise(link.windows)):
        raise DecodeError("windows that overlap or are out of order")


_DECODER = msgspec.msgpack.Decoder(Annotated[tuple[LinkAdvice, ...], Meta(max_length=LINKS_MAX)])
