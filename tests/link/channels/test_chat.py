"""T3: a chat of two and of many, with the cores joined by a wire that can be cut."""

import json
from collections import deque
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rookery.errors import CongestionError, DeniedError, ProtocolError, UsageError
from rookery.link.channels.chat import Chat, ChatLimits
from rookery.link.channels.chat_chain import IdChain
from rookery.link.channels.chat_events import (
    AcknowledgeText,
    Action,
    AnswerChat,
    ChatAnswered,
    ChatMessageArrived,
    ChatOpened,
    CorrectText,
    Event,
    InviteParticipant,
    JoinRequested,
    Notice,
    OpenChat,
    ParticipantDisconnected,
    ParticipantJoined,
    ParticipantOffline,
    ParticipantOnline,
    ProfileArrived,
    SendChatPacket,
    SendProfile,
    SendText,
    TextAcknowledged,
    TextCorrected,
    TextReceived,
)
from rookery.link.channels.chat_message import ChatAck, ChatJoin, ChatProfile, ChatText
from rookery.link.channels.message_id import format_id
from rookery.wire import base32
from rookery.wire.link.lob import Packet

NAMES = ["alice", "bob", "carol", "dave"]
HASHNAMES = {name: base32.encode((name * 32)[:32].encode()) for name in NAMES}
ALICE, BOB, CAROL, DAVE = HASHNAMES.values()
AT = 1_700_000_000


def chain(hashname: str, depth: int = 40) -> IdChain:
    return IdChain(hashname, hashname[:8].encode(), depth)


class World:
    """Carries out the actions of several chats; `offline` ends reach nobody."""

    def __init__(self, limits: ChatLimits | None = None) -> None:
        self.chats = {ALICE: Chat.lead(ALICE, chain(ALICE), "Alice", AT, limits)}
        self.heard: dict[str, list[Notice]] = {hashname: [] for hashname in HASHNAMES.values()}
        self.offline: set[str] = set()
        self.refused: list[str] = []
        self._todo: deque[tuple[str, Action]] = deque()

    @property
    def id(self) -> str:
        return self.chats[ALICE].id

    def follow(self, hashname: str) -> Chat:
        chat = Chat.follow(hashname, chain(hashname), hashname[:3], ALICE, self.id)
        self.chats[hashname] = chat
        return chat

    def welcome(self, hashname: str) -> None:
        """Invite and accept."""
        self.follow(hashname)
        self.feed(ALICE, InviteParticipant(hashname, AT))

    def feed(self, hashname: str, event: Event) -> None:
        self._take(hashname, event)
        while self._todo:
            self._perform(*self._todo.popleft())

    def cut(self, hashname: str) -> None:
        self.offline.add(hashname)
        for other in self.chats:
            if other != hashname:
                self.feed(other, ParticipantDisconnected(hashname))
                self.feed(hashname, ParticipantDisconnected(other))

    def restore(self, hashname: str) -> None:
        self.offline.discard(hashname)
        self._todo.extend((hashname, action) for action in self.chats[hashname].reconnect())
        while self._todo:
            self._perform(*self._todo.popleft())

    def texts(self, hashname: str) -> list[str]:
        entries = self.chats[hashname].history
        return [entry.message.text for entry in entries if isinstance(entry.message, ChatText)]

    def _take(self, hashname: str, event: Event) -> None:
        for item in self.chats[hashname].handle(event):
            if isinstance(item, Action):
                self._todo.append((hashname, item))
            else:
                self.heard[hashname].append(item)

    def _perform(self, by: str, action: Action) -> None:
        if action.to not in self.chats or {by, action.to} & self.offline:
            return
        try:
            match action:
                case SendProfile(to, known):
                    self._take(to, ProfileArrived(by, self.chats[by].profile, known, AT))
                case OpenChat(to, last):
                    self._take(to, ChatOpened(by, last))
                case AnswerChat(to, last):
                    self._take(to, ChatAnswered(by, last))
                case SendChatPacket(to, packet):
                    self._take(to, ChatMessageArrived(by, Packet.parse(packet.serialize())))
        except ProtocolError as error:
            self.refused.append(str(error))


@pytest.fixture
def pair() -> World:
    world = World()
    world.welcome(BOB)
    return world


@pytest.fixture
def group(pair: World) -> World:
    pair.welcome(CAROL)
    return pair


def test_an_invited_participant_and_the_leader_exchange_messages(pair: World) -> None:
    pair.feed(ALICE, SendText("hi", AT))
    pair.feed(BOB, SendText("hello", AT))
    assert pair.texts(ALICE) == pair.texts(BOB) == ["hi", "hello"]
    assert [n.sender for n in pair.heard[BOB] if isinstance(n, TextReceived)] == [ALICE]
    assert ParticipantOnline(BOB) in pair.heard[ALICE]
    assert pair.refused == []


def test_the_leader_announces_first_itself_and_then_every_participant(group: World) -> None:
    joins = [e.message for e in group.chats[CAROL].history if isinstance(e.message, ChatJoin)]
    assert [join.joined for join in joins] == [ALICE, BOB, CAROL]
    assert group.chats[CAROL].participants.keys() == {ALICE, BOB, CAROL}
    assert [n.hashname for n in group.heard[BOB] if isinstance(n, ParticipantJoined)] == [
        ALICE,
        CAROL,
    ]


def test_participants_talk_to_each_other_without_the_leader(group: World) -> None:
    group.cut(ALICE)
    group.feed(BOB, SendText("is she gone?", AT))
    assert group.texts(CAROL) == ["is she gone?"]
    assert group.chats[BOB].present == {CAROL}
    assert ParticipantOffline(ALICE) in group.heard[BOB]


def test_a_returning_participant_gets_missed_messages_in_order(group: World) -> None:
    group.cut(CAROL)
    for number in range(5):
        group.feed(ALICE, SendText(f"a{number}", AT))
        group.feed(BOB, SendText(f"b{number}", AT))
    group.feed(CAROL, SendText("alone", AT))
    group.restore(CAROL)
    expected = [f"{who}{number}" for number in range(5) for who in "ab"]
    assert [text for text in group.texts(CAROL) if text != "alone"] == expected
    assert group.texts(ALICE)[-1] == "alone"


def test_the_last_message_can_be_corrected(pair: World) -> None:
    pair.feed(BOB, SendText("helo", AT))
    pair.feed(BOB, CorrectText("hello", AT))
    assert pair.texts(ALICE) == pair.texts(BOB) == ["hello"]
    assert [n.message.text for n in pair.heard[ALICE] if isinstance(n, TextCorrected)] == ["hello"]


def test_a_correction_made_while_away_arrives_with_the_next_connection(pair: World) -> None:
    pair.feed(BOB, SendText("helo", AT))
    pair.cut(BOB)
    pair.feed(BOB, CorrectText("hello", AT))
    pair.restore(BOB)
    assert pair.texts(ALICE) == ["hello"]


def test_only_a_text_of_our_own_can_be_corrected(pair: World) -> None:
    pair.feed(ALICE, SendText("mine", AT))
    with pytest.raises(UsageError):
        pair.feed(BOB, CorrectText("ours", AT))


def test_an_ack_goes_to_the_author_only(group: World) -> None:
    group.feed(ALICE, SendText("read this", AT))
    said = next(n for n in group.heard[BOB] if isinstance(n, TextReceived))
    group.feed(BOB, AcknowledgeText(said.message.id, "read"))
    assert TextAcknowledged(BOB, said.message.id, "read") in group.heard[ALICE]
    assert not any(isinstance(n, TextAcknowledged) for n in group.heard[CAROL])
    with pytest.raises(UsageError):
        group.feed(BOB, AcknowledgeText(said.message.id, "burnt"))
    with pytest.raises(UsageError):
        group.feed(ALICE, AcknowledgeText(said.message.id, "read"))
    group.cut(ALICE)
    group.feed(BOB, AcknowledgeText(said.message.id, "seen"))


def test_an_ack_of_a_message_that_is_not_ours_is_ignored(pair: World) -> None:
    packet = ChatAck(format_id(b"whatever"), "read").packet()
    assert pair.chats[ALICE].handle(ChatMessageArrived(BOB, packet)) == []


def test_a_stranger_asks_and_is_let_in() -> None:
    world = World()
    bob = world.follow(BOB)
    world.feed(BOB, InviteParticipant(ALICE, AT))
    assert world.heard[ALICE] == [JoinRequested(BOB, bob.profile)]
    with pytest.raises(ProtocolError, match="no profile"):
        world.chats[ALICE].handle(ChatOpened(BOB, world.id))
    world.feed(ALICE, InviteParticipant(BOB, AT))
    world.feed(BOB, SendText("thanks", AT))
    assert world.texts(ALICE) == ["thanks"]


def test_a_leader_that_forgot_our_profile_gets_it_again() -> None:
    """T7: the JavaScript leader grants a request by an invitation without `profile`."""
    bob = World().follow(BOB)
    bob.handle(InviteParticipant(ALICE, AT))
    leader = ChatProfile.create(bob.id, "Alice")
    outcome = bob.handle(ProfileArrived(ALICE, leader, None, AT))
    assert outcome == [ParticipantJoined(ALICE, leader), SendProfile(ALICE, leader.id)]
    outcome = bob.handle(ProfileArrived(ALICE, leader, bob.profile.id, AT))
    assert outcome == [OpenChat(ALICE, leader.id)]


def test_redundant_channels_repeat_without_effect(pair: World) -> None:
    """T7: the JavaScript peer opens up to three chat channels."""
    pair.feed(ALICE, SendText("once", AT))
    pair.feed(ALICE, SendText("twice", AT))
    bob = pair.chats[BOB]
    for last in (pair.id, pair.id, None):
        pair.feed(ALICE, ChatOpened(BOB, last))
    assert pair.texts(BOB) == ["once", "twice"]
    assert len(bob.history) == 4
    assert [n for n in pair.heard[ALICE] if isinstance(n, ParticipantOnline)] == [
        ParticipantOnline(BOB)
    ]
    assert pair.chats[ALICE].handle(ProfileArrived(BOB, bob.profile, pair.id, AT)) == []
    assert pair.chats[ALICE].handle(InviteParticipant(BOB, AT)) == []


def test_an_invitation_to_an_absent_participant_opens_a_channel_again(pair: World) -> None:
    pair.cut(BOB)
    assert pair.chats[ALICE].handle(InviteParticipant(BOB, AT)) == [
        OpenChat(BOB, pair.chats[BOB].profile.id)
    ]


def test_a_gap_is_reported_when_the_author_has_forgotten_messages() -> None:
    world = World(ChatLimits(history_max=3))
    world.welcome(BOB)
    world.cut(BOB)
    for number in range(10):
        world.feed(ALICE, SendText(str(number), AT))
    world.restore(BOB)
    assert world.texts(BOB) == ["7", "8", "9"]
    assert [n.missed for n in world.heard[BOB] if isinstance(n, TextReceived)] == [7, 0, 0]


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        (ChatOpened(DAVE, None), "no profile"),
        (ChatAnswered(DAVE, None), "no profile"),
        (ChatMessageArrived(DAVE, Packet()), "no profile"),
        (ChatOpened(ALICE, "aszkws5hqbamo"), "unknown last aszkws5hqbamo"),
        (ProfileArrived(DAVE, ChatProfile.create("aszkws5hqbamo", "D"), None, AT), "not invited"),
        (
            ProfileArrived(CAROL, ChatProfile.create("aszkws5hqbamo", "C"), None, AT),
            "profile changed",
        ),
        (ProfileArrived(ALICE, ChatProfile.create("aszkws5hqbamo", "A"), None, AT), "the leader's"),
    ],
)
def test_what_does_not_belong_is_refused(group: World, event: Event, complaint: str) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        group.chats[BOB].handle(event)


def test_an_id_out_of_sequence_proves_nothing(pair: World) -> None:
    forged = ChatText(format_id(b"8 bytes!"), "send money").packet()
    with pytest.raises(ProtocolError, match="unsequenced"):
        pair.chats[BOB].handle(ChatMessageArrived(ALICE, forged))
    reused = ChatText(pair.chats[BOB].profile.id, "the profile's own id").packet()
    assert pair.chats[ALICE].handle(ChatMessageArrived(BOB, reused)) == []


def follow_chain(world: World, hashname: str) -> IdChain:
    """The chain of somebody in the world, positioned at the first free id."""
    ids = chain(hashname)
    for _ in world.chats[hashname].history.of(hashname):
        ids.take()
    return ids


def test_joins_come_from_the_leader_and_must_agree(group: World) -> None:
    intruder = ChatProfile.create("aszkws5hqbamo", "X")
    bobs = follow_chain(group, BOB)
    with pytest.raises(ProtocolError, match="only the leader"):
        group.chats[CAROL].handle(
            ChatMessageArrived(BOB, ChatJoin(bobs.take(), DAVE, intruder).packet())
        )
    alices = follow_chain(group, ALICE)
    id_ = alices.take()
    with pytest.raises(ProtocolError, match="not ours"):
        group.chats[BOB].handle(ChatMessageArrived(ALICE, ChatJoin(id_, BOB, intruder).packet()))
    with pytest.raises(ProtocolError, match="profile changed"):
        group.chats[BOB].handle(ChatMessageArrived(ALICE, ChatJoin(id_, CAROL, intruder).packet()))


def test_a_refused_join_does_not_use_up_its_id(group: World) -> None:
    intruder = ChatProfile.create("aszkws5hqbamo", "X")
    id_ = follow_chain(group, ALICE).take()
    with pytest.raises(ProtocolError):
        group.chats[BOB].handle(ChatMessageArrived(ALICE, ChatJoin(id_, CAROL, intruder).packet()))
    group.feed(ALICE, SendText("still here", AT))
    assert "still here" in group.texts(BOB)


def test_the_number_of_participants_is_bounded() -> None:
    world = World(ChatLimits(participants_max=2))
    world.welcome(BOB)
    with pytest.raises(UsageError, match="at most 2"):
        world.chats[ALICE].handle(InviteParticipant(CAROL, AT))
    for hashname in (CAROL, DAVE):
        profile = ChatProfile.create("aszkws5hqbamo", "?")
        world.chats[ALICE].handle(ProfileArrived(hashname, profile, None, AT))
    stranger = base32.encode(bytes(32))
    with pytest.raises(ProtocolError, match="busy"):
        world.chats[ALICE].handle(ProfileArrived(stranger, profile, None, AT))


def test_a_leader_cannot_fill_the_memory_of_a_participant() -> None:
    bob = Chat.follow(BOB, chain(BOB), "Bob", ALICE, chain(ALICE).profile_id, ChatLimits(2))
    ids = chain(ALICE)
    bob.handle(ProfileArrived(ALICE, ChatProfile.create(ids.profile_id, "Alice"), None, AT))
    join = ChatJoin(ids.take(), CAROL, ChatProfile.create("aszkws5hqbamo", "C"))
    with pytest.raises(ProtocolError, match="too many"):
        bob.handle(ChatMessageArrived(ALICE, join.packet()))


@pytest.mark.parametrize(
    "limits", [{"participants_max": 1}, {"history_max": 0}, {"history_bytes_max": 1000}]
)
def test_limits_leave_room_for_a_chat(limits: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        ChatLimits(**limits)


def test_only_the_leader_invites_and_never_himself(pair: World) -> None:
    with pytest.raises(DeniedError):
        pair.chats[BOB].handle(InviteParticipant(CAROL, AT))
    with pytest.raises(UsageError):
        pair.chats[ALICE].handle(InviteParticipant(ALICE, AT))


def test_a_used_up_chain_says_so_and_too_long_a_text_costs_no_id() -> None:
    chat = Chat.lead(ALICE, chain(ALICE, depth=3), "Alice", AT)
    with pytest.raises(UsageError):
        chat.handle(SendText("x" * 20_000, AT))
    chat.handle(SendText("last words", AT))
    with pytest.raises(CongestionError):
        chat.handle(SendText("more", AT))


def test_a_disconnect_of_an_unknown_endpoint_changes_nothing(pair: World) -> None:
    assert pair.chats[ALICE].handle(ParticipantDisconnected(DAVE)) == []


def test_the_captured_javascript_chat_reads_as_it_was_written() -> None:
    """T7: a third participant follows the flow `chat` and verifies both chains of ids."""
    path = Path(__file__).parents[2] / "vectors" / "telehash.json"
    flow = json.loads(path.read_text())["flows_decrypted"]["flows"]["chat"]
    carried = [
        (line["from"], Packet.parse(Packet.parse(bytes.fromhex(line["inner"])).body))
        for line in flow
        if line["json"].get("enc") == "lob"
    ]
    hashnames, leader = {}, ChatProfile.parse(carried[0][1])
    for _, packet in carried:
        if packet.json["type"] == "join":
            name = str(ChatProfile.parse(Packet.parse(packet.body)).text).lower()
            hashnames[name] = str(packet.json["from"])
    chat = Chat.follow(CAROL, chain(CAROL), "Carol", hashnames["alice"], leader.id)
    chat.handle(ProfileArrived(hashnames["alice"], leader, None, AT))
    notices: list[Notice] = []
    # Carol hears the leader first: only from her does she know Bob.
    for sender, packet in sorted(carried, key=lambda item: item[0]):
        if packet.json["type"] != "profile":
            outcome = chat.handle(ChatMessageArrived(hashnames[sender], packet))
            notices += [item for item in outcome if not isinstance(item, Action)]
    said = [(n.sender, n.message.text, n.missed) for n in notices if isinstance(n, TextReceived)]
    assert sorted(said) == sorted(
        [
            (hashnames["alice"], "hello from alice", 0),
            (hashnames["bob"], "hi from bob", 0),
        ]
    )
    # Bob spoke first, and Alice's message says so, though Carol heard it the other way round.
    texts = [e.message.text for e in chat.history if isinstance(e.message, ChatText)]
    assert texts == ["hi from bob", "hello from alice"]


class Conversation(RuleBasedStateMachine):
    """Three talk while cables are pulled; when all are back, all have read the same."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(ChatLimits(history_max=500))
        self.world.welcome(BOB)
        self.world.welcome(CAROL)
        self.said: dict[str, list[str]] = {ALICE: [], BOB: [], CAROL: []}

    people = st.sampled_from([ALICE, BOB, CAROL])

    @rule(who=people)
    def say(self, who: str) -> None:
        if len(self.said[who]) < 30:
            text = f"{who[:2]}{len(self.said[who])}"
            self.said[who].append(text)
            self.world.feed(who, SendText(text, AT))

    @rule(who=people)
    def correct(self, who: str) -> None:
        if self.said[who]:
            self.said[who][-1] += "!"
            self.world.feed(who, CorrectText(self.said[who][-1], AT))

    @rule(who=people)
    def pull(self, who: str) -> None:
        self.world.cut(who)

    @rule(who=people)
    def plug(self, who: str) -> None:
        self.world.restore(who)

    @invariant()
    def nobody_is_misquoted(self) -> None:
        # Whoever learns of the other first is not known there yet; the other one then succeeds.
        assert set(self.world.refused) <= {"no profile"}
        for chat in self.world.chats.values():
            for who, said in self.said.items():
                heard = [m.text for m in chat.history.of(who) if isinstance(m, ChatText)]
                assert [text.rstrip("!") for text in heard] == [
                    text.rstrip("!") for text in said[: len(heard)]
                ]

    def teardown(self) -> None:
        for who in self.said:
            self.world.restore(who)
        for chat in self.world.chats.values():
            for who, said in self.said.items():
                assert [m.text for m in chat.history.of(who) if isinstance(m, ChatText)] == said


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
