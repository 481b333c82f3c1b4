"""The net check: each finding from what the node has seen, each trouble with advice."""

import msgspec
import pytest

from rookery.runtime.node.members import NodeName
from rookery.runtime.node.netcheck import ClockSkew, NetFacts, netcheck
from rookery.runtime.node.snapshot import (
    NetCheckItem,
    NetCheckResult,
    PeerPathRow,
    PeerPathState,
    PeerRow,
    PeerState,
)
from rookery.wire.link.path import NetPath

BOB = NodeName("b" * 52, "bob")
CAROL = NodeName("c" * 52, "carol")
NOW = 1_700_000_000.0
DAY = 86400

TCP = NetPath("tcp4", "192.0.2.1", 7001)
UDP = NetPath("udp4", "192.0.2.1", 7001)


def path(
    transport: str, state: PeerPathState = PeerPathState.UP, ip: str = "192.0.2.9"
) -> PeerPathRow:
    return PeerPathRow(address=f"{ip}:7002", transport=transport, state=state)


def peer(
    member: NodeName, *paths: PeerPathRow, state: PeerState = PeerState.UP, error: str = ""
) -> PeerRow:
    return PeerRow(node=member, state=state, paths=paths, last_error=error)


FACTS = NetFacts(
    listening=(TCP, UDP),
    own_ips=frozenset({"127.0.0.1", "192.0.2.1"}),
    observed=(NetPath("tcp4", "192.0.2.1", 45678),),
    peers=(peer(BOB, path("tcp4"), path("udp4")), peer(CAROL, path("tcp4"), path("udp4"))),
    others=2,
    skews=(ClockSkew(BOB, 0.0), ClockSkew(CAROL, -0.5)),
    unix_s=NOW,
    certificate_begins_at=int(NOW) - 30 * DAY,
    certificate_ends_at=int(NOW) + 60 * DAY,
)


def found(check: str, **changes: object) -> NetCheckItem:
    (item,) = (
        item for item in netcheck(msgspec.structs.replace(FACTS, **changes)) if item.check == check
    )
    return item


def test_all_is_well() -> None:
    items = netcheck(FACTS)
    assert {item.finding for item in items} == {NetCheckResult.OK}
    assert [item.check for item in items] == [
        "certificate",
        "clock",
        "tcp-listening",
        "udp-listening",
        "address",
        "direct-peers",
        "udp-beside",
    ]


CASES: list[tuple[str, dict[str, object], NetCheckResult, str]] = [
    ("certificate", {"unix_s": NOW + 61 * DAY}, NetCheckResult.FAILED, "ended 1.0 days ago"),
    ("certificate", {"unix_s": NOW - 31 * DAY}, NetCheckResult.FAILED, "not valid yet"),
    ("certificate", {"unix_s": NOW + 50 * DAY}, NetCheckResult.WARNING, "ends in 10.0 days"),
    (
        "clock",
        {"skews": (ClockSkew(BOB, 400.0), ClockSkew(CAROL, 390.0))},
        NetCheckResult.FAILED,
        "400 s or more ahead",
    ),
    (
        "clock",
        {"skews": (ClockSkew(BOB, -20.0),)},
        NetCheckResult.WARNING,
        "bob is 20 s or more behind",
    ),
    (
        "clock",
        {"skews": (ClockSkew(BOB, 400.0), ClockSkew(CAROL, 0.0))},
        NetCheckResult.WARNING,
        "bob is 400 s",
    ),
    ("clock", {"skews": ()}, NetCheckResult.UNKNOWN, "no peer"),
    ("tcp-listening", {"listening": (UDP,)}, NetCheckResult.FAILED, "nowhere"),
    (
        "tcp-listening",
        {"listening": (NetPath("tcp4", "127.0.0.1", 7001),)},
        NetCheckResult.WARNING,
        "only this machine",
    ),
    ("udp-listening", {"listening": (TCP,)}, NetCheckResult.WARNING, "nowhere"),
    ("address", {"observed": ()}, NetCheckResult.UNKNOWN, "no peer has said"),
    (
        "address",
        {"observed": (NetPath("tcp4", "198.51.100.7", 45678),)},
        NetCheckResult.WARNING,
        "seen as 198.51.100.7: behind a NAT",
    ),
    (
        "address",
        {"observed": (NetPath("tcp4", "198.51.100.7", 1), NetPath("tcp4", "198.51.100.8", 2))},
        NetCheckResult.WARNING,
        "changes addresses",
    ),
    (
        "address",
        {"observed": (NetPath("udp4", "198.51.100.7", 1), NetPath("udp4", "198.51.100.7", 2))},
        NetCheckResult.WARNING,
        "changes addresses",
    ),
    (
        "direct-peers",
        {"peers": (peer(BOB, state=PeerState.DOWN, error="refused"),)},
        NetCheckResult.FAILED,
        "0 of 2 other members (refused)",
    ),
    ("direct-peers", {"peers": ()}, NetCheckResult.FAILED, "0 of 2 other members"),
    ("direct-peers", {"peers": (), "others": 0}, NetCheckResult.UNKNOWN, "nobody else"),
    (
        "udp-beside",
        {"peers": (peer(BOB, path("tcp4"), path("udp4", PeerPathState.PROBING)),)},
        NetCheckResult.WARNING,
        "up with 0 of 1 peer",
    ),
    ("udp-beside", {"peers": ()}, NetCheckResult.UNKNOWN, "no peer"),
]


@pytest.mark.parametrize(("check", "changes", "finding", "text"), CASES)
def test_what_is_wrong_is_named(
    check: str, changes: dict[str, object], finding: NetCheckResult, text: str
) -> None:
    item = found(check, **changes)
    assert (item.finding, text in item.found) == (finding, True), item
    assert item.advice or finding is NetCheckResult.UNKNOWN


def test_members_that_only_routes_reach_are_no_failure() -> None:
    """M1: a mesh needs no direct link with everybody."""
    lost = peer(CAROL, state=PeerState.DOWN, error="no answer")
    item = found("direct-peers", peers=(peer(BOB, path("tcp4")), lost), others=5)
    assert item.finding is NetCheckResult.OK
    assert item.found == "1 of 5 other members; not carol (no answer)"
    assert "rookery routes" in item.advice
    assert found("direct-peers", peers=(peer(BOB, path("tcp4")),), others=5).found == (
        "1 of 5 other members"
    )


def test_a_demonstration_on_one_machine_is_not_warned_of_itself() -> None:
    near = (NetPath("tcp4", "127.0.0.1", 7001),)
    item = found("tcp-listening", listening=near, peers=(peer(BOB, path("tcp4", ip="127.0.0.1")),))
    assert item.finding is NetCheckResult.OK


def test_a_large_mesh_is_not_listed_whole() -> None:
    crowd = tuple(peer(NodeName(f"{n:052}"), path("tcp4")) for n in range(9))
    assert "and 6 more" in found("udp-beside", peers=crowd).advice
