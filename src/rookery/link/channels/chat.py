"""`chat`: a conversation of two or more, without a server.

    leader ── profile ──▶ participant    an invitation: the chat's id is the leader's profile id
    leader ◀─ profile ─── participant    accepted; `profile` names the one just received
    leader ── chat ─────▶ participant    either side opens it: {"chat","last"}, answer {"last"}
    leader ◀─ messages ─▶ participant    first all that is newer than `last`, oldest first

The leader announces every participant by a `join` message; participants then open `chat` channels
with each other. `Chat` is one end's view of one conversation: events in, actions and notices out.
What a peer may not do raises ProtocolError, whose text the channel's `err` then carries.
"""

from typing import assert_never

import msgspec

from rookery.errors import DeniedError, ProtocolError, UsageError
from rookery.link.channels.chat_chain import IdChain, steps
from rookery.link.channels.chat_events import (
    AcknowledgeText,
    AnswerChat,
    ChatAnswered,
    ChatMessageArrived,
    ChatOpened,
    CorrectText,
    Event,
    InviteParticipant,
    JoinRequested,
    OpenChat,
    Outcome,
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
from rookery.link.channels.chat_history import ChatHistory
from rookery.link.channels.chat_message import (
    ACK_STATES,
    MESSAGE_SIZE_MAX,
    ChatAck,
    ChatJoin,
    ChatProfile,
    ChatText,
    Logged,
    compose,
    parse_message,
)
from rookery.wire.link.lob import Packet


class ChatLimits(msgspec.Struct, frozen=True):
    participants_max: int = 64
    history_max: int = 1000
    history_bytes_max: int = 1 << 22

    def __post_init__(self) -> None:
        if self.participants_max < 2 or self.history_max < 1:
            raise UsageError("a chat needs two participants and one message")
        if self.history_bytes_max < MESSAGE_SIZE_MAX * 2:
            raise UsageError("the history must hold at least one message of full size")


class _Participant:
    """The state of another participant."""

    __slots__ = ("last", "present", "profile")

    def __init__(self, profile: ChatProfile) -> None:
        self.profile = profile
        self.last = profile.id
        self.present = False


class Chat:
    """Built by `lead` or `follow`; afterwards everything goes through `handle`."""

    def __init__(
        self, hashname: str, chain: IdChain, name: str, leader: str, id_: str, limits: ChatLimits
    ) -> None:
        self.hashname = hashname
        self.leader = leader
        self.id = id_
        self.profile = ChatProfile.create(chain.profile_id, name)
        self.history = ChatHistory(limits.history_max, limits.history_bytes_max)
        self._chain = chain
        self._limits = limits
        self._others: dict[str, _Participant] = {}
        self._invited: set[str] = set()
        self._requests: dict[str, ChatProfile] = {}

    @classmethod
    def lead(
        cls, hashname: str, chain: IdChain, name: str, at: int, limits: ChatLimits | None = None
    ) -> "Chat":
        """A new chat; its first message is the leader's own join."""
        limits = limits or ChatLimits()
        chat = cls(hashname, chain, name, hashname, chain.profile_id, limits)
        chat.history.add(hashname, ChatJoin(chain.take(), hashname, chat.profile, None, at))
        return chat

    @classmethod
    def follow(
        cls,
        hashname: str,
        chain: IdChain,
        name: str,
        leader: str,
        id_: str,
        limits: ChatLimits | None = None,
    ) -> "Chat":
        """A peer's chat, entered by `InviteParticipant(leader)` or by the leader's profile."""
        return cls(hashname, chain, name, leader, id_, limits or ChatLimits())

    @property
    def leading(self) -> bool:
        return self.leader == self.hashname

    @property
    def participants(self) -> dict[str, ChatProfile]:
        """All participants of the chat, ourselves included."""
        others = {hashname: other.profile for hashname, other in self._others.items()}
        return {self.hashname: self.profile, **others}

    @property
    def present(self) -> frozenset[str]:
        return frozenset(hashname for hashname, other in self._others.items() if other.present)

    def handle(self, event: Event) -> Outcome:
        match event:
            case InviteParticipant(hashname, at):
                return self._invite(hashname, at)
            case ProfileArrived(sender, profile, known, at):
                return self._profile_arrived(sender, profile, known, at)
            case ChatOpened(sender, last):
                other = self._participant(sender)
                return [AnswerChat(sender, other.last), *self._connected(sender, other, last)]
            case ChatAnswered(sender, last):
                return self._connected(sender, self._participant(sender), last)
            case ChatMessageArrived(sender, packet):
                return self._message_arrived(sender, packet)
            case ParticipantDisconnected(hashname):
                return self._disconnected(hashname)
            case SendText(text, at):
                return self._say(text, at)
            case CorrectText(text, at):
                return self._correct(text, at)
            case AcknowledgeText(id_, state):
                return self._acknowledge(id_, state)
            case _:
                assert_never(event)

    def reconnect(self) -> list[OpenChat]:
        """The channels to open to participants that are not connected."""
        return [
            OpenChat(hashname, other.last)
            for hashname, other in self._others.items()
            if not other.present
        ]

    def _invite(self, hashname: str, at: int) -> Outcome:
        if not self.leading and hashname != self.leader:
            raise DeniedError("only the leader of a chat invites")
        if hashname == self.hashname:
            raise UsageError("an invitation to oneself")
        if (other := self._others.get(hashname)) is not None:
            return [] if other.present else [OpenChat(hashname, other.last)]
        if len(self._invited | self._others.keys()) >= self._limits.participants_max - 1:
            raise UsageError(f"a chat has at most {self._limits.participants_max} participants")
        self._invited.add(hashname)
        requested = self._requests.pop(hashname, None)
        if requested is None:
            return [SendProfile(hashname, None)]
        return [SendProfile(hashname, requested.id), *self._admit(hashname, requested, at)]

    def _profile_arrived(
        self, sender: str, profile: ChatProfile, known: str | None, at: int
    ) -> Outcome:
        if sender == self.leader and profile.id != self.id:
            raise ProtocolError("the leader's profile is not the chat's")
        outcome: Outcome = []
        other = self._others.get(sender)
        if other is not None:
            if other.profile.id != profile.id:
                raise ProtocolError("profile changed")
        elif sender == self.leader or sender in self._invited:
            outcome += self._admit(sender, profile, at)
        elif self.leading:
            return self._request(sender, profile)
        else:
            raise ProtocolError("not invited")
        if known != self.profile.id:
            return [*outcome, SendProfile(sender, profile.id)]
        if not self._others[sender].present:
            outcome.append(OpenChat(sender, self._others[sender].last))
        return outcome

    def _request(self, sender: str, profile: ChatProfile) -> Outcome:
        if sender not in self._requests and len(self._requests) >= self._limits.participants_max:
            raise ProtocolError("busy")
        self._requests[sender] = profile
        return [JoinRequested(sender, profile)]

    def _admit(self, hashname: str, profile: ChatProfile, at: int) -> Outcome:
        """A new participant joins; the leader sends this to all others."""
        if len(self._others) >= self._limits.participants_max - 1:
            raise ProtocolError("too many participants")
        self._others[hashname] = _Participant(profile)
        self._invited.discard(hashname)
        outcome: Outcome = [ParticipantJoined(hashname, profile)]
        if self.leading:
            join = ChatJoin(self._chain.take(), hashname, profile, self.history.newest, at)
            outcome += self._publish(join)
        return outcome

    def _connected(self, sender: str, other: _Participant, last: str | None) -> Outcome:
        """A channel is ready: everything of ours that they lack, oldest first."""
        age = 0 if last is None else self._chain.age(last)
        if age is None:
            raise ProtocolError(f"unknown last {last}")
        outcome: Outcome = [] if other.present else [ParticipantOnline(sender)]
        other.present = True
        for message in self.history.of(self.hashname):
            own_age = self._chain.age(message.id)
            assert own_age is not None
            # An own message may have been corrected since they saw it, so `last` goes out again.
            if own_age >= max(age, 1):
                outcome.append(SendChatPacket(sender, message.packet()))
        return outcome

    def _message_arrived(self, sender: str, packet: Packet) -> Outcome:
        other = self._participant(sender)
        message = parse_message(packet)
        if isinstance(message, ChatAck):
            mine = self._chain.age(message.id) is not None
            return [TextAcknowledged(sender, message.id, message.state)] if mine else []
        logged = self.history.find(message.id)
        if logged is not None and logged.sender == sender and message.id != other.last:
            return []  # repeated by a redundant channel
        if message.id == other.last:
            return self._corrected(sender, message)
        distance = steps(sender, message.id, other.last)
        if distance is None:
            raise ProtocolError("unsequenced message")
        if isinstance(message, ChatJoin):
            outcome = self._joined(sender, message)
        else:
            outcome = [TextReceived(sender, message, distance - 1)]
        other.last = message.id
        self.history.add(sender, message)
        return outcome

    def _corrected(self, sender: str, message: Logged) -> Outcome:
        """An id used again: the same message repeated, or its correction."""
        logged = self.history.find(message.id)
        if (
            logged is None
            or not isinstance(message, ChatText)
            or not isinstance(logged.message, ChatText)
        ):
            return []
        if logged.message.text == message.text:
            return []
        self.history.replace(message)
        return [TextCorrected(sender, message)]

    def _joined(self, sender: str, join: ChatJoin) -> Outcome:
        if sender != self.leader:
            raise ProtocolError("only the leader announces participants")
        if join.joined == self.hashname:
            if join.profile.id != self.profile.id:
                raise ProtocolError("announced under a profile that is not ours")
            return []
        known = self._others.get(join.joined)
        if known is not None:
            if known.profile.id != join.profile.id:
                raise ProtocolError("profile changed")
            return []
        # Both sides open a channel: the one that learns of the other last is known there by then.
        outcome = self._admit(join.joined, join.profile, 0)
        return [*outcome, OpenChat(join.joined, join.profile.id)]

    def _disconnected(self, hashname: str) -> Outcome:
        other = self._others.get(hashname)
        if other is None or not other.present:
            return []
        other.present = False
        return [ParticipantOffline(hashname)]

    def _say(self, text: str, at: int) -> Outcome:
        compose(self._chain.last, text, None, at)  # a text that is too long must not cost an id
        return self._publish(compose(self._chain.take(), text, self.history.newest, at))

    def _correct(self, text: str, at: int) -> Outcome:
        logged = self.history.find(self._chain.last)
        if logged is None or not isinstance(logged.message, ChatText):
            raise UsageError("there is no message of ours to correct")
        message = compose(logged.message.id, text, logged.message.after, at)
        self.history.replace(message)
        return [SendChatPacket(hashname, message.packet()) for hashname in sorted(self.present)]

    def _acknowledge(self, id_: str, state: str) -> Outcome:
        if state not in ACK_STATES:
            raise UsageError(f"{state!r} is none of {', '.join(sorted(ACK_STATES))}")
        logged = self.history.find(id_)
        if logged is None or logged.sender == self.hashname:
            raise UsageError(f"no message {id_} of anybody else")
        author = self._others.get(logged.sender)
        if author is None or not author.present:
            return []
        return [SendChatPacket(logged.sender, ChatAck(id_, state).packet())]

    def _publish(self, message: Logged) -> Outcome:
        self.history.add(self.hashname, message)
        return [SendChatPacket(hashname, message.packet()) for hashname in sorted(self.present)]

    def _participant(self, sender: str) -> _Participant:
        other = self._others.get(sender)
        if other is None:
            raise ProtocolError("no profile")
        return other
