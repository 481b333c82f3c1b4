"""Insight tables: availability, traffic, quality, failures and forecasts, made from facts.

Each says how pages show it (`display`). Every row carries its lineage. Dated tables are recomputed
by the days that changed; whole ones are small and replaced as a whole. Times are UTC; a span is
from, and not including, to. Shares and rates are the last division of integers, so that every
engine comes to the same ones.
"""

import pyarrow as pa

from rookery.lake.schema.display import Display, Lines, Spans
from rookery.lake.schema.table import DATE, TIMESTAMP, Column, Table

LINEAGE = Column(
    "lineage",
    pa.struct([("run", pa.string()), ("inputs", pa.string()), ("code", pa.string())]),
    "the run that made the row, the versions of its inputs, the version of rookery",
)

_LONG, _DOUBLE, _TEXT = pa.int64(), pa.float64(), pa.string()
_DEVICE = Column("device", _TEXT, "MAC of the device", is_nullable=False)
_REALM = Column("realm", _TEXT, "the realm's id")
_HOUR = Column("hour", TIMESTAMP, "start of the hour")


def _dated(
    name: str,
    key: tuple[str, ...],
    sources: tuple[str, ...],
    text: str,
    display: Display,
    *columns: Column,
) -> Table:
    day = Column(DATE, pa.date32(), "UTC date that the row belongs to")
    return Table("insights", name, (*columns, day, LINEAGE), key, text, sources, display=display)


def _whole(
    name: str,
    key: tuple[str, ...],
    sources: tuple[str, ...],
    text: str,
    display: Display,
    *columns: Column,
) -> Table:
    return Table(
        "insights",
        name,
        (*columns, LINEAGE),
        key,
        text,
        sources,
        is_dated=False,
        display=display,
    )


PLACES = _whole(
    "places",
    ("reporter",),
    ("clean/enrolments",),
    "where devices and servers are: what the hub knew of each when it first enrolled",
    Display("Places", "reporter", searched=("reporter",)),
    Column("reporter", _TEXT, "MAC of the device or id of the server", is_nullable=False),
    Column("kind", _TEXT, "router (a device) or server"),
    Column("hashname", _TEXT, "its identity"),
    Column("address", _TEXT, "address that it enrolled from"),
    Column("site", _TEXT, "the address's /24, or /48 of IPv6; null if there is none"),
)
OUTAGES = _dated(
    "outages",
    ("device", "from_at"),
    ("facts/uptime_intervals",),
    "an expected device sent no report for more than a minute; cut at midnight",
    Display(
        "Outages",
        "from_at DESC, device",
        searched=("device",),
        view=Spans(
            "device",
            "CASE WHEN is_open THEN 'open' WHEN is_reboot THEN 'reboot' ELSE 'outage' END",
        ),
    ),
    _DEVICE,
    Column("from_at", TIMESTAMP, "its last report, or midnight"),
    Column("to_at", TIMESTAMP, "its next report, or midnight, or the end of the data"),
    Column("lasted_us", _LONG, "from one to the other", "µs"),
    Column("is_reboot", pa.bool_(), "whether it came back with another boot"),
    Column("is_open", pa.bool_(), "whether it had not come back by to_at"),
)
AVAILABILITY = _dated(
    "availability",
    ("device", "date"),
    ("facts/uptime_intervals",),
    "how much of a day a device was present: from a report to the next, unless more than a minute"
    " or a start lies between them. It is expected from midnight on, or from its first report in"
    " eight days, until midnight, or until the last report of any device that day",
    Display("Availability by day", "date DESC, share, device", searched=("device",), view="days"),
    _DEVICE,
    Column("present_us", _LONG, "it was present", "µs"),
    Column("expected_us", _LONG, "it should have been present", "µs"),
    Column("share", _DOUBLE, "present_us of expected_us; null if nothing was expected", "share"),
    Column("outages", _LONG, "stretches of more than a minute without it", "times"),
    Column("longest_outage_us", _LONG, "the longest of them; 0: none", "µs"),
    Column(
        "reboots",
        _LONG,
        "starts whose first report came that day, after another in the week before",
        "times",
    ),
)
AVAILABILITY_WEEKS = _whole(
    "availability_weeks",
    ("device", "week"),
    ("insights/availability",),
    "availability by week, against what was promised (99.9 % unless set otherwise)",
    Display("Availability by week", "week DESC, share, device", searched=("device",), view="days"),
    _DEVICE,
    Column("week", pa.date32(), "Monday that the week begins with"),
    Column("days", _LONG, "days of it with data", "days"),
    Column("present_us", _LONG, "it was present", "µs"),
    Column("expected_us", _LONG, "it should have been present", "µs"),
    Column("share", _DOUBLE, "present_us of expected_us", "share"),
    Column("outages", _LONG, "those that went on over midnight count on both days", "times"),
    Column("longest_outage_us", _LONG, "the longest within a day", "µs"),
    Column("reboots", _LONG, "starts after another", "times"),
    Column("sla_share", _DOUBLE, "what was promised", "share"),
    Column("is_met", pa.bool_(), "whether the share is at least that"),
)
UPTIME_SESSIONS = _whole(
    "uptime_sessions",
    ("device", "from_at"),
    ("facts/uptime_intervals",),
    "uninterrupted presence of a device within one boot, over as many days as it lasted",
    Display("Uptime", "from_at DESC, device", searched=("device",), view=Spans("device", "'up'")),
    _DEVICE,
    Column("boot", _LONG, "its boot"),
    Column("from_at", TIMESTAMP, "first report"),
    Column("to_at", TIMESTAMP, "last report"),
    Column("up_us", _LONG, "from one to the other", "µs"),
    Column("reports", _LONG, "in it", "reports"),
    Column("days", _LONG, "dates that it touches", "days"),
)


_PEAKS = (
    Column("received_peak_bps", _DOUBLE, "of its busiest minute", "bit/s"),
    Column("sent_peak_bps", _DOUBLE, "of its busiest minute", "bit/s"),
)


def _traffic(
    name: str,
    source: str,
    text: str,
    title: str,
    seconds: int,
    start: Column,
    *columns: Column,
    days: int,
    hours: int | None = None,
) -> Table:
    """Traffic by periods of so many seconds; a chart looks back over `days` or `hours`."""
    series = tuple((each, f"sum({each}_bytes) / {seconds:.1f}") for each in ("received", "sent"))
    return _dated(
        name,
        ("device", "interface", start.name),
        (source,),
        text,
        Display(
            title,
            f"{start.name} DESC, device, interface",
            searched=("device",),
            lines=Lines(start.name, series, unit="bytes/s", days=days, hours=hours),
        ),
        _DEVICE,
        Column("interface", _TEXT, "its name on the device"),
        start,
        Column("covered_ms", _LONG, "time in it that counters were read across", "ms"),
        Column("received_bytes", _LONG, "came in", "bytes"),
        Column("sent_bytes", _LONG, "went out", "bytes"),
        Column("received_packets", _LONG, "came in", "packets"),
        Column("sent_packets", _LONG, "went out", "packets"),
        Column("received_bps", _DOUBLE, "mean of the time covered", "bit/s"),
        Column("sent_bps", _DOUBLE, "mean of the time covered", "bit/s"),
        *columns,
    )


TRAFFIC_MINUTES = _traffic(
    "traffic_minutes",
    "facts/device_rates",
    "traffic by minute. What was counted between two reports belongs to the minutes between them in"
    " proportion to time: up to a moment has passed the whole part of total × elapsed ÷ length,"
    " and a minute gets the difference, so that sums are exact",
    "Traffic by minute",
    60,
    Column("minute", TIMESTAMP, "its start"),
    days=1,
    hours=6,
)
TRAFFIC_HOURS = _traffic(
    "traffic_hours",
    "insights/traffic_minutes",
    "traffic by hour, summed from minutes",
    "Traffic by hour",
    3600,
    _HOUR,
    *_PEAKS,
    days=14,
)
TRAFFIC_DAYS = _traffic(
    "traffic_days",
    "insights/traffic_hours",
    "traffic by day, summed from hours",
    "Traffic by day",
    86_400,
    Column("day", TIMESTAMP, "its start"),
    *_PEAKS,
    days=365,
)
LINK_QUALITY = _whole(
    "link_quality",
    ("realm", "node", "peer", "hour_of_week"),
    ("facts/link_hours",),
    "how a link is at this time of the week, seen from one end, over eight weeks. A quantile is the"
    " largest value of the histogram's step that holds the sample of that rank, at most 5 % above",
    Display(
        "Link quality",
        "loss DESC, rtt_p95_us DESC, node, peer, hour_of_week",
        searched=("node", "peer"),
        view="week",
    ),
    _REALM,
    Column("node", _TEXT, "hashname of the end that measured"),
    Column("peer", _TEXT, "hashname of the other end"),
    Column("hour_of_week", _LONG, "0: Monday 00:00 UTC … 167", "h"),
    Column("weeks", _LONG, "hours that went into it", "weeks"),
    Column("samples", _LONG, "measurements in them", "samples"),
    Column("rtt_p50_us", _LONG, "round trip, median", "µs"),
    Column("rtt_p95_us", _LONG, "round trip, 95 of 100 are at most", "µs"),
    Column("rtt_p99_us", _LONG, "round trip, 99 of 100 are at most", "µs"),
    Column("loss", _DOUBLE, "lost, mean of samples", "share"),
    Column("up_share", _DOUBLE, "samples that found it up", "share"),
)
_LINK_ENDS = (
    _REALM,
    Column("a", _TEXT, "hashname of the end whose name is first"),
    Column("b", _TEXT, "hashname of the other end"),
)
_ENDS = Column("ends", _LONG, "how many of the two sent samples", "ends")
_DOWN = Column(
    "down_us", _LONG, "how long it was down; between two samples at most 5 minutes count", "µs"
)
_BETWEEN = Column(
    "between_us", _LONG, "median time from going down to going down again; null: once at most", "µs"
)
_RESTARTS = Column(
    "restarts", _LONG, "restarts of its ends on this day, as far as their samples tell", "times"
)
LINK_DAYS = _dated(
    "link_days",
    ("realm", "a", "b", "date"),
    ("facts/link_samples",),
    "how often a mesh link went down on a day. It goes down where a sample that found it down"
    " follows one that found it up, within 5 minutes, both of the same start of the same node. Of"
    " its two ends the one that saw it go down less often counts, if it sent at least half as many"
    " samples as the other: so restarts of a node that sends samples do not count",
    Display("Links by day", "date DESC, downs DESC, down_us DESC, a, b", searched=("a", "b")),
    *_LINK_ENDS,
    Column("node", _TEXT, "hashname of the end whose samples count"),
    _ENDS,
    Column("samples", _LONG, "measurements by that end", "samples"),
    Column("downs", _LONG, "how often it went down", "times"),
    _DOWN,
    _BETWEEN,
    Column("from_at", TIMESTAMP, "when it first went down; null: it did not"),
    Column("to_at", TIMESTAMP, "until when it was last seen down; null likewise"),
    _RESTARTS,
)
FLAPPING_LINKS = _dated(
    "flapping_links",
    ("realm", "a", "b", "date"),
    ("insights/link_days",),
    "mesh links that went down at least four times on a day, with how often each usually does: the"
    " median of those of the 14 days before that have at least half as many samples",
    Display(
        "Flapping links",
        "date DESC, downs DESC, down_us DESC, a, b",
        searched=("a", "b"),
        view=Spans("a || ' – ' || b", "kind"),
    ),
    *_LINK_ENDS,
    Column("from_at", TIMESTAMP, "when it first went down"),
    Column("to_at", TIMESTAMP, "until when it was last seen down"),
    Column(
        "kind",
        _TEXT,
        "more often (at least twice as often as usual), as usual, or no history (fewer than three"
        " days to compare with)",
    ),
    Column("downs", _LONG, "how often it went down", "times"),
    Column(
        "usual_downs", _LONG, "how often it usually goes down on a day; null: no history", "times"
    ),
    Column("usual_days", _LONG, "days that this rests on", "days"),
    _DOWN,
    _BETWEEN,
    _ENDS,
    _RESTARTS,
)
TOPOLOGY_HEALTH = _dated(
    "topology_health",
    ("realm", "hour"),
    ("facts/topology_edges",),
    "how well a realm hangs together. An edge counts in an hour that it held for at least half of;"
    " a node in an hour in which it had an edge at any time",
    Display(
        "Topology health",
        "hour DESC, realm",
        view="critical",
        lines=Lines(
            "hour",
            tuple(
                (name, f"sum({name})::DOUBLE")
                for name in ("nodes", "edges", "articulation_points", "bridges")
            ),
        ),
    ),
    _REALM,
    _HOUR,
    Column("nodes", _LONG, "members seen", "nodes"),
    Column("edges", _LONG, "links between them", "edges"),
    Column("components", _LONG, "parts that cannot reach each other", "parts"),
    Column("articulation_points", _LONG, "nodes without which others are cut off", "nodes"),
    Column("bridges", _LONG, "links without which others are cut off", "edges"),
    Column("mean_degree", _DOUBLE, "links of a node", "edges"),
    Column("central_node", _TEXT, "the one on most shortest paths; the first by name if several"),
    Column("centrality", _DOUBLE, "its betweenness; null: too many nodes to tell", "share"),
)
CRITICAL_ELEMENTS = _dated(
    "critical_elements",
    ("realm", "hour", "kind", "a", "b"),
    ("facts/topology_edges",),
    "nodes and links without which a part of the realm is disconnected. Cut off is what is"
    " not in the largest part that remains (of equal ones: the one with the first name)",
    Display(
        "Critical elements",
        "hour DESC, cut_off DESC, kind, a, b",
        searched=("a", "b"),
        view="critical",
    ),
    _REALM,
    _HOUR,
    Column("kind", _TEXT, "node or link"),
    Column("a", _TEXT, "hashname of the node, or of the link's first end"),
    Column("b", _TEXT, "hashname of the link's other end; empty for a node"),
    Column("cut_off", _LONG, "how many nodes lose the rest", "nodes"),
    Column("nodes", pa.list_(_TEXT), "the first 20 of them by name"),
)
_ANOMALY_UNITS = (
    ("silence", "µs"),
    ("traffic", "B/s"),
    ("loss", "ppm"),
    ("rtt", "µs"),
    ("load", "ppm"),
    ("device load", "processes / 1000"),
    ("temperature", "°C / 1000"),
)
_UNITS = f"by kind: {', '.join(unit for _, unit in _ANOMALY_UNITS)}"
ANOMALIES = _dated(
    "anomalies",
    ("kind", "entity", "from_at"),
    (
        "insights/outages",
        "insights/traffic_hours",
        "facts/link_hours",
        "facts/server_hours",
        "facts/device_hours",
    ),
    "an entity that is far from its usual values: hours that differ from the median of the same"
    " hour of the 14 days before by 6 times the median of their distances from it (or a tenth of"
    " it, but of temperatures, or 1 kB/s, 5000 ppm of loss, 1 ms, 2 % of a server's seats, half a"
    " process, 2 °C) or more; silences by outages likewise. Only traffic can be too little. Cut at"
    " midnight",
    Display(
        "Anomalies",
        "from_at DESC, kind, entity",
        searched=("entity", "device", "node", "peer"),
        view=Spans("entity", "kind"),
        units=_ANOMALY_UNITS,
    ),
    Column(
        "kind",
        _TEXT,
        "silence, traffic, loss, rtt, load (of a server's seats), device load (mean of the hour's"
        " reports, of which there are four at least) or temperature (likewise)",
    ),
    Column("entity", _TEXT, "MAC, realm/node/peer of a link, or a server's id"),
    Column("device", _TEXT, "MAC of the device or id of the server; null for a link"),
    Column("node", _TEXT, "a link's end that measured"),
    Column("peer", _TEXT, "a link's other end"),
    Column("realm", _TEXT, "a link's realm"),
    Column("from_at", TIMESTAMP, "start of the first such hour, or of the silence"),
    Column("to_at", TIMESTAMP, "end of the last such hour, or of the silence"),
    Column("expected", _LONG, "the median, of the worst hour", _UNITS),
    Column("observed", _LONG, "what was, in the worst hour", _UNITS),
    Column("score", _DOUBLE, "how far apart, in median deviations; below 0: too little"),
    Column("hours", _LONG, "that differ; 0 for a silence", "h"),
)
INCIDENTS = _dated(
    "incidents",
    ("id",),
    (
        "insights/outages",
        "insights/anomalies",
        "insights/critical_elements",
        "insights/places",
    ),
    "what failed together: outages and anomalies of a day that overlap within 5 minutes and share"
    " a site (/24 or /48 of the address that it enrolled from), a mesh node or a server; a chain of"
    " such is one incident",
    Display(
        "Incidents found",
        "from_at DESC, id",
        searched=("id", "first"),
        view=Spans("coalesce(cause_entity, first)", "kind"),
    ),
    Column("id", _TEXT, "date and a digest of the first member", is_nullable=False),
    Column(
        "kind",
        _TEXT,
        "outage, degradation, overload, heat or traffic: the first that fits a member",
    ),
    Column("from_at", TIMESTAMP, "when the first member began"),
    Column("to_at", TIMESTAMP, "when the last member ended"),
    Column("members", _LONG, "outages and anomalies in it", "members"),
    Column("entities", pa.list_(_TEXT), "the first 100 of them by name, kind before them"),
    Column("sites", pa.list_(_TEXT), "sites that members are at"),
    Column("first", _TEXT, "the one that began first"),
    Column("first_kind", _TEXT, "how"),
    Column("cause", _TEXT, "articulation point, bridge, site, reboot, server, or unknown"),
    Column("cause_entity", _TEXT, "which one; null if unknown"),
)
SERVER_LOAD_FORECAST = _whole(
    "server_load_forecast",
    ("server", "hour"),
    ("facts/server_hours",),
    "how full a server will be in each of 48 hours, beginning with the last one of the data: the"
    " weighted median of the same hour of the week in eight weeks, each week counting 4/5 of the"
    " next; of the same hour in seven days where fewer than two weeks are known",
    Display(
        "Server load forecast",
        "hour, server",
        searched=("server",),
        lines=Lines("hour", (("share", "max(share)"),), unit="ratio", split_by="server"),
    ),
    Column("server", _TEXT, "id of the server", is_nullable=False),
    _HOUR,
    Column("share", _DOUBLE, "seats that will be taken", "share"),
    Column("high_share", _DOUBLE, "the same, nine times of ten no more", "share"),
    Column("evidence", _LONG, "weeks (or days) that it rests on", "hours"),
    Column("is_weekly", pa.bool_(), "whether these are weeks"),
    Column(
        "confidence",
        _DOUBLE,
        "a quarter for each of four weeks, less by twice their spread; half for days",
    ),
)
LINK_COST_ADVICE = _whole(
    "link_cost_advice",
    ("realm", "a", "b", "from_at"),
    ("facts/link_hours",),
    "hours of the next 48 in which a link is used to be worse than it mostly is: the factor is"
    " 1 + 10 × loss above its own median + round trip above its own median as a share of it,"
    " between 1 and 2; hours in a row are one window, if each counts 1.1 at least",
    Display(
        "Link cost advice",
        "from_at, factor DESC, a, b",
        searched=("a", "b"),
        view=Spans("a || ' – ' || b", "'advice'"),
    ),
    *_LINK_ENDS,
    Column("from_at", TIMESTAMP, "start of the window"),
    Column("to_at", TIMESTAMP, "its end"),
    Column("factor", _DOUBLE, "the highest of its hours"),
    Column(
        "confidence",
        _DOUBLE,
        "the lowest of its hours: a quarter for each of four weeks that were worse; half for days",
    ),
    Column("evidence", _LONG, "fewest weeks (or days) that an hour rests on", "hours"),
    Column("samples", _LONG, "measurements behind it", "samples"),
)

TABLES: tuple[Table, ...] = (
    PLACES,
    OUTAGES,
    AVAILABILITY,
    AVAILABILITY_WEEKS,
    UPTIME_SESSIONS,
    TRAFFIC_MINUTES,
    TRAFFIC_HOURS,
    TRAFFIC_DAYS,
    LINK_QUALITY,
    LINK_DAYS,
    FLAPPING_LINKS,
    TOPOLOGY_HEALTH,
    CRITICAL_ELEMENTS,
    ANOMALIES,
    INCIDENTS,
    SERVER_LOAD_FORECAST,
    LINK_COST_ADVICE,
)
