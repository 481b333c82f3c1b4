"""Incident groups: outages and anomalies of a day that belong together, and their likely cause.

    site 192.0.2.0/24   ──[ outage a ]──      ──[ outage b ]────          two that overlap: one
    node x                        [   loss of link x-y   ]                a chain of such: one
    node y                                       [ loss of y-z ]

Two belong together when they share a site, a mesh node or a server, and no more than five minutes
lie between them.
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

SLACK = timedelta(minutes=5)
LISTED_MAX = 100

_KINDS = (
    ("outage", frozenset({"outage"})),
    ("degradation", frozenset({"loss", "rtt"})),
    ("overload", frozenset({"load", "device load"})),
    ("heat", frozenset({"temperature"})),
)


class IncidentMember(NamedTuple):
    """One outage or anomaly, its entity, and where that is."""

    from_at: datetime
    kind: str
    entity: str
    to_at: datetime
    nodes: tuple[str, ...]  # hashnames: of the device, or of a link's ends
    site: str | None
    is_reboot: bool

    @property
    def scopes(self) -> list[str]:
        """What relates it to others: nodes, site and its own entity."""
        shared = [f"node {name}" for name in self.nodes]
        return [*shared, self.entity] if self.site is None else [*shared, self.site, self.entity]

    @property
    def name(self) -> str:
        return f"{self.kind} {self.entity}"


class IncidentWeakness(NamedTuple):
    """A node or link without which others were cut off in an hour."""

    hour: datetime
    nodes: tuple[str, ...]


class Incident(NamedTuple):
    id: str
    kind: str
    from_at: datetime
    to_at: datetime
    members: int
    entities: list[str]
    sites: list[str]
    first: str
    first_kind: str
    cause: str
    cause_entity: str | None


def incidents(
    day: date, members: Iterable[IncidentMember], weaknesses: Iterable[IncidentWeakness]
) -> list[Incident]:
    """All incidents of a day, the earliest first."""
    weak = frozenset(weaknesses)
    groups = _groups(sorted(members, key=lambda each: (each[:4], each.is_reboot)))
    return [_incident(day, group, weak) for group in groups]


def _groups(members: Sequence[IncidentMember]) -> list[list[IncidentMember]]:
    """Members, which are in order of time, by what they share."""
    leader = list(range(len(members)))

    def leading(number: int) -> int:
        while leader[number] != number:
            leader[number] = leader[leader[number]]
            number = leader[number]
        return number

    last: dict[str, tuple[int, datetime]] = {}  # by scope: one of its island, and the island's end
    for number, member in enumerate(members):
        for scope in member.scopes:
            end = member.to_at
            if scope in last and member.from_at <= last[scope][1] + SLACK:
                one, other = sorted((leading(number), leading(last[scope][0])))
                leader[other] = one
                end = max(end, last[scope][1])
            last[scope] = (number, end)
    groups: dict[int, list[IncidentMember]] = {}
    for number, member in enumerate(members):
        groups.setdefault(leading(number), []).append(member)
    return list(groups.values())


def _incident(
    day: date, group: list[IncidentMember], weak: frozenset[IncidentWeakness]
) -> Incident:
    first = group[0]
    cause, entity = _cause(group, weak)
    kinds = {member.kind for member in group}
    seal = f"{first.name} {first.from_at.isoformat()}"
    return Incident(
        f"{day:%Y%m%d}-{sha256(seal.encode()).hexdigest()[:12]}",
        next((kind for kind, some in _KINDS if kinds & some), "traffic"),
        first.from_at,
        max(member.to_at for member in group),
        len(group),
        sorted({member.name for member in group})[:LISTED_MAX],
        sorted({member.site for member in group if member.site is not None})[:LISTED_MAX],
        first.entity,
        first.kind,
        cause,
        entity,
    )


def _cause(
    group: list[IncidentMember], weak: frozenset[IncidentWeakness]
) -> tuple[str, str | None]:
    """The likely cause: only members that began first are considered."""
    first = group[0]
    leaders = [each for each in group if each.from_at <= first.from_at + SLACK]
    for member in leaders:
        if member.kind == "outage" and len(group) > 1 and _is_weak(member, weak):
            return "articulation point", member.entity
    for member in leaders:
        if len(member.nodes) > 1 and _is_weak(member, weak):
            return "bridge", member.entity
    out = [each for each in leaders if each.kind == "outage"]
    sites = {each.site for each in out}
    if len({each.entity for each in out}) > 1 and len(sites) == 1 and None not in sites:
        return "site", out[0].site
    if first.is_reboot:
        return "reboot", first.entity
    return ("server", first.entity) if first.kind == "load" else ("unknown", None)


def _is_weak(member: IncidentMember, weak: frozenset[IncidentWeakness]) -> bool:
    """True if it was critical when it began or an hour before; once it is down it is not."""
    hour = member.from_at.replace(minute=0, second=0, microsecond=0)
    nodes = tuple(sorted(member.nodes))
    return any(IncidentWeakness(hour - timedelta(hours=back), nodes) in weak for back in (0, 1))
