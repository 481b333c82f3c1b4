"""What failed together, and why perhaps (P4)."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from rookery.lake.insights import incident_groups
from rookery.lake.insights.incident_groups import IncidentMember, IncidentWeakness
from tests.lake.oracle import incident_groups as oracle

NOON = datetime(2026, 3, 4, 12, 30, tzinfo=UTC)
DAY = NOON.date()


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def outage(
    entity: str, from_min: float, to_min: float, site: str | None = None, *, is_reboot: bool = False
) -> IncidentMember:
    nodes = (f"hash {entity}",)
    return IncidentMember(at(from_min), "outage", entity, at(to_min), nodes, site, is_reboot)


def lossy(a: str, b: str, from_min: float, to_min: float) -> IncidentMember:
    nodes = (f"hash {a}", f"hash {b}")
    return IncidentMember(at(from_min), "loss", f"r/{a}/{b}", at(to_min), nodes, None, False)


def test_a_site_that_goes_dark_is_one_incident() -> None:
    site = "192.0.2.0/24"
    members = [outage(each, number, 40, site) for number, each in enumerate("abc")]
    elsewhere = outage("z", 0, 40, "198.51.100.0/24")
    one, other = incident_groups.incidents(DAY, [elsewhere, *members[::-1]], ())
    assert (one.members, one.first, one.cause, one.cause_entity) == (3, "a", "site", site)
    assert (one.kind, one.from_at, one.to_at, one.sites) == ("outage", at(0), at(40), [site])
    assert one.entities == ["outage a", "outage b", "outage c"]
    assert (other.members, other.first, other.cause, other.cause_entity) == (
        1,
        "z",
        "unknown",
        None,
    )
    assert one.id != other.id
    assert one.id.startswith("20260304-")
    assert incident_groups.incidents(DAY, [*members, elsewhere], ())[0].id == one.id


def test_the_node_that_others_hung_on_is_the_cause_if_it_was_among_the_first() -> None:
    weak = [IncidentWeakness(at(-90).replace(minute=0), ("hash b",))]
    chain = [lossy("b", "c", 3, 60), outage("b", 2, 60), lossy("a", "b", 0, 60)]
    [found] = incident_groups.incidents(DAY, chain, weak)
    assert (found.first, found.cause, found.cause_entity) == ("r/a/b", "articulation point", "b")
    [late] = incident_groups.incidents(DAY, [outage("b", 20, 60), lossy("a", "b", 0, 60)], weak)
    assert late.cause == "unknown"
    edge = [outage("b", 5, 60), lossy("a", "b", 0, 60)]
    assert incident_groups.incidents(DAY, edge, weak)[0].cause == "articulation point"
    long_ago = [IncidentWeakness(at(-190).replace(minute=0), ("hash b",))]
    [other] = incident_groups.incidents(DAY, chain, long_ago)
    assert other.cause == "unknown"


@pytest.mark.parametrize(
    ("member", "kind", "cause"),
    [
        (outage("a", 0, 2, is_reboot=True), "outage", ("reboot", "a")),
        (lossy("a", "b", 0, 60), "degradation", ("bridge", "r/a/b")),
        (IncidentMember(at(0), "load", "s", at(60), (), None, False), "overload", ("server", "s")),
        (
            IncidentMember(at(0), "device load", "d", at(60), (), None, False),
            "overload",
            ("unknown", None),
        ),
        (
            IncidentMember(at(0), "temperature", "d", at(60), (), None, False),
            "heat",
            ("unknown", None),
        ),
        (
            IncidentMember(at(0), "traffic", "d", at(60), (), None, False),
            "traffic",
            ("unknown", None),
        ),
    ],
)
def test_one_alone_has_a_kind_and_perhaps_a_cause(
    member: IncidentMember, kind: str, cause: tuple[str, str | None]
) -> None:
    weak = [IncidentWeakness(NOON.replace(minute=0), ("hash a", "hash b"))]
    [found] = incident_groups.incidents(DAY, [member], weak)
    assert (found.kind, found.members) == (kind, 1)
    assert (found.cause, found.cause_entity) == cause


def test_more_than_five_minutes_apart_is_another_incident() -> None:
    near = [outage("a", 0, 10), outage("a", 15, 20)]
    assert len(incident_groups.incidents(DAY, near, ())) == 1
    far = [outage("a", 0, 10), outage("a", 15.1, 20)]
    assert len(incident_groups.incidents(DAY, far, ())) == 2


@pytest.mark.parametrize("seed", range(50))
def test_groups_are_those_that_pairs_make(seed: int) -> None:
    """P4: the result does not depend on the order of members."""
    chance = random.Random(seed)
    members = []
    for number in range(chance.randint(1, 40)):
        start = chance.randrange(600)
        end = start + chance.choice((1, 5, 30, 200))
        if chance.random() < 0.5:
            members.append(outage(f"d{number % 9}", start, end, chance.choice((None, "s1", "s2"))))
        else:
            a, b = chance.sample([f"d{each}" for each in range(15)], 2)
            members.append(lossy(a, b, start, end))
    members = list(dict.fromkeys(members))
    found = incident_groups.incidents(DAY, members, ())
    known = oracle.groups(members)
    assert sorted((each.from_at, each.to_at, each.members) for each in found) == sorted(
        (min(e.from_at for e in group), max(e.to_at for e in group), len(group)) for group in known
    )
    assert len({each.id for each in found}) == len(found)
