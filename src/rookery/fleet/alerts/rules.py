"""Alert rules: what of servers, spools, lake, mesh and security is worth an alert.

Thresholds have hysteresis: an alert about a full server stays open until the server is clearly not
full, so that one seat more or less makes no new alert.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from rookery.fleet.alerts.alert import AlertCondition, Severity

FULL, NO_LONGER_FULL = 0.95, 0.85  # of seats
BEHIND, NO_LONGER_BEHIND = 0.25, 0.15  # of a spool's room, that is not in the lake
LOSSY, NO_LONGER_LOSSY = 0.10, 0.05

_MANY_EVENTS = 5  # of a kind that happens by mistake as well
_GRAVE = {"clone", "foreign_key", "old_secret"}
_HOUR_S = 3600.0


class SeenServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server, as it last reported."""

    hashname: str
    address: str
    is_silent: bool
    last_seen: float
    seats_used: int
    seats_max: int


class SeenSpool(msgspec.Struct, frozen=True, kw_only=True):
    """What a hub keeps for the lake."""

    name: str
    bytes_max: int
    is_full: bool
    unlanded_bytes: int | None  # None: no lake lands it


class SeenMember(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the mesh."""

    hashname: str
    name: str
    is_up: bool


class SeenLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link of the mesh; `a` and `b` are hashnames."""

    a: str
    b: str
    state: str  # up, down or one-way
    loss: float | None  # the worse direction


class SeenEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Security events of one kind within the last minutes."""

    event: str
    count: int
    addresses: int
    senders: tuple[str, ...]


def servers(seen: Sequence[SeenServer], open_keys: Collection[str]) -> list[AlertCondition]:
    """Silent ones and full ones; when none has a seat, that is worse."""
    alive = [each for each in seen if not each.is_silent]
    full = [each for each in alive if _is_full(each, open_keys)]
    return [
        *(_silent_server(each, is_last=not alive) for each in seen if each.is_silent),
        *(_full_server(each, is_last=len(full) == len(alive)) for each in full),
    ]


def spool(seen: SeenSpool, open_keys: Collection[str]) -> list[AlertCondition]:
    """Full, or filling because no lake lands it."""
    entity = (f"spool {seen.name}",)
    if seen.is_full:
        return [
            AlertCondition(
                key=f"spool full {seen.name}",
                kind="spool_full",
                severity="critical",
                title="The spool is full: reports are not acknowledged",
                entities=entity,
                note=f"room for {seen.bytes_max >> 20} MiB",
                absorbs=(f"spool behind {seen.name}",),
                is_immediate=True,
            )
        ]
    if seen.unlanded_bytes is None:
        return []
    key, share = f"spool behind {seen.name}", seen.unlanded_bytes / max(seen.bytes_max, 1)
    if share < _threshold(key, open_keys, BEHIND, NO_LONGER_BEHIND):
        return []
    return [
        AlertCondition(
            key=key,
            kind="spool_behind",
            severity="warning",
            title="The lake is far behind the spool",
            entities=entity,
            note=f"{share:.0%} of the room waits",
        )
    ]


def lake(age_s: float | None, stale_s: float) -> list[AlertCondition]:
    """Whether it has had nothing new for too long; None: it has nothing yet."""
    if age_s is None or age_s <= stale_s:
        return []
    return [
        AlertCondition(
            key="lake stale",
            kind="lake_stale",
            severity="warning",
            title="The lake has had nothing new for a long time",
            entities=("lake",),
            note=f"{age_s / _HOUR_S:.0f} h" if age_s >= _HOUR_S else f"{age_s / 60:.0f} min",
        )
    ]


def mesh(
    members: Sequence[SeenMember], links: Sequence[SeenLink], open_keys: Collection[str]
) -> list[AlertCondition]:
    """Members that are gone, with their links; links between others that are down or lose."""
    names = {each.hashname: each.name or each.hashname[:8] for each in members}
    gone = {each.hashname for each in members if not each.is_up}
    conditions = [
        _gone_member(member, names[member.hashname], links)
        for member in members
        if member.hashname in gone
    ]
    for link in links:
        if link.a not in gone and link.b not in gone:
            conditions += _link(link, names, open_keys)
    return conditions


def security(seen: Sequence[SeenEvents]) -> list[AlertCondition]:
    """What honest senders do not do; of what happens by mistake, only many."""
    conditions = []
    for events in seen:
        is_grave = events.event in _GRAVE
        if not is_grave and events.count < _MANY_EVENTS:
            continue
        severity: Severity = "critical" if is_grave else "warning"
        what = events.event.replace("_", " ")
        conditions.append(
            AlertCondition(
                key=f"security {events.event}",
                kind="security",
                severity=severity,
                title=f"Reports that no honest device sends: {what}",
                cause=what,
                entities=tuple(f"reporter {each}" for each in events.senders),
                note=f"{events.count} events from {events.addresses} addresses",
                is_immediate=True,
            )
        )
    return conditions


def _threshold(key: str, open_keys: Collection[str], opens_at: float, closes_at: float) -> float:
    return closes_at if key in open_keys else opens_at


def _is_full(server: SeenServer, open_keys: Collection[str]) -> bool:
    key = f"server full {server.hashname}"
    share = server.seats_used / max(server.seats_max, 1)
    return share >= _threshold(key, open_keys, FULL, NO_LONGER_FULL)


def _silent_server(server: SeenServer, *, is_last: bool) -> AlertCondition:
    told = "The last server is silent: nobody can connect" if is_last else "A server is silent"
    return AlertCondition(
        key=f"server silent {server.hashname}",
        kind="server_silent",
        severity="critical",
        title=f"{told}: {server.address}",
        cause=f"server {server.hashname}",
        entities=(f"server {server.hashname}",),
        began_at=server.last_seen,
        absorbs=(f"server full {server.hashname}",),
    )


def _full_server(server: SeenServer, *, is_last: bool) -> AlertCondition:
    told = "No server has a free seat" if is_last else "A server is full"
    return AlertCondition(
        key=f"server full {server.hashname}",
        kind="server_full",
        severity="critical" if is_last else "warning",
        title=f"{told}: {server.address}",
        cause=f"server {server.hashname}",
        entities=(f"server {server.hashname}",),
        note=f"{server.seats_used} of {server.seats_max} seats",
    )


def _gone_member(member: SeenMember, name: str, links: Sequence[SeenLink]) -> AlertCondition:
    ours = [each for each in links if member.hashname in (each.a, each.b)]
    return AlertCondition(
        key=f"member gone {member.hashname}",
        kind="member_gone",
        severity="critical",
        title=f"The mesh has lost {name}",
        cause=f"member {member.hashname}",
        entities=(f"member {member.hashname}", *(f"link {each.a} {each.b}" for each in ours)),
        absorbs=tuple(
            f"link {word} {each.a} {each.b}" for each in ours for word in ("down", "lossy")
        ),
    )


def _link(
    link: SeenLink, names: Mapping[str, str], open_keys: Collection[str]
) -> list[AlertCondition]:
    ends = f"{link.a} {link.b}"
    told = f"{names.get(link.a, link.a[:8])} – {names.get(link.b, link.b[:8])}"
    lossy, entities = f"link lossy {ends}", (f"link {ends}",)
    if link.state != "up":
        return [
            AlertCondition(
                key=f"link down {ends}",
                kind="link_down",
                severity="warning",
                title=f"The link {told} is {link.state}",
                entities=entities,
                absorbs=(lossy,),
            )
        ]
    if (link.loss or 0.0) < _threshold(lossy, open_keys, LOSSY, NO_LONGER_LOSSY):
        return []
    return [
        AlertCondition(
            key=lossy,
            kind="link_lossy",
            severity="notice",
            title=f"The link {told} loses packets",
            entities=entities,
            note=f"{link.loss:.0%} lost",
        )
    ]
