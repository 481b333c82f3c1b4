"""Fact tables: what follows from clean observations: rates, intervals, edges, hours.

Measured numbers are integers here (µs, parts per million), so that sums are the same whatever the
order they are added in, and two engines agree to the last digit.
"""

import pyarrow as pa

from rookery.lake.schema import clean
from rookery.lake.schema.table import DATE, TIMESTAMP, Column, Table

BUCKET = pa.struct([("bucket", pa.int64()), ("count", pa.int64())])
HISTOGRAM = pa.list_(BUCKET)


def _count(name: str, text: str, unit: str = "") -> Column:
    return Column(name, pa.int64(), text, unit)


def _text(name: str, text: str) -> Column:
    return Column(name, pa.string(), text)


_ON = Column(DATE, pa.date32(), "UTC date of at")
_ON_HOUR = Column(DATE, pa.date32(), "UTC date of hour")
_HOUR = Column("hour", TIMESTAMP, "its beginning")
_SENDER = _text("reporter", "MAC of the device")
_BOOT = Column("boot", pa.int64(), "the sender's start that it belongs to")
_REALM = _text("realm", "the realm's id; empty if a device's report is the source")
_NODE = _text("node", "the end that measured: a hashname, or the MAC of a device")
_PEER = _text("peer", "hashname of the other end")


def _hours(source: Table, name: str, text: str, of: tuple[Column, ...], *sums: Column) -> Table:
    key = (*(each.name for each in of), _HOUR.name)
    return Table("facts", name, (*of, _HOUR, *sums, _ON_HOUR), key, text, (source.path,))


DEVICE_RATES = Table(
    "facts",
    "device_rates",
    (
        _SENDER,
        _BOOT,
        _text("interface", "its name"),
        _count("sequence", "number of the report that ends the span"),
        Column("since", TIMESTAMP, "when the span begins: the report before"),
        Column("at", TIMESTAMP, "when it ends: this report"),
        _count("span_us", "from one to the other; 0 where both have the same time", "µs"),
        _count("received_bytes", "received in the span", "bytes"),
        _count("sent_bytes", "sent in it", "bytes"),
        _count("received_packets", "received in it", "packets"),
        _count("sent_packets", "sent in it", "packets"),
        _count("errors", "errors in it", "packets"),
        _count("drops", "given up in it", "packets"),
        Column("is_reset", pa.bool_(), "the interface began again at 0: counted since then"),
        Column("is_wrapped", pa.bool_(), "a counter of 32 bits went round, and is counted on"),
        _ON,
    ),
    ("reporter", "boot", "interface", "at", "sequence"),
    "what an interface carried from one report to the next of the same start, within 23 hours",
    (clean.DEVICE_REPORTS.path,),
    concerns_day_before="to_date(since) < date",
)

UPTIME_INTERVALS = Table(
    "facts",
    "uptime_intervals",
    (
        _SENDER,
        _BOOT,
        Column(
            "from_at", TIMESTAMP, "its first report; where it goes on, the last of the day before"
        ),
        Column("to_at", TIMESTAMP, "its last report of the day"),
        _count("up_us", "from one to the other", "µs"),
        _count("reports", "of this day in it", "reports"),
        Column(
            "is_continued",
            pa.bool_(),
            "it goes on from the day before, whose last report is from_at",
        ),
        Column(DATE, pa.date32(), "UTC date of to_at"),
    ),
    ("reporter", "boot", "from_at", "to_at"),
    "reports of one start of a device, none more than 65 s behind the other, cut at midnight UTC",
    (clean.DEVICE_REPORTS.path,),
)

LINK_SAMPLES = Table(
    "facts",
    "link_samples",
    (
        _text("reporter", "the sender: MAC of a device, or a node's id, which looks like one"),
        _BOOT,
        _count("sequence", "number of the report"),
        _count("number", "place in the report, from 0"),
        Column("at", TIMESTAMP, "when it was measured"),
        _REALM,
        _NODE,
        _PEER,
        _text("path", "the path in use"),
        _count("rtt_us", "round trip", "µs"),
        _count("jitter_us", "how much it varies", "µs"),
        _count("loss_in_ppm", "lost on the way here", "ppm"),
        _count("loss_out_ppm", "lost on the way there", "ppm"),
        _count("loss_ppm", "the worse of both, or a device's only figure", "ppm"),
        _count("rate_bps", "what it carried at best", "bit/s"),
        _count("cost_us", "what routing takes it for", "µs"),
        Column("is_up", pa.bool_(), "whether it carries anything"),
        _ON,
    ),
    ("reporter", "boot", "sequence", "number", "at"),
    "mesh links, from reports of devices and samples of nodes, in one shape",
    (clean.DEVICE_REPORTS.path, clean.LINK_SAMPLES.path),
)

LINK_HOURS = _hours(
    LINK_SAMPLES,
    "link_hours",
    "one hour of a link in one direction; sums, counts and histograms of hours can be added up",
    (_REALM, _NODE, _PEER),
    _count("samples", "all there are", "samples"),
    _count("up_samples", "in which it carried something", "samples"),
    _count("rtt_samples", "with a round trip", "samples"),
    _count("rtt_us_sum", "of round trips", "µs"),
    _count("rtt_us_min", "the shortest", "µs"),
    _count("rtt_us_max", "the longest", "µs"),
    Column("rtt_histogram", HISTOGRAM, "round trips by bucket k: 1.05^k µs up to 1.05^(k+1)"),
    _count("jitter_samples", "with a jitter", "samples"),
    _count("jitter_us_sum", "of jitters", "µs"),
    _count("loss_samples", "with a loss", "samples"),
    _count("loss_ppm_sum", "of losses", "ppm"),
    _count("loss_ppm_max", "the worst", "ppm"),
    _count("rate_bps_max", "the best rate", "bit/s"),
    _count("cost_samples", "with a cost", "samples"),
    _count("cost_us_sum", "of costs", "µs"),
    _count("cost_us_max", "the highest", "µs"),
)

TOPOLOGY_EDGES = Table(
    "facts",
    "topology_edges",
    (
        _text("realm", "the realm's id"),
        _text("a", "hashname of the end that sorts first"),
        _text("b", "hashname of the other"),
        Column("from_at", TIMESTAMP, "from when both ends claim it, or midnight"),
        Column("to_at", TIMESTAMP, "until when, or midnight"),
        _count("cost_ab_us", "as a claims it", "µs"),
        _count("cost_ba_us", "as b claims it", "µs"),
        Column(DATE, pa.date32(), "UTC date of from_at"),
    ),
    ("realm", "a", "b", "from_at"),
    "when a link was in both ends' records at one pair of costs, cut at midnight UTC",
    (clean.RECORD_CHANGES.path,),
)

DEVICE_HOURS = _hours(
    clean.DEVICE_REPORTS,
    "device_hours",
    "one hour of a device; sums, divided by samples, are means",
    (_SENDER,),
    _count("reports", "all there are", "reports"),
    _count("load_samples", "with a load", "reports"),
    _count(
        "load_milli_sum",
        "of processes that wanted to run (load of the last minute), over reports",
        "processes / 1000",
    ),
    _count("load_milli_max", "the most", "processes / 1000"),
    _count("temp_samples", "with a temperature", "reports"),
    _count("temp_milli_sum", "of temperatures, over reports", "°C / 1000"),
    _count("temp_milli_max", "the highest", "°C / 1000"),
)

SERVER_HOURS = _hours(
    clean.SERVER_REPORTS,
    "server_hours",
    "one hour of a server; sums over reports, divided by reports, are means",
    (_text("reporter", "id of the server"),),
    _count("reports", "all there are", "reports"),
    _count("seats_max", "the most seats that it offered", "seats"),
    _count("seats_used_sum", "over reports", "seats"),
    _count("seats_used_min", "the fewest", "seats"),
    _count("seats_used_max", "the most", "seats"),
    _count("cpu_ppm_sum", "of processor in use, over reports", "ppm"),
    _count("cpu_ppm_max", "the most", "ppm"),
    _count("mem_ppm_sum", "of memory in use, over reports", "ppm"),
    _count("mem_ppm_max", "the most", "ppm"),
)

CALL_HOURS = _hours(
    clean.CALLS,
    "call_hours",
    "one hour of a method of a device, as one server relayed it",
    (
        _text("reporter", "id of the server that relayed"),
        _text("router", "MAC of the called device"),
        _text("method", "what was called"),
    ),
    _count("calls", "all there are", "calls"),
    _count("failures", "with an error", "calls"),
    _count("took_us_sum", "until the answers", "µs"),
    _count("took_us_max", "the slowest", "µs"),
)

SESSIONS = Table(
    "facts",
    "sessions",
    (
        _text("spool", "name of the spool that kept its end"),
        _count("position", "its end in that spool", "bytes"),
        _text("reporter", "id of the sender"),
        Column("at", TIMESTAMP, "when it was reported"),
        _text("seat", "id of the session"),
        _text("who", "account"),
        _text("router", "MAC of the device"),
        _text("server", "hashname of the server; empty: none was found"),
        Column("opened_at", TIMESTAMP, "when it began"),
        Column("closed_at", TIMESTAMP, "when it ended; at, where the sender's clock was wrong"),
        _count("took_us", "from one to the other", "µs"),
        Column("is_met", pa.bool_(), "whether the client reached the device"),
        _text("reason", "why it ended"),
        _count("sent_bytes", "from the client to the device", "bytes"),
        _count("received_bytes", "from the device to the client", "bytes"),
        _ON,
    ),
    ("spool", "position"),
    "sessions of clients with devices, ended or failed",
    (clean.SESSIONS.path,),
)

REQUEST_HOURS = _hours(
    clean.REQUESTS,
    "request_hours",
    "one hour of requests from a node to a peer that met the same fate",
    (
        _text("node", "hashname of whose outbox they were in"),
        _text("peer", "hashname of whom they were for"),
        _text("fate", "what became of them"),
    ),
    _count("requests", "all there are", "requests"),
    _count("bytes", "of their contents", "bytes"),
    _count("attempts", "how often they were sent", "times"),
    _count("took_us_sum", "from submission to fate", "µs"),
    _count("took_us_max", "the slowest", "µs"),
)

MESSAGE_HOURS = _hours(
    clean.MESSAGES,
    "message_hours",
    "one hour of a theme by one publisher",
    (
        _text("theme", "what they are about"),
        _text("publisher", "who published them"),
        _count("qos", "0, 1 or 2"),
    ),
    _count("messages", "all there are", "messages"),
    _count("bytes", "of their payloads", "bytes"),
    _count("bytes_max", "the largest", "bytes"),
)

DECISION_HOURS = _hours(
    clean.DECISIONS,
    "decision_hours",
    "one hour of a node's choices of routes to another",
    (
        _text("realm", "the realm's id"),
        _text("source", "hashname of who chose"),
        _text("destination", "hashname of where to"),
    ),
    _count("decisions", "all there are", "decisions"),
    _count("changes", "from one route to another", "decisions"),
    _count("losses", "after which there was no route", "decisions"),
    _count("hops_max", "links of the longest route", "links"),
    _count("cost_us_min", "of the cheapest route", "µs"),
    _count("cost_us_max", "of the dearest", "µs"),
)

SECURITY_HOURS = _hours(
    clean.SECURITY_EVENTS,
    "security_hours",
    "one hour of what honest, healthy senders do not do",
    (
        _text("reporter", "the device or server that it is about"),
        _text("event", "forged, old secret, replay, clone, foreign key, rebound or denied"),
    ),
    _count("events", "all there are", "events"),
    _count("addresses", "different ones that they came from", "addresses"),
)

TABLES: tuple[Table, ...] = (
    DEVICE_RATES,
    UPTIME_INTERVALS,
    LINK_SAMPLES,
    LINK_HOURS,
    TOPOLOGY_EDGES,
    DEVICE_HOURS,
    SERVER_HOURS,
    CALL_HOURS,
    SESSIONS,
    REQUEST_HOURS,
    MESSAGE_HOURS,
    DECISION_HOURS,
    SECURITY_HOURS,
)
