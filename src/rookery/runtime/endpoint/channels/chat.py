"""Chats of one endpoint: starts them, joins them, answers invitations.

chats = Chats(endpoint.hashname, link_to)
endpoint.serve("profile", chats.handle_profile)
endpoint.serve("chat", chats.handle_chat)
room = chats.create("Alice"); await room.invite(bob)
async for notice in room: …
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import msgspec

from rookery.errors import CongestionError, DecodeError, ProtocolError, UsageError
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.hashname import is_hashname
from rookery.link.channels.chat import Chat, ChatLimits
from rookery.link.channels.chat_chain import IdChain
from rookery.link.channels.chat_message import ChatProfile
from rookery.link.channels.message_id import ID_SIZE, parse_id
from rookery.runtime.endpoint.channels.chat_channel import packets
from rookery.runtime.endpoint.channels.chat_room import ChatRoom, LinkTo, UnixSeconds
from rookery.runtime.endpoint.channels.interface import ChannelInterface
from rookery.wire.link.lob import Packet, text

ROOMS_MAX = 256
PROFILE_S = 30.0


class ChatInvitation(msgspec.Struct, frozen=True):
    """An invitation to a chat that the peer leads; pass it to `Chats.accept`."""

    leader: str
    profile: ChatProfile

    @property
    def chat_id(self) -> str:
        return self.profile.id


OnInvite = Callable[[ChatInvitation], Awaitable[None]]


class Chats:
    """All chats of one endpoint; without `on_invite`, invitations are refused."""

    def __init__(
        self,
        hashname: str,
        link_to: LinkTo,
        *,
        limits: ChatLimits | None = None,
        random: RandomBytes = os.urandom,
        unix_s: UnixSeconds = time.time,
    ) -> None:
        self.on_invite: OnInvite | None = None
        self._hashname = hashname
        self._link_to = link_to
        self._limits = limits or ChatLimits()
        self._random = random
        self._unix_s = unix_s
        self._rooms: dict[str, ChatRoom] = {}

    def create(self, name: str) -> ChatRoom:
        """A new chat, with us as its leader; `name` is how others see us."""
        at = int(self._unix_s())
        return self._room(Chat.lead(self._hashname, self._chain(), name, at, self._limits))

    def join(self, leader: str, chat_id: str, name: str) -> ChatRoom:
        """Ask the leader of a chat to let us in."""
        room = self._room(self._following(leader, chat_id, name))
        room.ask_in()
        return room

    def accept(self, invitation: ChatInvitation, name: str) -> ChatRoom:
        """Join a chat that we were invited to."""
        room = self._room(self._following(invitation.leader, invitation.chat_id, name))
        room.profile_arrived(invitation.leader, invitation.profile, None)
        return room

    def linked(self, hashname: str) -> None:
        """A link came up: resume chats with that peer."""
        for room in self._rooms.values():
            if hashname in room.participants and hashname not in room.present:
                room.reconnect()

    async def close(self) -> None:
        for room in list(self._rooms.values()):
            await room.close()

    async def handle_profile(self, channel: ChannelInterface) -> None:
        """Serve one `profile` channel."""
        head = channel.opening[0]
        chat_id = _chat_id(text(head, "chat"))
        profile = ChatProfile.parse(await _first_packet(channel))
        await channel.end()
        sender = channel.link.hashname
        room = self._rooms.get(chat_id)
        if room is not None:
            room.profile_arrived(sender, profile, text(head, "profile"))
        elif chat_id != profile.id:
            raise ProtocolError("unknown chat")
        elif self.on_invite is None:
            raise ProtocolError("cannot accept invites")
        else:
            await self.on_invite(ChatInvitation(sender, profile))

    async def handle_chat(self, channel: ChannelInterface) -> None:
        """Serve one `chat` channel."""
        room = self._rooms.get(_chat_id(text(channel.opening[0], "chat")))
        if room is None:
            raise ProtocolError("unknown chat")
        await room.serve(channel)

    def _following(self, leader: str, chat_id: str, name: str) -> Chat:
        if not is_hashname(leader) or leader == self._hashname:
            raise UsageError(f"{leader!r} is not the hashname of another")
        try:
            parse_id(chat_id)
        except DecodeError as error:
            raise UsageError(f"{chat_id!r} is not the id of a chat") from error
        return Chat.follow(self._hashname, self._chain(), name, leader, chat_id, self._limits)

    def _chain(self) -> IdChain:
        return IdChain(self._hashname, self._random(ID_SIZE))

    def _room(self, chat: Chat) -> ChatRoom:
        if chat.id in self._rooms:
            raise UsageError(f"already in chat {chat.id}")
        if len(self._rooms) >= ROOMS_MAX:
            raise CongestionError(f"already in {ROOMS_MAX} chats")
        room = ChatRoom(chat, self._link_to, self._unix_s, self._forget)
        self._rooms[chat.id] = room
        return room

    def _forget(self, chat_id: str) -> None:
        self._rooms.pop(chat_id, None)


def _chat_id(value: str | None) -> str:
    try:
        parse_id(value or "")
    except DecodeError as error:
        raise ProtocolError("invalid chat id") from error
    assert value is not None
    return value


async def _first_packet(channel: ChannelInterface) -> Packet:
    try:
        async with asyncio.timeout(PROFILE_S), aclosing(packets(channel)) as incoming:
            async for packet in incoming:
                return packet
    except TimeoutError as error:
        raise ProtocolError("timeout") from error
    raise ProtocolError("bad profile")
