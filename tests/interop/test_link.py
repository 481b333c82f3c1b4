"""Links with telehash-js: up, kept, lost and found again (T2, T3, T7)."""

import asyncio

import pytest

from rookery.errors import ChannelError, UnreachableError
from rookery.link.link import LinkState
from rookery.runtime.endpoint.link import AsyncLink, LinkEvents
from tests.interop.js_peer import StartJsPeer
from tests.interop.rook import Neighbours, StartRook, Wire, meet, until
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.interop

KEEPALIVE_MS = 50
ROUNDS = 10


def agreed_at(link: AsyncLink) -> int:
    assert link.core.exchange is not None
    return link.core.exchange.at


async def test_a_link_comes_up_and_its_path_is_measured(neighbours: Neighbours, wire: Wire) -> None:
    rook, js, link = neighbours
    assert link.csid == int(wire.csid, 16)
    assert link.path is not None
    assert link.path.kind == wire.transport
    assert "latencyMs" in await js.call("path", hashname=rook.hashname)
    await until(lambda: link.core.observed is not None)


async def test_the_highest_common_cipher_set_is_used(js_peer: StartJsPeer, rook: StartRook) -> None:
    endpoint, js = await rook("40", "3a", "2a"), await js_peer("1a", "2a", "3a")
    assert (await meet(endpoint, js)).link.csid == 0x3A


@pytest.mark.parametrize("transport", ["udp4", "tcp4"])
async def test_their_keepalives_are_answered(
    js_peer: StartJsPeer, rook: StartRook, transport: str
) -> None:
    endpoint, js = await asyncio.gather(
        rook(transports=[transport]), js_peer(transports=[transport], keepalive_ms=KEEPALIVE_MS)
    )
    link = (await meet(endpoint, js)).link
    events = link.events()
    began = agreed_at(link)
    await until(lambda: agreed_at(link) >= began + 2 * ROUNDS)
    events.close()
    assert [state async for state in events] == []
    assert link.is_up
    assert "latencyMs" in await js.call("path", hashname=endpoint.hashname)


async def falls_and_rises(events: LinkEvents) -> None:
    async for state in events:
        if state is LinkState.DOWN:
            break
    async for state in events:
        if state is LinkState.UP:
            break


@pytest.mark.parametrize("transport", ["udp4", "tcp4"])
async def test_a_peer_that_restarts_is_linked_again(
    js_peer: StartJsPeer, rook: StartRook, transport: str
) -> None:
    endpoint, js = await asyncio.gather(
        rook(transports=[transport]), js_peer(transports=[transport])
    )
    link = (await meet(endpoint, js)).link
    events = link.events()
    await js.call("streamServe", mode="echo")
    stream = link.stream()
    stream.write(b"caw")
    assert await stream.readexactly(3) == b"caw"
    identity = await js.call("identity")
    await js.stop()
    again = await js_peer(transports=[transport], identity=identity)
    await again.call("link", to=endpoint.address.json())
    async with asyncio.timeout(PATIENCE_S):
        await falls_and_rises(events)
    with pytest.raises((ChannelError, UnreachableError)):
        await stream.read()
    await again.call("streamServe", mode="echo")
    stream = endpoint.links[js.hashname].stream()
    stream.write(b"caw caw")
    assert await stream.readexactly(7) == b"caw caw"


async def test_we_restart_and_are_linked_again(js_peer: StartJsPeer, rook: StartRook) -> None:
    """It speaks to our former address until its next keepalive finds that nobody answers there."""
    endpoint, js = await asyncio.gather(rook(), js_peer(keepalive_ms=KEEPALIVE_MS))
    await meet(endpoint, js)
    await endpoint.close()
    endpoint = await rook(identity=endpoint.identity)
    link = await endpoint.link(js.link).up()
    await js.call("streamServe", mode="echo")
    async with link.stream() as stream:
        stream.write(b"caw")
        assert await stream.readexactly(3) == b"caw"


async def test_a_stranger_is_not_answered_unless_accepted(
    js_peer: StartJsPeer, rook: StartRook
) -> None:
    endpoint, js = await asyncio.gather(rook(), js_peer())
    seen = asyncio.Queue[str]()
    endpoint.on_discover = lambda stranger: seen.put_nowait(stranger.hashname)
    await js.call("link", to=endpoint.address.json(), wait=False)
    assert await seen.get() == js.hashname
    assert not endpoint.links


async def test_an_unknown_channel_type_is_refused_on_both_sides(
    js_peer: StartJsPeer, rook: StartRook
) -> None:
    endpoint, js = await asyncio.gather(rook(), js_peer())
    link = (await meet(endpoint, js)).link
    assert await js.call("open", hashname=endpoint.hashname, type="caw") == {
        "error": "unknown type"
    }
    channel = link.open("caw")
    with pytest.raises(ChannelError, match="unknown type"):
        await channel.receive()
