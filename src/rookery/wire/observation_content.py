"""Observations that nodes, outboxes and brokers put into a spool, as msgpack maps.

    | LINK          | a neighbour as the node measures it, again and again          |
    | RECORD        | a change of a node's record in the database of another        |
    | DECISION      | a change of one of the node's own routes                      |
    | REQUEST       | a request of an outbox that has ended                         |
    | MESSAGE       | a message of a theme that is marked for the lake              |

Like reports these have `t` (wall milliseconds of the observer), and `b` and `n`, which together
are unique: `b` is new with each start, `n` counts from 1. Unknown values are absent.
Observations of sessions are reports: wire.fleet.telemetry.SessionReport.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from rookery.errors import DecodeError, UsageError
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import Amount, Count, Name, Ratio, Text
from rookery.wire.mesh.forward import ROUTE_MAX
from rookery.wire.mesh.record import LINKS_MAX
from rookery.wire.observation import (
    CALLED,
    CONTENT_SIZE_MAX,
    DECISION,
    DEVICE,
    LINK,
    MESSAGE,
    RECORD,
    REQUEST,
    SERVER,
    SESSION,
)

PAYLOAD_SIZE_MAX = 2048  # of a message; what is longer is left out, not cut
THEME_SIZE_MAX = 512

Nodes = Annotated[tuple[Name, ...], Meta(max_length=ROUTE_MAX)]
Theme = Annotated[str, Meta(max_length=THEME_SIZE_MAX)]
Payload = Annotated[bytes, Meta(max_length=PAYLOAD_SIZE_MAX)]


class LinkSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A link from the node to one neighbour, as the node measures it."""

    t: Count
    b: Count = 0
    n: Count = 0
    realm: Name
    node: Name  # hashname of the measuring node
    peer: Name  # hashname
    path: Name = ""  # kind of the path in use; empty: there is none
    rtt_ms: Amount | None = None
    jitter_ms: Amount | None = None
    loss_in: Ratio | None = None  # from the peer to the node
    loss_out: Ratio | None = None
    rate_kbps: Amount | None = None
    cost_us: Count | None = None  # as it enters routing; absent while it may not be used
    is_up: bool


class ObservedRecordLink(msgspec.Struct, frozen=True, array_like=True):
    """A link that a record claims."""

    peer: Name  # hashname
    cost_us: Count


class RecordChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node's record as the observer received it."""

    t: Count
    b: Count = 0
    n: Count = 0
    realm: Name
    node: Name  # whose record it is
    epoch: Count
    number: Count
    lifetime_s: Count = 0
    links: Annotated[tuple[ObservedRecordLink, ...], Meta(max_length=LINKS_MAX)] = ()
    is_withdrawn: bool = False  # the node withdrew it, or it expired


class ObservedRouteDecision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the packets of a node go from now on."""

    t: Count
    b: Count = 0
    n: Count = 0
    realm: Name
    source: Name  # hashname
    destination: Name  # hashname
    nodes: Nodes = ()  # with both ends; empty: there is no route
    cost_us: Count | None = None
    verdict: Name  # "cheapest", "direct" or "held"; "none" without a route
    reason: Text = ""  # for people
    candidates: Count = 0
    previous: Nodes = ()


class EndedRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request of an outbox, once its fate is known."""

    t: Count
    b: Count = 0
    n: Count = 0
    node: Name  # hashname of the requester
    peer: Name  # hashname
    number: Count
    size: Count  # of its payload in bytes
    submitted_at: Count  # wall milliseconds
    ended_at: Count
    fate: Name
    attempts: Count = 0


class PublishedMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A published message."""

    t: Count
    b: Count = 0
    n: Count = 0
    theme: Theme
    publisher: Name
    qos: Count = 0
    size: Count  # of its payload in bytes, whether that is here or not
    payload: Payload | None = None


Observed = LinkSample | RecordChange | ObservedRouteDecision | EndedRequest | PublishedMessage

KINDS: dict[type[msgspec.Struct], int] = {
    LinkSample: LINK,
    RecordChange: RECORD,
    ObservedRouteDecision: DECISION,
    EndedRequest: REQUEST,
    PublishedMessage: MESSAGE,
}
"""By struct, for writers."""

STRUCTS: dict[int, type[msgspec.Struct]] = {
    DEVICE: telemetry.DeviceReport,
    SERVER: telemetry.LoadReport,
    CALLED: telemetry.CallReport,
    SESSION: telemetry.SessionReport,
    **{kind: struct for struct, kind in KINDS.items()},
}
"""By kind, for readers; those of enrolments and security events are the fleet's."""

_ENCODER = msgspec.msgpack.Encoder()
_DECODERS = {kind: msgspec.msgpack.Decoder(struct) for kind, struct in STRUCTS.items()}


def encode(observed: Observed) -> bytes:
    """The content of an observation; UsageError for one that does not fit."""
    content = _ENCODER.encode(observed)
    if len(content) > CONTENT_SIZE_MAX:
        raise UsageError(f"an observation of {len(content)} bytes; {CONTENT_SIZE_MAX} are allowed")
    return content


def decode(kind: int, content: bytes) -> msgspec.Struct:
    """Read the content of that kind, or raise DecodeError. Fields of newer versions are ignored."""
    decoder = _DECODERS.get(kind)
    if decoder is None or len(content) > CONTENT_SIZE_MAX:
        raise DecodeError(f"{len(content)} bytes of kind {kind} cannot be read")
    try:
        return decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"not of kind {kind}: {error}") from error
