"""What a chat carries: packets of a JSON head and, sometimes, a body.

profile {"type":"profile","id","text":name}                      a participant's name here
chat    {"type":"chat","id","text","after"?,"at"?,"state"?}      a text, or its correction
join    {"type":"join","id","from":hashname,"after"?,"at"?}      body: the newcomer's profile
ack     {"type":"ack","id","ack":"read"}                         what became of your message
"""

import msgspec

from rookery.errors import DecodeError, UsageError
from rookery.identity.hashname import is_hashname
from rookery.link.channels.message_id import parse_id
from rookery.wire.link.lob import HEAD_SIZE_MAX, JsonObject, Packet, integer, text

MESSAGE_SIZE_MAX = 1 << 16
TEXT_SIZE_MAX = 1 << 14
NAME_SIZE_MAX = 1 << 8
ACK_STATES = frozenset(["received", "read", "seen", "logged", "referred", "saved", "copied"])
ACTION_PREFIX = "/me "
_STATES = frozenset(["active", "inactive", "gone", "composing", "paused"])
_AT_MAX = 1 << 53


class ChatProfile(msgspec.Struct, frozen=True):
    """A participant's name and first id; the packet is kept, so that it is passed on unchanged."""

    id: str
    text: str
    packet: Packet

    @classmethod
    def create(cls, id_: str, name: str) -> "ChatProfile":
        _check_size(name, NAME_SIZE_MAX, "name")
        return cls(id_, name, Packet.of({"type": "profile", "id": id_, "text": name}))

    @classmethod
    def parse(cls, packet: Packet) -> "ChatProfile":
        head = packet.json
        if text(head, "type") != "profile":
            raise DecodeError("bad profile")
        name = text(head, "text") or ""
        if len(name.encode()) > NAME_SIZE_MAX or _size(packet) > MESSAGE_SIZE_MAX:
            raise DecodeError("a profile beyond all bounds")
        return cls(_id(head, "id"), name, packet)


class ChatText(msgspec.Struct, frozen=True):
    """A text. `after` is the newest message that its author had seen."""

    id: str
    text: str
    after: str | None = None
    at: int | None = None  # Unix seconds, by the author's clock
    state: str | None = None

    @property
    def is_action(self) -> bool:
        return self.text.startswith(ACTION_PREFIX)

    def packet(self) -> Packet:
        fields: JsonObject = {"after": self.after, "at": self.at, "state": self.state}
        return _packet({"type": "chat", "id": self.id, "text": self.text}, fields)


class ChatJoin(msgspec.Struct, frozen=True):
    """The leader's announcement of a participant, with its profile."""

    id: str
    joined: str
    profile: ChatProfile
    after: str | None = None
    at: int | None = None

    def packet(self) -> Packet:
        fields: JsonObject = {"after": self.after, "at": self.at}
        body = self.profile.packet.serialize()
        return _packet({"type": "join", "id": self.id, "from": self.joined}, fields, body)


class ChatAck(msgspec.Struct, frozen=True):
    """What became of the message `id`; never kept, never repeated."""

    id: str
    state: str

    def packet(self) -> Packet:
        return Packet.of({"type": "ack", "id": self.id, "ack": self.state})


Logged = ChatText | ChatJoin
Message = ChatText | ChatJoin | ChatAck


def parse_message(packet: Packet) -> Message:
    """Read one message of a chat channel, or raise DecodeError."""
    if _size(packet) > MESSAGE_SIZE_MAX:
        raise DecodeError("a message beyond all bounds")
    head = packet.json
    match text(head, "type"):
        case "chat":
            return _parse_text(head)
        case "join":
            return _parse_join(head, packet.body)
        case "ack":
            state = text(head, "ack")
            if state not in ACK_STATES:
                raise DecodeError("an ack of no known state")
            return ChatAck(_id(head, "id"), state)
        case _:
            raise DecodeError("bad message")


def compose(id_: str, said: str, after: str | None, at: int) -> ChatText:
    """A message of our own, or UsageError when it is too long."""
    _check_size(said, TEXT_SIZE_MAX, "text")
    message = ChatText(id_, said, after, at)
    if len(message.packet().head) > HEAD_SIZE_MAX:
        raise UsageError("the text has too many characters that JSON must escape")
    return message


def _parse_text(head: JsonObject) -> ChatText:
    said = text(head, "text")
    if said is None or len(said.encode()) > TEXT_SIZE_MAX:
        raise DecodeError("a chat message without a text, or with too long a one")
    state = text(head, "state")
    return ChatText(
        _id(head, "id"),
        said,
        _after(head),
        _at(head),
        state if state in _STATES else None,
    )


def _parse_join(head: JsonObject, body: bytes) -> ChatJoin:
    joined = text(head, "from")
    if joined is None or not is_hashname(joined):
        raise DecodeError("a join of nobody")
    profile = ChatProfile.parse(Packet.parse(body))
    return ChatJoin(_id(head, "id"), joined, profile, _after(head), _at(head))


def _packet(head: JsonObject, optional: JsonObject, body: bytes = b"") -> Packet:
    present = {key: value for key, value in optional.items() if value is not None}
    return Packet.of({**head, **present}, body)


def _id(head: JsonObject, key: str) -> str:
    value = text(head, key)
    if value is None:
        raise DecodeError(f"no {key}")
    parse_id(value)
    return value


def _after(head: JsonObject) -> str | None:
    return None if head.get("after") is None else _id(head, "after")


def _at(head: JsonObject) -> int | None:
    """A clock we cannot trust in any case: nonsense reads as none."""
    at = integer(head, "at")
    return at if at is not None and 0 <= at < _AT_MAX else None


def _size(packet: Packet) -> int:
    return len(packet.head) + len(packet.body)


def _check_size(said: str, size_max: int, what: str) -> None:
    try:
        size = len(said.encode())
    except UnicodeEncodeError as error:
        raise UsageError(f"the {what} is not valid Unicode") from error
    if size > size_max:
        raise UsageError(f"the {what} has {size} bytes; {size_max} are allowed")
