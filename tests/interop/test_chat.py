"""Chat with telehash-js, led by either side (T4)."""

import asyncio

import pytest

from rookery.link.channels.chat_events import TextReceived
from rookery.runtime.endpoint.channels.chat import ChatInvitation, Chats
from rookery.runtime.endpoint.channels.chat_room import ChatRoom
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.link import AsyncLink
from tests.interop.js_peer import JsPeer
from tests.interop.rook import PAIRWISE, Neighbours, until

pytestmark = [pytest.mark.interop, pytest.mark.parametrize("wire", PAIRWISE, ids=str)]

OURS = ["caw", "caw caw " * 500]
THEIRS = ["Krächz", "to be continued"]


def chats_of(rook: AsyncEndpoint) -> Chats:
    async def link_to(hashname: str) -> AsyncLink:
        return await rook.links[hashname].up()

    chats = Chats(rook.hashname, link_to)
    rook.serve("profile", chats.handle_profile)
    rook.serve("chat", chats.handle_chat)
    return chats


async def heard_by_us(room: ChatRoom) -> list[str]:
    texts: list[str] = []
    async for notice in room:
        if isinstance(notice, TextReceived):
            texts.append(notice.message.text)
        if len(texts) == len(THEIRS):
            break
    return texts


async def heard_by_them(js: JsPeer, speaker: str) -> list[str]:
    """It hears a message again on every channel that it opens twice."""
    texts: dict[str, None] = {}
    while len(texts) < len(OURS):
        message = (await js.event("chat", **{"from": speaker}))["message"]
        assert isinstance(message, dict)
        if message["type"] == "chat":
            texts[str(message["text"])] = None
    return list(texts)


async def talk(rook: AsyncEndpoint, js: JsPeer, room: ChatRoom) -> None:
    await until(lambda: js.hashname in room.present)
    for ours, theirs in zip(OURS, THEIRS, strict=True):
        await room.send(ours)
        await js.call("chatSay", chat=room.id, text=theirs)
    assert await heard_by_us(room) == THEIRS
    assert await heard_by_them(js, rook.hashname) == OURS


async def test_they_invite_us(neighbours: Neighbours) -> None:
    rook, js, _ = neighbours
    chats = chats_of(rook)
    invited: asyncio.Queue[ChatInvitation] = asyncio.Queue()
    chats.on_invite = invited.put
    chat = (await js.call("chatCreate", name="js"))["chat"]
    await js.call("chatInvite", chat=chat, hashname=rook.hashname)
    invitation = await invited.get()
    assert (invitation.leader, invitation.profile.text) == (js.hashname, "js")
    async with chats.accept(invitation, "rook") as room:
        await talk(rook, js, room)


async def test_we_invite_them(neighbours: Neighbours) -> None:
    rook, js, _ = neighbours
    await js.call("chatServe", name="js")
    async with chats_of(rook).create("rook") as room:
        await room.invite(js.hashname)
        invited = await js.event("invited", hashname=rook.hashname)
        assert isinstance(invited["profile"], dict)
        assert invited["profile"]["text"] == "rook"
        await talk(rook, js, room)
