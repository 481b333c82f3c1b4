"""Introductions across the two kinds: their router for ours, ours for theirs (T5)."""

import asyncio
import os

import pytest

from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.link import AsyncLink
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import PeerPath
from tests.interop.js_peer import JsPeer, StartJsPeer
from tests.interop.rook import StartRook, until

pytestmark = pytest.mark.interop

SIZE = 100_000

with_keys = pytest.mark.parametrize("with_keys", [True, False], ids=["keys known", "name only"])
over = pytest.mark.parametrize("transport", ["udp4", "tcp4"])


async def echo(stream: LinkStream) -> None:
    async for data in stream:
        stream.write(data)
        await stream.drain()


def named(keys: object, hashname: str, *, with_keys: bool) -> JsonObject:
    """How the one who asks knows the other: nobody tells it an address."""
    return {"hashname": hashname, "keys": keys} if with_keys else {"hashname": hashname}


async def echoes(link: AsyncLink) -> None:
    sent = os.urandom(SIZE)
    async with link.stream() as stream:
        stream.write(sent)
        assert await stream.readexactly(SIZE) == sent


async def js_echoes(js: JsPeer, hashname: str) -> None:
    """Once the other side is up, too: it would lose the opening, and this one not repeat it."""
    result = await js.call("streamSend", hashname=hashname, bytes=SIZE, expect=SIZE)
    sent, received = result["sent"], result["received"]
    assert isinstance(sent, dict)
    assert isinstance(received, dict)
    assert (received["bytes"], received["sha256"]) == (SIZE, sent["sha256"])


async def through_theirs(js_peer: StartJsPeer, *rooks: AsyncEndpoint) -> JsPeer:
    """A JavaScript router that our endpoints trust and are linked with."""
    router = await js_peer(transports=["udp4", "tcp4"])
    await router.call("router", on=True)
    for rook in rooks:
        link = rook.link(router.link)
        link.router()
        await link.up()
        await router.call("up", hashname=rook.hashname)
    return router


async def hidden(js_peer: StartJsPeer, transport: str) -> JsPeer:
    """A JavaScript peer that tells nobody where it is."""
    js = await js_peer(transports=[transport])
    await js.call("hide")
    return js


@with_keys
async def test_their_router_bridges_two_of_ours(
    js_peer: StartJsPeer, rook: StartRook, with_keys: bool
) -> None:
    """Neither listens anywhere, so everything goes through the router."""
    ann, bob = [await rook(transports=[]) for _ in range(2)]
    bob.on_stream(echo)
    await through_theirs(js_peer, ann, bob)
    address = bob.address.json()
    link = await ann.link(named(address["keys"], bob.hashname, with_keys=with_keys)).up()
    assert isinstance(link.path, PeerPath)
    await echoes(link)
    assert isinstance(link.path, PeerPath)


@with_keys
async def test_their_router_introduces_two_of_ours_who_then_meet_directly(
    js_peer: StartJsPeer, rook: StartRook, with_keys: bool
) -> None:
    ann, bob = [await rook() for _ in range(2)]
    bob.on_stream(echo)
    await through_theirs(js_peer, ann, bob)
    address = bob.address.json()
    link = await ann.link(named(address["keys"], bob.hashname, with_keys=with_keys)).up()
    await until(lambda: link.path in bob.address.paths)
    await echoes(link)


@with_keys
@over
async def test_their_router_bridges_us_to_one_of_theirs(
    js_peer: StartJsPeer, rook: StartRook, transport: str, with_keys: bool
) -> None:
    ann = await rook(transports=[])
    router = await through_theirs(js_peer, ann)
    js = await hidden(js_peer, transport)
    await js.call("streamServe", mode="echo")
    await js.call("link", to=router.link)
    await router.up(js.hashname)
    link = await ann.link(named(js.link["keys"], js.hashname, with_keys=with_keys)).up()
    assert isinstance(link.path, PeerPath)
    await echoes(link)


@with_keys
@over
async def test_their_router_bridges_one_of_theirs_to_us(
    js_peer: StartJsPeer, rook: StartRook, transport: str, with_keys: bool
) -> None:
    ann = await rook(transports=[])
    ann.on_stream(echo)
    router = await through_theirs(js_peer, ann)
    js = await hidden(js_peer, transport)
    await js.call("link", to=router.link)
    await router.up(js.hashname)
    to = named(ann.address.json()["keys"], ann.hashname, with_keys=with_keys)
    await js.call("link", to=to, via=router.hashname)
    await ann.links[js.hashname].up()
    await js_echoes(js, ann.hashname)


@with_keys
@over
async def test_our_router_bridges_two_of_theirs(
    js_peer: StartJsPeer, rook: StartRook, transport: str, with_keys: bool
) -> None:
    router, ann, bob = await asyncio.gather(
        rook(transports=["udp4", "tcp4"]), hidden(js_peer, transport), hidden(js_peer, transport)
    )
    router.route()
    for js in (ann, bob):
        await js.call("link", to=router.address.json())
        await router.links[js.hashname].up()
    await bob.call("streamServe", mode="echo")
    to = named(bob.link["keys"], bob.hashname, with_keys=with_keys)
    await ann.call("link", to=to, via=router.hashname)
    await bob.call("up", hashname=ann.hashname)
    await js_echoes(ann, bob.hashname)
    assert (await bob.event("streamEnded"))["bytes"] == SIZE


@with_keys
@over
async def test_our_router_bridges_one_of_ours_to_one_of_theirs(
    js_peer: StartJsPeer, rook: StartRook, transport: str, with_keys: bool
) -> None:
    router, ann, js = await asyncio.gather(
        rook(transports=["udp4", "tcp4"]), rook(transports=[]), hidden(js_peer, transport)
    )
    router.route()
    await js.call("link", to=router.address.json())
    await router.links[js.hashname].up()
    await js.call("streamServe", mode="echo")
    trusted = ann.link(router.address.json())
    trusted.router()
    await trusted.up()
    link = await ann.link(named(js.link["keys"], js.hashname, with_keys=with_keys)).up()
    await echoes(link)
