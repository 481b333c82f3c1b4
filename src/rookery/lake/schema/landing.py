"""Landing tables: observations as they came, typed, in order of arrival, not validated yet."""

import pyarrow as pa

from rookery.lake.schema.table import DATE, TIMESTAMP, Column, Table
from rookery.wire.fleet.telemetry import DEVICE_FIELDS
from rookery.wire.fleet.telemetry_field import TelemetryField

HEAD = (
    Column("spool", pa.string(), "name of the spool that kept it", is_nullable=False),
    Column("position", pa.int64(), "its end in that spool", "bytes", is_nullable=False),
    Column("received_at", TIMESTAMP, "when the hub or node received it", is_nullable=False),
    Column(
        "reporter",
        pa.string(),
        "the sender: MAC of a device, or id of a server or node, which looks like one",
    ),
    Column("boot", pa.int64(), "the sender's start that it belongs to"),
    Column("sequence", pa.int64(), "its number within that boot"),
    Column("at", TIMESTAMP, "when it happened, by the sender's own clock"),
)
RECEIVED_ON = Column(DATE, pa.date32(), "UTC date of received_at")

INTERFACE = pa.struct(
    [
        ("name", pa.string()),
        ("received_bytes", pa.int64()),
        ("sent_bytes", pa.int64()),
        ("received_packets", pa.int64()),
        ("sent_packets", pa.int64()),
        ("errors", pa.int64()),
        ("drops", pa.int64()),
    ]
)
DEVICE_LINK = pa.struct(
    [
        ("peer", pa.string()),
        ("path", pa.string()),
        ("rtt_ms", pa.float64()),
        ("loss", pa.float64()),
        ("rate_kbps", pa.float64()),
    ]
)
RECORD_LINK = pa.struct([("peer", pa.string()), ("cost_us", pa.int64())])


def _landing(name: str, text: str, *columns: Column) -> Table:
    key = ("spool", "position")
    return Table("landing", name, (*HEAD, *columns, RECEIVED_ON), key, text)


_TYPES = {float: pa.float64(), int: pa.int64(), str: pa.string()}
_NESTED_TYPES = {"interfaces": pa.list_(INTERFACE), "links": pa.list_(DEVICE_LINK)}


def _reported(field: TelemetryField) -> Column:
    name = field.public_name
    return Column(name, _NESTED_TYPES.get(name) or _TYPES[field.type], field.text, field.unit)


DEVICE_REPORTS = _landing(
    "device_reports",
    "the state of a device, as its agent sampled it",
    *(_reported(field) for field in DEVICE_FIELDS if field.in_lake),
)
SERVER_REPORTS = _landing(
    "server_reports",
    "how a server is",
    Column("seats_max", pa.int64(), "devices that it can take", "seats"),
    Column("seats_used", pa.int64(), "devices that have one", "seats"),
    Column("cpu", pa.float64(), "processor in use", "share"),
    Column("mem", pa.float64(), "memory in use", "share"),
    Column("tcp", pa.string(), "address that devices and clients connect to"),
    Column("ws", pa.string(), "where browsers do"),
)
CALLS = _landing(
    "calls",
    "JSON-RPC calls that servers relayed",
    Column("who", pa.string(), "account that called"),
    Column("router", pa.string(), "MAC of the called device"),
    Column("method", pa.string(), "what was called"),
    Column("ms", pa.float64(), "until the answer", "ms"),
    Column("code", pa.int64(), "JSON-RPC's error; 0: it worked"),
    Column("seat", pa.string(), "the session it was made in"),
)
ENROLMENTS = _landing(
    "enrolments",
    "devices and servers that enrolled at the hub",
    Column("kind", pa.string(), "router (a device) or server"),
    Column("hashname", pa.string(), "its identity"),
    Column("address", pa.string(), "where its first datagram came from"),
    Column("first_seen", TIMESTAMP, "when that was"),
)
SECURITY_EVENTS = _landing(
    "security_events",
    "what honest, healthy senders do not do",
    Column(
        "event", pa.string(), "forged, old secret, replay, clone, foreign key, rebound or denied"
    ),
    Column("address", pa.string(), "where it came from"),
    Column("detail", pa.string(), "for people"),
)
LINK_SAMPLES = _landing(
    "link_samples",
    "a mesh link as one of its ends measured it",
    Column("realm", pa.string(), "the realm's id"),
    Column("node", pa.string(), "hashname of who measured"),
    Column("peer", pa.string(), "hashname of the other end"),
    Column("path", pa.string(), "kind of the path in use"),
    Column("rtt_ms", pa.float64(), "round trip", "ms"),
    Column("jitter_ms", pa.float64(), "how much it varies", "ms"),
    Column("loss_in", pa.float64(), "lost on the way here", "share"),
    Column("loss_out", pa.float64(), "lost on the way there", "share"),
    Column("rate_kbps", pa.float64(), "what it carried at best", "kbit/s"),
    Column("cost_us", pa.int64(), "what routing takes it for", "µs"),
    Column("is_up", pa.bool_(), "whether it carries anything"),
)
RECORD_CHANGES = _landing(
    "record_changes",
    "what a member says of its links, each time it says something new",
    Column("realm", pa.string(), "the realm's id"),
    Column("node", pa.string(), "hashname of who says it"),
    Column("epoch", pa.int64(), "life of the node"),
    Column("number", pa.int64(), "of the record in that life"),
    Column("lifetime_s", pa.int64(), "how long it holds unless renewed", "s"),
    Column("links", pa.list_(RECORD_LINK), "its links and their costs"),
    Column("is_withdrawn", pa.bool_(), "whether it expired or was revoked"),
)
DECISIONS = _landing(
    "decisions",
    "a node chose another route",
    Column("realm", pa.string(), "the realm's id"),
    Column("source", pa.string(), "hashname of who chose"),
    Column("destination", pa.string(), "hashname of where to"),
    Column("nodes", pa.list_(pa.string()), "the route, both ends included; empty: none"),
    Column("cost_us", pa.int64(), "what it costs", "µs"),
    Column("verdict", pa.string(), "why it was chosen, as in `rookery explain`"),
    Column("reason", pa.string(), "the same for people"),
    Column("candidates", pa.int64(), "routes that were weighed", "routes"),
    Column("previous", pa.list_(pa.string()), "the route before"),
)
SESSIONS = _landing(
    "sessions",
    "a session of a client with a device, or a failed attempt",
    Column("seat", pa.string(), "id of the session"),
    Column("who", pa.string(), "account"),
    Column("router", pa.string(), "MAC of the device"),
    Column("server", pa.string(), "hashname of the server; empty: none was found"),
    Column("opened_at", TIMESTAMP, "when both were there"),
    Column("closed_at", TIMESTAMP, "when it ended"),
    Column("reason", pa.string(), "why it ended"),
    Column("sent_bytes", pa.int64(), "from the client to the device", "bytes"),
    Column("received_bytes", pa.int64(), "from the device to the client", "bytes"),
)
REQUESTS = _landing(
    "requests",
    "a request to a peer came to its end",
    Column("node", pa.string(), "hashname of whose outbox it was in"),
    Column("peer", pa.string(), "hashname of whom it was for"),
    Column("number", pa.int64(), "its number in that outbox"),
    Column("size", pa.int64(), "of its content", "bytes"),
    Column("submitted_at", TIMESTAMP, "when it was handed in"),
    Column("ended_at", TIMESTAMP, "when its fate was known"),
    Column("fate", pa.string(), "what became of it"),
    Column("attempts", pa.int64(), "how often it was sent", "times"),
)
MESSAGES = _landing(
    "messages",
    "pub-sub messages of themes that are marked for the lake",
    Column("theme", pa.string(), "what it is about"),
    Column("publisher", pa.string(), "who published it"),
    Column("qos", pa.int64(), "0, 1 or 2"),
    Column("size", pa.int64(), "of its payload", "bytes"),
    Column("payload", pa.binary(), "as it came; cut where it is long"),
)

TABLES = (
    DEVICE_REPORTS,
    SERVER_REPORTS,
    CALLS,
    ENROLMENTS,
    SECURITY_EVENTS,
    LINK_SAMPLES,
    RECORD_CHANGES,
    DECISIONS,
    SESSIONS,
    REQUESTS,
    MESSAGES,
)
