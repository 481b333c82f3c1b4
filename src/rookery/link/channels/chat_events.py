"""What happens to a chat, what it wants done, and what the application should hear of it."""

import msgspec

from rookery.link.channels.chat_message import ChatProfile, ChatText
from rookery.wire.link.lob import Packet

# Events


class InviteParticipant(msgspec.Struct, frozen=True):
    """We admit a participant: on our invitation or at its own request."""

    hashname: str
    at: int


class ProfileArrived(msgspec.Struct, frozen=True):
    """A `profile` channel brought one; `known` is the profile of ours that they hold."""

    sender: str
    profile: ChatProfile
    known: str | None
    at: int


class ChatOpened(msgspec.Struct, frozen=True):
    """They opened a `chat` channel; `last` is the newest message of ours that they hold."""

    sender: str
    last: str | None


class ChatAnswered(msgspec.Struct, frozen=True):
    """They answered the `chat` channel that we opened."""

    sender: str
    last: str | None


class ChatMessageArrived(msgspec.Struct, frozen=True):
    sender: str
    packet: Packet


class ParticipantDisconnected(msgspec.Struct, frozen=True):
    """No `chat` channel with them is left."""

    hashname: str


class SendText(msgspec.Struct, frozen=True):
    text: str
    at: int


class CorrectText(msgspec.Struct, frozen=True):
    """Replace our last message, as long as it is our last."""

    text: str
    at: int


class AcknowledgeText(msgspec.Struct, frozen=True):
    """Tell the author of a message what became of it."""

    id: str
    state: str


Event = (
    InviteParticipant
    | ProfileArrived
    | ChatOpened
    | ChatAnswered
    | ChatMessageArrived
    | ParticipantDisconnected
    | SendText
    | CorrectText
    | AcknowledgeText
)

# Actions


class SendProfile(msgspec.Struct, frozen=True):
    """Open a `profile` channel; `known` tells them which of theirs we hold."""

    to: str
    known: str | None


class OpenChat(msgspec.Struct, frozen=True):
    to: str
    last: str


class AnswerChat(msgspec.Struct, frozen=True):
    """Answer the `chat` channel that was just opened to us, which is the one to use from now."""

    to: str
    last: str


class SendChatPacket(msgspec.Struct, frozen=True):
    to: str
    packet: Packet


# Notices for the application


class TextReceived(msgspec.Struct, frozen=True):
    """`missed` messages before this one were lost for good: their author no longer has them."""

    sender: str
    message: ChatText
    missed: int = 0


class TextCorrected(msgspec.Struct, frozen=True):
    sender: str
    message: ChatText


class ParticipantJoined(msgspec.Struct, frozen=True):
    hashname: str
    profile: ChatProfile


class JoinRequested(msgspec.Struct, frozen=True):
    """An endpoint asks the leader to join; grant it with `InviteParticipant`."""

    hashname: str
    profile: ChatProfile


class TextAcknowledged(msgspec.Struct, frozen=True):
    sender: str
    id: str
    state: str


class ParticipantOnline(msgspec.Struct, frozen=True):
    """Connected with them now."""

    hashname: str


class ParticipantOffline(msgspec.Struct, frozen=True):
    hashname: str


class ParticipantUnreachable(msgspec.Struct, frozen=True):
    """They could not be reached, or would not have our profile or channel."""

    hashname: str
    reason: str


Notice = (
    TextReceived
    | TextCorrected
    | ParticipantJoined
    | JoinRequested
    | TextAcknowledged
    | ParticipantOnline
    | ParticipantOffline
    | ParticipantUnreachable
)
Action = SendProfile | OpenChat | AnswerChat | SendChatPacket
Outcome = list[Action | Notice]
