"""Messages between hub, servers, devices and clients inside a sealed stream.

    | tag | length | msgpack map of the fields below |
    |  2  |   2    |             length              |

    hub → device     DIRECT (1026)                      device → hub     ASK (3074)
    hub → server     RESERVE (1029), RELEASE (1030)     device → server  ARRIVE (3076)
                     RENEWED (1031)
    server → hub     RESERVED, REFUSED, ARRIVED, ABANDONED (2050 to 2053)
                     HOLD, LET_GO, RENEW (2058 to 2060)
    server → hub     CERTIFY (2061)                     hub → server     CERTIFIED (1032)
    server → device, client  WELCOME (2054)             client → server  ATTEND (3077)
    any              ERROR (1), after which the sender closes

Keys of the maps are the names of the fields; unknown keys are ignored, so fields may be added.
The fields `router` and `router_…` are the device's. JSON-RPC travels in RPC and RPC_PART.
"""

from enum import IntEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from rookery.errors import DecodeError
from rookery.wire.fleet import tags
from rookery.wire.fleet.mac import MAC_SIZE
from rookery.wire.fleet.tlv import Tlv

SEAT_SIZE_MAX = 32
TICKET_SIZE_MAX = 64
TEXT_SIZE_MAX = 512
AUTHORITY_SIZE_MAX = 256
EXPECTED_MAX = 4
SECONDS_MAX = 3600
REQUEST_SIZE_MAX = 4096  # for a certificate
CHAIN_MAX = 4
CERTIFICATE_SIZE_MAX = 4096

Hashname = Annotated[str, Meta(min_length=52, max_length=52)]
Mac = Annotated[bytes, Meta(min_length=MAC_SIZE, max_length=MAC_SIZE)]
Digest = Annotated[bytes, Meta(min_length=32, max_length=32)]
Key2a = Annotated[bytes, Meta(min_length=294, max_length=294)]
Key40 = Annotated[bytes, Meta(max_length=64)]
Seat = Annotated[str, Meta(min_length=1, max_length=SEAT_SIZE_MAX)]
Ticket = Annotated[str, Meta(max_length=TICKET_SIZE_MAX)]
Text = Annotated[str, Meta(max_length=TEXT_SIZE_MAX)]
Authority = Annotated[bytes, Meta(max_length=AUTHORITY_SIZE_MAX)]
Expected = Annotated[list[Text], Meta(max_length=EXPECTED_MAX)]
Number = Annotated[int, Meta(ge=0)]
WishId = Annotated[int, Meta(ge=0)]  # up to 64 bits, which is what msgpack holds
Seconds = Annotated[int, Meta(gt=0, le=SECONDS_MAX)]


class FaultCode(IntEnum):
    """Why a connection ends; unknown codes read as they are."""

    PROTOCOL = 1  # a violation of the protocol
    DENIED = 2  # the sender of the request is not authorised
    NO_WISH = 3  # no open wish for this device: do not try again
    NO_SEAT = 4  # no such seat, or not with this ticket
    BUSY = 5  # a limit is reached: try again later
    CLOSING = 6  # the sender stops its service: try elsewhere or later


class FaultMessage(msgspec.Struct, frozen=True):
    """The last message before its sender closes."""

    code: int  # a FaultCode, or one of a newer version
    text: Text


class AskMessage(msgspec.Struct, frozen=True):
    """Device to hub: requests a server for a wish, after a call or a failed server."""

    wish: WishId


class ServerAddress(msgspec.Struct, frozen=True, omit_defaults=True):
    """A server's address and the keys that authenticate it."""

    hashname: Hashname
    tcp: Text  # "ip:port"
    key2a: Key2a
    digest40: Digest  # intermediate of its cipher set 40
    key40: Key40 = b""  # whose key it is; empty where its sealed streams take 2a alone


class DirectMessage(msgspec.Struct, frozen=True):
    """Hub to device: connect to that server and show it this ticket."""

    wish: WishId
    seat: Seat
    server: ServerAddress
    ticket: Ticket

    def __repr__(self) -> str:
        return (
            f"DirectMessage(wish={self.wish}, seat={self.seat!r}, server={self.server.hashname!r})"
        )


class ReserveMessage(msgspec.Struct, frozen=True):
    """Hub to server: reserve a seat for this device and this client."""

    seat: Seat
    mac: Mac
    router: Hashname
    client: Text  # the name of the account
    router_ticket_hash: Digest
    client_ticket_hash: Digest
    seconds: Seconds  # for the device to arrive, and then for the client to attend
    authority: Authority = b""  # for HOLD; empty: the seat needs no lease
    expected: Expected = []  # IP addresses of device and client as the hub saw them


class ReleaseMessage(msgspec.Struct, frozen=True):
    """Hub to server: the seat is not needed, or not allowed any more."""

    seat: Seat
    reason: Text = ""


class HoldMessage(msgspec.Struct, frozen=True):
    """Server to hub: this seat is held here, by the authority of its RESERVE."""

    seat: Seat
    mac: Mac
    router: Hashname
    authority: Authority


class LetGoMessage(msgspec.Struct, frozen=True):
    """Server to hub: this seat is free again."""

    seat: Seat


class RenewMessage(msgspec.Struct, frozen=True):
    """Server to hub: renew the leases of all seats held on this connection."""

    number: Number  # rises on each connection


class RenewedMessage(msgspec.Struct, frozen=True):
    """Hub to server: as of that RENEW, all seats held then are allowed, but for those released."""

    number: Number


class ReservedMessage(msgspec.Struct, frozen=True):
    """Server to hub: the seat is kept."""

    seat: Seat


class RefusedMessage(msgspec.Struct, frozen=True):
    """Server to hub: there is no seat."""

    seat: Seat
    reason: Text


class ArrivedMessage(msgspec.Struct, frozen=True):
    """Server to hub: the device has connected and is authenticated."""

    seat: Seat


class AbandonedMessage(msgspec.Struct, frozen=True):
    """Server to hub: the seat is given up before the client attended."""

    seat: Seat
    reason: Text


class ArriveMessage(msgspec.Struct, frozen=True):
    """Device to server: takes the seat that is reserved for it."""

    seat: Seat
    ticket: Ticket

    def __repr__(self) -> str:
        return f"ArriveMessage(seat={self.seat!r})"


class AttendMessage(msgspec.Struct, frozen=True):
    """Client to server: takes the client's side of the seat."""

    seat: Seat
    ticket: Ticket

    def __repr__(self) -> str:
        return f"AttendMessage(seat={self.seat!r})"


class WelcomeMessage(msgspec.Struct, frozen=True):
    """Server to device or client: the seat is taken; JSON-RPC may follow."""

    seat: Seat
    mac: Mac
    router: Hashname
    ticket: Ticket = ""  # for a client: proves, once, that it may come back
    seconds: int = 0  # for so long after its connection was lost

    def __repr__(self) -> str:
        return f"WelcomeMessage(seat={self.seat!r}, router={self.router!r})"


class CertifyMessage(msgspec.Struct, frozen=True):
    """Server to hub: sign this request (PKCS #10), so that browsers know me under its names."""

    request: Annotated[bytes, Meta(min_length=1, max_length=REQUEST_SIZE_MAX)]


class CertifiedMessage(msgspec.Struct, frozen=True):
    """Hub to server: the certificate, and those that it is signed by, as DER."""

    chain: Annotated[
        tuple[Annotated[bytes, Meta(max_length=CERTIFICATE_SIZE_MAX)], ...],
        Meta(min_length=1, max_length=CHAIN_MAX),
    ]


Message = (
    FaultMessage
    | AskMessage
    | DirectMessage
    | ReserveMessage
    | ReleaseMessage
    | ReservedMessage
    | RefusedMessage
    | ArrivedMessage
    | AbandonedMessage
    | ArriveMessage
    | AttendMessage
    | WelcomeMessage
    | HoldMessage
    | LetGoMessage
    | RenewMessage
    | RenewedMessage
    | CertifyMessage
    | CertifiedMessage
)

_TAGS: dict[type[Message], int] = {
    FaultMessage: tags.ERROR,
    AskMessage: tags.ASK,
    DirectMessage: tags.DIRECT,
    ReserveMessage: tags.RESERVE,
    ReleaseMessage: tags.RELEASE,
    ReservedMessage: tags.RESERVED,
    RefusedMessage: tags.REFUSED,
    ArrivedMessage: tags.ARRIVED,
    AbandonedMessage: tags.ABANDONED,
    ArriveMessage: tags.ARRIVE,
    AttendMessage: tags.ATTEND,
    WelcomeMessage: tags.WELCOME,
    HoldMessage: tags.HOLD,
    LetGoMessage: tags.LET_GO,
    RenewMessage: tags.RENEW,
    RenewedMessage: tags.RENEWED,
    CertifyMessage: tags.CERTIFY,
    CertifiedMessage: tags.CERTIFIED,
}
_DECODERS: dict[int, msgspec.msgpack.Decoder[Message]] = {
    tag: msgspec.msgpack.Decoder(kind) for kind, tag in _TAGS.items()
}
_encode = msgspec.msgpack.Encoder().encode


def encode(message: Message) -> Tlv:
    """The TLV to send through a sealed stream."""
    return Tlv(_TAGS[type(message)], _encode(message))


def decode(tlv: Tlv) -> Message:
    """The message in a TLV from a sealed stream, or DecodeError."""
    decoder = _DECODERS.get(tlv.tag)
    if decoder is None:
        raise DecodeError(f"tag {tlv.tag} is not a message of a rendezvous")
    try:
        return decoder.decode(tlv.value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"not a message of tag {tlv.tag}: {error}") from error
