"""T3: chat rooms over channels, among ourselves and with a peer that behaves like JavaScript's."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rookery.errors import ChannelError, UnreachableError, UsageError
from rookery.link.channels.chat_chain import IdChain
from rookery.link.channels.chat_events import (
    JoinRequested,
    Notice,
    ParticipantJoined,
    ParticipantOffline,
    ParticipantOnline,
    ParticipantUnreachable,
    TextAcknowledged,
    TextCorrected,
    TextReceived,
)
from rookery.link.channels.chat_message import ChatJoin, ChatProfile, ChatText, parse_message
from rookery.runtime.endpoint.channels.chat import ChatInvitation, Chats
from rookery.runtime.endpoint.channels.chat_room import ERRORS_MAX, LINES_MAX, ChatRoom
from rookery.runtime.endpoint.channels.interface import ChannelOpener
from rookery.wire.link.lob import JsonObject, Packet
from tests.patience import PATIENCE_S
from tests.runtime.message_channel_pair import (
    ALICE,
    BOB,
    CAROL,
    BoardChannel,
    BoardLink,
    Switchboard,
    until,
)

NAMES = {ALICE: "Alice", BOB: "Bob", CAROL: "Carol"}


class Endpoint:
    """One participant; accepts every invitation."""

    def __init__(self, board: Switchboard, hashname: str) -> None:
        self.chats = Chats(hashname, self.link_to, unix_s=lambda: 1_700_000_000.5)
        self.chats.on_invite = self.invited
        self.rooms: list[ChatRoom] = []
        self._board = board
        self._hashname = hashname
        board.serve(hashname, "profile", self.chats.handle_profile)
        board.serve(hashname, "chat", self.chats.handle_chat)

    async def link_to(self, hashname: str) -> ChannelOpener:
        return self._board.link(self._hashname, hashname)

    async def invited(self, invitation: ChatInvitation) -> None:
        self.rooms.append(self.chats.accept(invitation, NAMES[self._hashname]))


class Party:
    """Alice leads."""

    def __init__(self, board: Switchboard) -> None:
        self.board = board
        self.ends = {hashname: Endpoint(board, hashname) for hashname in NAMES}
        self.room = self.ends[ALICE].chats.create("Alice")

    async def invite(self, hashname: str) -> ChatRoom:
        await self.room.invite(hashname)
        await until(lambda: hashname in self.room.present)
        return self.ends[hashname].rooms[0]


@pytest.fixture
async def party() -> AsyncIterator[Party]:
    async with Switchboard() as board:
        party = Party(board)
        yield party
        for end in party.ends.values():
            await end.chats.close()


async def hear(room: ChatRoom, kind: type[Notice]) -> Notice:
    async with asyncio.timeout(PATIENCE_S):
        async for notice in room:
            if isinstance(notice, kind):
                return notice
    raise AssertionError("the room was closed")


async def read_out(channel: BoardChannel) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await channel.receive() is not None:
            pass


def texts(room: ChatRoom) -> list[str]:
    return [e.message.text for e in room.history if isinstance(e.message, ChatText)]


async def test_two_talk(party: Party) -> None:
    bobs = await party.invite(BOB)
    id_ = await party.room.send("hi Bob")
    said = await hear(bobs, TextReceived)
    assert isinstance(said, TextReceived)
    assert (said.sender, said.message.text, said.message.at) == (ALICE, "hi Bob", 1_700_000_000)
    await bobs.acknowledge(id_)
    assert await hear(party.room, TextAcknowledged) == TextAcknowledged(BOB, id_, "read")
    await bobs.send("hi Alice " * 1000)
    await until(lambda: len(texts(party.room)) == 2)
    assert {name.text for name in bobs.participants.values()} == {"Alice", "Bob"}


async def test_a_correction_replaces_the_last_message(party: Party) -> None:
    bobs = await party.invite(BOB)
    await party.room.send("helo")
    await party.room.correct("hello")
    await hear(bobs, TextCorrected)
    assert texts(bobs) == ["hello"]


async def test_everybody_in_a_group_is_linked_with_everybody(party: Party) -> None:
    bobs, carols = await party.invite(BOB), await party.invite(CAROL)
    await until(lambda: bobs.present == {ALICE, CAROL} and carols.present == {ALICE, BOB})
    await party.room.close()
    await until(lambda: bobs.present == {CAROL})
    await bobs.send("she left")
    await until(lambda: texts(carols) == ["she left"])


async def test_what_was_said_while_away_arrives_on_return(party: Party) -> None:
    bobs = await party.invite(BOB)
    party.board.cut(ALICE, BOB)
    assert await hear(party.room, ParticipantOffline) == ParticipantOffline(BOB)
    for number in range(20):
        await party.room.send(f"a{number}")
    await bobs.send("b")
    party.board.restore(ALICE, BOB)
    party.ends[BOB].chats.linked(ALICE)
    party.ends[ALICE].chats.linked(BOB)
    await until(lambda: len(texts(bobs)) == len(texts(party.room)) == 21)
    assert [text for text in texts(bobs) if text != "b"] == [f"a{n}" for n in range(20)]


async def test_somebody_asks_to_be_let_in(party: Party) -> None:
    bobs = party.ends[BOB].chats.join(ALICE, party.room.id, "Bob")
    request = await hear(party.room, JoinRequested)
    assert isinstance(request, JoinRequested)
    await party.room.invite(request.hashname)
    await hear(bobs, ParticipantOnline)
    await bobs.send("thanks")
    await until(lambda: texts(party.room) == ["thanks"])


async def test_a_chat_that_is_not_there_refuses(party: Party) -> None:
    bobs = party.ends[BOB].chats.join(ALICE, "aszkws5hqbamo", "Bob")
    refused = await hear(bobs, ParticipantUnreachable)
    assert refused == ParticipantUnreachable(ALICE, "unknown chat")


async def test_without_a_handler_invitations_are_refused(party: Party) -> None:
    party.ends[BOB].chats.on_invite = None
    await party.room.invite(BOB)
    assert await hear(party.room, ParticipantUnreachable) == ParticipantUnreachable(
        BOB, "cannot accept invites"
    )


async def test_an_unreachable_invitee_is_reported(party: Party) -> None:
    party.board.cut(ALICE, BOB)
    await party.room.invite(BOB)
    assert await hear(party.room, ParticipantUnreachable) == ParticipantUnreachable(
        BOB, "the link is down"
    )


async def test_usage_errors_are_told_at_once(party: Party) -> None:
    chats = party.ends[BOB].chats
    with pytest.raises(UsageError, match="hashname"):
        chats.join("me", "aszkws5hqbamo", "Bob")
    with pytest.raises(UsageError, match="id of a chat"):
        chats.join(ALICE, "nonsense", "Bob")
    chats.join(ALICE, party.room.id, "Bob")
    with pytest.raises(UsageError, match="already"):
        chats.join(ALICE, party.room.id, "Bob")


@pytest.mark.parametrize(
    ("kind", "head", "complaint"),
    [
        ("profile", {}, "invalid chat id"),
        ("profile", {"chat": "short"}, "invalid chat id"),
        ("profile", {"chat": "aszkws5hqbamo"}, "bad profile"),
        ("chat", {}, "invalid chat id"),
        ("chat", {"chat": "aszkws5hqbamo"}, "unknown chat"),
    ],
)
async def test_channels_that_make_no_sense_are_refused(
    party: Party, kind: str, head: JsonObject, complaint: str
) -> None:
    channel = party.board.link(CAROL, ALICE).open(kind, head, end=True)
    with pytest.raises(ChannelError, match=complaint):
        await channel.receive()


async def test_a_line_of_nonsense_is_given_up(party: Party) -> None:
    bobs = await party.invite(BOB)
    link = party.board.link(BOB, ALICE)
    channel = link.open("chat", {"chat": bobs.id, "last": party.room.id})
    for _ in range(ERRORS_MAX):
        await channel.send({"enc": "lob"}, Packet.of({"type": "nonsense"}).serialize())
    assert BOB in party.room.present
    await channel.send({"enc": "lob"}, Packet.of({"type": "nonsense"}).serialize())
    with pytest.raises(ChannelError):
        await read_out(channel)
    assert party.room.present == {BOB}  # the other line is untouched


async def test_lines_per_participant_are_bounded(party: Party) -> None:
    bobs = await party.invite(BOB)
    link = party.board.link(BOB, ALICE)
    channels = [link.open("chat", {"chat": bobs.id}) for _ in range(LINES_MAX)]
    with pytest.raises(ChannelError, match="busy"):
        await read_out(channels[-1])


class JavaScript:
    """Bob as telehash-js plays him: keeps no invitation, opens channels more than once."""

    def __init__(self, link: BoardLink, leader: str) -> None:
        self.link = link
        self.leader = leader
        self.chain = IdChain(BOB, b"8 bytes!")
        self.profile = ChatProfile.create(self.chain.profile_id, "Bob")
        self.heard: list[ChatText | ChatJoin] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.chat_id = ""
        self.last = ""

    async def on_profile(self, channel: BoardChannel) -> None:
        """First without `profile`: an invitation, answered as if nothing were known."""
        message = await channel.receive()
        assert message is not None
        assert message.head["enc"] == "lob"
        leader = ChatProfile.parse(Packet.parse(message.body))
        self.chat_id = str(channel.opening.head["chat"])
        await channel.end()
        if "profile" not in channel.opening.head:
            answer = self.link.open("profile", {"chat": self.chat_id})
            await answer.send({"enc": "lob"}, self.profile.packet.serialize())
            await answer.end()
            return
        assert channel.opening.head["profile"] == self.profile.id
        self.last = leader.id
        for _ in range(2):
            head: JsonObject = {"chat": self.chat_id, "last": leader.id}
            self.spawn(self.link.open("chat", head), greet=True)

    async def on_chat(self, channel: BoardChannel) -> None:
        assert channel.opening.head["last"] == self.profile.id
        await channel.send({"last": self.last})
        await self.listen(channel)

    def spawn(self, channel: BoardChannel, *, greet: bool) -> None:
        self.tasks.add(asyncio.get_running_loop().create_task(self.opened(channel)))

    async def opened(self, channel: BoardChannel) -> None:
        answer = await channel.receive()
        assert answer is not None
        assert answer.head["last"] == self.profile.id
        if self.chain.last == self.profile.id:
            hello = ChatText(self.chain.take(), "hi from bob", None, 1)
            await channel.send({"enc": "lob"}, hello.packet().serialize())
        await self.listen(channel)

    async def listen(self, channel: BoardChannel) -> None:
        while (message := await channel.receive()) is not None:
            said = parse_message(Packet.parse(message.body))
            assert isinstance(said, ChatText | ChatJoin)
            self.heard.append(said)


async def test_a_javascript_peer_takes_part() -> None:
    """T7: the order of channels in the captured flow `chat`, seen from the leader."""
    async with Switchboard() as board:
        alice = Endpoint(board, ALICE)
        bob = JavaScript(board.link(BOB, ALICE), ALICE)
        board.serve(BOB, "profile", bob.on_profile)
        board.serve(BOB, "chat", bob.on_chat)
        room = alice.chats.create("Alice")
        await room.invite(BOB)
        said = await hear(room, TextReceived)
        assert isinstance(said, TextReceived)
        assert said.message.text == "hi from bob"
        await room.send("hello from alice")
        await until(lambda: any(isinstance(m, ChatText) for m in bob.heard))
        joins = [m.joined for m in bob.heard if isinstance(m, ChatJoin)]
        assert list(dict.fromkeys(joins)) == [ALICE, BOB]
        hello = next(m for m in bob.heard if isinstance(m, ChatText))
        assert (hello.text, hello.after) == ("hello from alice", said.message.id)
        opened = [channel.opening.head for channel in board.link(ALICE, BOB).opened]
        assert opened == [{"chat": room.id}, {"chat": room.id, "profile": bob.profile.id}]
        await alice.chats.close()
        for task in bob.tasks:
            task.cancel()
        await asyncio.gather(*bob.tasks, return_exceptions=True)


async def test_a_javascript_leader_is_followed() -> None:
    """T7: told that we hold its profile, it opens the chat channel itself."""
    async with Switchboard() as board:
        bob = Endpoint(board, BOB)
        chain = IdChain(ALICE, b"8 bytes!")
        profile = ChatProfile.create(chain.profile_id, "Alice")
        guest: list[ChatProfile] = []
        answered = asyncio.Event()

        async def on_profile(channel: BoardChannel) -> None:
            assert channel.opening.head["profile"] == profile.id
            message = await channel.receive()
            assert message is not None
            guest.append(ChatProfile.parse(Packet.parse(message.body)))
            answered.set()

        board.serve(ALICE, "profile", on_profile)
        link = board.link(ALICE, BOB)
        invitation = link.open("profile", {"chat": profile.id})
        await invitation.send({"enc": "lob"}, profile.packet.serialize())
        await invitation.end()
        async with asyncio.timeout(PATIENCE_S):
            await answered.wait()
        chat = link.open("chat", {"chat": profile.id, "last": guest[0].id})
        assert await chat.receive() == ({"last": profile.id}, b"")
        first = ChatJoin(chain.take(), ALICE, profile, None, 1)
        for message in (first, ChatJoin(chain.take(), BOB, guest[0], first.id, 1)):
            await chat.send({"enc": "lob"}, message.packet().serialize())
        room = bob.rooms[0]
        assert isinstance(await hear(room, ParticipantJoined), ParticipantJoined)
        await room.send("hi")
        reply = await chat.receive()
        assert reply is not None
        assert reply.head == {"enc": "lob"}
        said = parse_message(Packet.parse(reply.body))
        assert isinstance(said, ChatText)
        assert said.text == "hi"
        await chat.end()
        await bob.chats.close()


async def test_an_endpoint_without_a_link_to_the_leader_says_so() -> None:
    async def nowhere(hashname: str) -> ChannelOpener:
        raise UnreachableError("no path")

    chats = Chats(BOB, nowhere)
    async with chats.join(ALICE, "aszkws5hqbamo", "Bob") as room:
        assert await hear(room, ParticipantUnreachable) == ParticipantUnreachable(ALICE, "no path")
