"""Our own endpoint beside a JavaScript one, and how the two of them meet."""

import asyncio
import functools
import itertools
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from rookery.identity.identity import Identity
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.link import AsyncLink
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject
from tests.interop.js_peer import JsPeer
from tests.patience import PATIENCE_S

CSIDS = ("3a", "2a", "1a")
TRANSPORTS = ("udp4", "tcp4")
DIALLERS = ("rook", "js")
LOOPBACK = "127.0.0.1:0"


class Wire(NamedTuple):
    """Under which cipher set, over what, and who dials."""

    csid: str
    transport: str
    dialler: str

    def __str__(self) -> str:
        return f"{self.csid}-{self.transport}-{self.dialler} dials"


WIRES = [
    Wire(csid, transport, dialler)
    for csid in CSIDS
    for transport in TRANSPORTS
    for dialler in DIALLERS
]
# Every pair of choices for what takes longer; RSA in JavaScript costs half a second a time.
PAIRWISE = [
    wire
    for wire in WIRES
    if wire.csid == "3a" or (wire.transport == "udp4") == (wire.dialler == "js")
]


class StartRook(Protocol):
    """What the `rook` fixture hands out."""

    def __call__(
        self,
        *csids: str,
        transports: Sequence[str] = ("udp4",),  # to listen on; any can be dialled over tcp
        identity: Identity | None = None,
    ) -> Awaitable[AsyncEndpoint]: ...


class Neighbours(NamedTuple):
    """One of ours and one of theirs, linked."""

    rook: AsyncEndpoint
    js: JsPeer
    link: AsyncLink  # from ours to theirs


# RSA keys take seconds to make. Two each are enough for tests, of which none has more at once.
_rsa = functools.cache(lambda _who, _number: Identity.generate([0x2A], os.urandom))
_turns: dict[str, Iterator[int]] = {who: itertools.cycle((1, 2)) for who in ("rook", "js")}


def new_identity(*csids: str) -> Identity:
    if csids == ("2a",):
        return _rsa("rook", next(_turns["rook"]))
    return Identity.generate([int(csid, 16) for csid in csids], os.urandom)


def js_identity(*csids: str) -> JsonObject | None:
    """Keys for a JavaScript peer where its own would take long, in its own form."""
    if csids != ("2a",):
        return None
    pair = _rsa("js", next(_turns["js"])).pairs[0x2A]
    keys, secrets = base32.encode(pair.key), base32.encode(pair.secret)
    return {"keys": {"2a": keys}, "secrets": {"2a": secrets}}


async def meet(rook: AsyncEndpoint, js: JsPeer, dialler: str = "rook") -> Neighbours:
    """Link the two; whoever does not dial accepts."""
    if dialler == "rook":
        await rook.link(js.link).up()
    else:
        await js.call("link", to=rook.address.json())
    link = await rook.links[js.hashname].up()
    await js.call("up", hashname=rook.hashname)
    return Neighbours(rook, js, link)


async def until(condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """Let the others run until something is so."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 (the JavaScript side has no event for it)
            await asyncio.sleep(0.01)
