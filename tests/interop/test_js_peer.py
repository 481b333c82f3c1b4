"""The harness against itself: telehash-js to telehash-js, so that a failure elsewhere is ours."""

import asyncio

import pytest

from tests.interop.js_peer import JsPeer, JsPeerError, StartJsPeer

pytestmark = pytest.mark.interop


async def linked(
    js_peer: StartJsPeer, csid: str = "3a", transport: str = "udp4"
) -> tuple[JsPeer, JsPeer]:
    ann, bob = await asyncio.gather(
        js_peer(csid, transports=[transport]), js_peer(csid, transports=[transport])
    )
    await ann.call("link", to=bob.link)
    await bob.up(ann.hashname)
    return ann, bob


@pytest.mark.parametrize("csid", ["1a", "2a", "3a"])
@pytest.mark.parametrize("transport", ["udp4", "tcp4"])
async def test_links_and_measures_the_path(js_peer: StartJsPeer, csid: str, transport: str) -> None:
    ann, bob = await linked(js_peer, csid, transport)
    assert "latencyMs" in await ann.call("path", hashname=bob.hashname)


async def test_several_cipher_sets_meet_at_the_highest_common_one(js_peer: StartJsPeer) -> None:
    ann, bob = await js_peer("1a", "3a"), await js_peer("1a", "2a", "3a")
    await ann.call("link", to=bob.link)
    await bob.up(ann.hashname)


async def test_known_only_acceptance_ignores_strangers(js_peer: StartJsPeer) -> None:
    ann, bob = await js_peer(), await js_peer(accept="known")
    await ann.call("link", to=bob.link, wait=False)
    offered = await bob.event("offered")
    assert (offered["hashname"], offered["accepted"]) == (ann.hashname, False)


async def test_thtp_request_is_answered(js_peer: StartJsPeer) -> None:
    ann, bob = await linked(js_peer)
    await bob.call("thtpServe")
    got = await ann.call("thtpRequest", hashname=bob.hashname, path="/a?b")
    assert got["text"] == '{"method":"GET","path":"/a?b","body":""}'
    posted = await ann.call("thtpRequest", hashname=bob.hashname, method="POST", body="rook")
    assert posted["status"] == 201
    assert '"body":"rook"' in str(posted["text"])


@pytest.mark.parametrize("transport", ["udp4", "tcp4"])
async def test_stream_echoes_byte_exactly(js_peer: StartJsPeer, transport: str) -> None:
    ann, bob = await linked(js_peer, transport=transport)
    await bob.call("streamServe", mode="echo")
    size = 100_000
    result = await ann.call("streamSend", hashname=bob.hashname, bytes=size, expect=size)
    assert result["sent"] == result["received"]
    assert (await bob.event("streamEnded"))["bytes"] == size


async def test_sock_reaches_a_tcp_server_behind_the_peer(js_peer: StartJsPeer) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(b"welcome")
            await writer.drain()
            await reader.read()
        finally:
            writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        ann, bob = await linked(js_peer)
        await bob.call("sockServe", allow=True)
        port = server.sockets[0].getsockname()[1]
        result = await ann.call(
            "sockConnect", hashname=bob.hashname, ip="127.0.0.1", port=port, expect=7
        )
    assert result["received"] == {
        "bytes": 7,
        "messages": 1,
        "sha256": "280d44ab1e9f79b5cce2dd4f58f5fe91f0fbacdac9f7447dffc318ceb79f2d02",
    }


async def test_chat_carries_text_both_ways(js_peer: StartJsPeer) -> None:
    ann, bob = await linked(js_peer)
    await bob.call("chatServe", name="bob")
    chat = (await ann.call("chatCreate", name="ann"))["chat"]
    await ann.call("chatInvite", chat=chat, hashname=bob.hashname)
    await ann.event("chat", message={"type": "connect"})
    await bob.event("chat", message={"type": "connect"})
    await ann.call("chatSay", chat=chat, text="caw")
    await bob.call("chatSay", chat=chat, text="caw caw")
    assert await said(bob, ann.hashname) == "caw"
    assert await said(ann, bob.hashname) == "caw caw"


async def said(listener: JsPeer, speaker: str) -> str:
    while True:
        event = await listener.event("chat", **{"from": speaker})
        message = event["message"]
        assert isinstance(message, dict)
        if message["type"] == "chat":
            return str(message["text"])


@pytest.mark.parametrize("keys_known", [True, False])
async def test_router_introduces_two_peers(js_peer: StartJsPeer, keys_known: bool) -> None:
    router, ann, bob = [await js_peer() for _ in range(3)]
    await router.call("router", on=True)
    for peer in (ann, bob):
        await peer.call("link", to=router.link)
        await router.up(peer.hashname)
    stranger = {"hashname": bob.hashname}
    to = {**stranger, "keys": bob.link["keys"]} if keys_known else stranger
    await ann.call("link", to=to, via=router.hashname)
    await bob.call("up", hashname=ann.hashname)
    await bob.call("streamServe", mode="echo")
    result = await ann.call("streamSend", hashname=bob.hashname, bytes=5000, expect=5000)
    assert result["sent"] == result["received"]


async def test_discovery_finds_a_neighbour(js_peer: StartJsPeer) -> None:
    ann, bob = await js_peer(), await js_peer()
    await ann.call("discover", on=True)
    await bob.call("discover", on=True)
    await ann.up(bob.hashname)
    await ann.call("discover", on=False)


async def test_a_failed_command_says_why(js_peer: StartJsPeer) -> None:
    ann = await js_peer()
    with pytest.raises(JsPeerError, match="no link to nobody"):
        await ann.call("path", hashname="nobody")
    with pytest.raises(JsPeerError, match="no command caw"):
        await ann.call("caw")


async def test_a_dead_peer_fails_its_calls(js_peer: StartJsPeer) -> None:
    ann = await js_peer()
    with pytest.raises(JsPeerError, match="the peer is gone"):
        await ann.call("exit")
