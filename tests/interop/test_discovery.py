"""Announcements on the local network, heard by each other (T6)."""

import asyncio

import pytest

from rookery.link.session.handshake import Stranger
from tests.interop.js_peer import StartJsPeer
from tests.interop.rook import StartRook

# Whoever is on this machine hears every announcement, so these tests share one worker.
pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("discovery")]


@pytest.mark.parametrize("csid", ["3a", "2a", "1a"])
async def test_we_hear_them(js_peer: StartJsPeer, rook: StartRook, csid: str) -> None:
    endpoint, js = await asyncio.gather(rook(csid), js_peer(csid))
    heard: asyncio.Queue[Stranger] = asyncio.Queue()
    endpoint.on_discover = heard.put_nowait
    await js.call("discover", on=True)
    while (stranger := await heard.get()).hashname != js.hashname:
        pass  # another test's
    assert not stranger.is_proven
    assert not endpoint.links
    await endpoint.link(stranger).up()


@pytest.mark.parametrize("csid", ["3a", "2a", "1a"])
async def test_they_hear_us(js_peer: StartJsPeer, rook: StartRook, csid: str) -> None:
    endpoint, js = await asyncio.gather(rook(csid), js_peer(csid))
    await js.call("discover", on=True)
    endpoint.discover()
    await js.event("offered", hashname=endpoint.hashname)
    await js.up(endpoint.hashname)
    assert (await endpoint.links[js.hashname].up()).is_up
