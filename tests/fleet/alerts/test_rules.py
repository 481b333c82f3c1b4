"""What of servers, spool, lake, mesh and security is worth an alert (F14)."""

import pytest

from rookery.fleet.alerts import rules
from rookery.fleet.alerts.alert import AlertCondition
from rookery.fleet.alerts.rules import SeenEvents, SeenLink, SeenMember, SeenServer, SeenSpool

A, B, C = "a" * 52, "b" * 52, "c" * 52


def server(hashname: str = A, used: int = 0, *, is_silent: bool = False) -> SeenServer:
    return SeenServer(
        hashname=hashname,
        address="192.0.2.1:7421",
        is_silent=is_silent,
        last_seen=90,
        seats_used=used,
        seats_max=100,
    )


def spool(unlanded: int | None = None, *, is_full: bool = False) -> SeenSpool:
    return SeenSpool(name="s", bytes_max=1000, is_full=is_full, unlanded_bytes=unlanded)


def told(conditions: list[AlertCondition]) -> list[tuple[str, str]]:
    return [(each.key.rpartition(" ")[0], each.severity) for each in conditions]


def test_servers_in_order_are_not_worth_a_word() -> None:
    assert rules.servers([server(), server(B, 94)], ()) == []
    assert rules.servers([], ()) == []


def test_a_server_that_is_silent_is_told_and_the_last_one_otherwise() -> None:
    (one,) = rules.servers([server(is_silent=True), server(B)], ())
    assert one.title == "A server is silent: 192.0.2.1:7421"
    assert one.began_at == 90
    (last,) = rules.servers([server(is_silent=True)], ())
    assert last.title.startswith("The last server is silent")


def test_a_full_server_stays_so_until_it_clearly_is_not() -> None:
    (full,) = rules.servers([server(used=95), server(B)], ())
    assert (full.kind, full.severity, full.note) == ("server_full", "warning", "95 of 100 seats")
    assert len(rules.servers([server(used=86), server(B)], (full.key,))) == 1
    assert rules.servers([server(used=84), server(B)], (full.key,)) == []


def test_it_is_worse_when_no_server_has_a_seat() -> None:
    conditions = rules.servers([server(used=95), server(B, 100)], ())
    assert [each.severity for each in conditions] == ["critical", "critical"]


def test_a_spool_that_is_full_and_one_on_its_way_there() -> None:
    assert rules.spool(spool(), ()) == []
    assert rules.spool(spool(249), ()) == []
    assert told(rules.spool(spool(250), ())) == [("spool behind", "warning")]
    assert told(rules.spool(spool(160), ("spool behind s",))) == [("spool behind", "warning")]
    assert rules.spool(spool(149), ("spool behind s",)) == []
    (full,) = rules.spool(spool(900, is_full=True), ())
    assert (full.severity, full.is_immediate) == ("critical", True)
    assert full.absorbs == ("spool behind s",)


@pytest.mark.parametrize(
    ("age_s", "notes"), [(None, []), (60, []), (120, ["2 min"]), (7200, ["2 h"])]
)
def test_a_lake_that_has_had_nothing_new(age_s: float | None, notes: list[str]) -> None:
    assert [each.note for each in rules.lake(age_s, stale_s=90)] == notes


def member(hashname: str, *, is_up: bool = True) -> SeenMember:
    return SeenMember(hashname=hashname, name=f"node-{hashname[0]}", is_up=is_up)


def link(a: str, b: str, state: str = "up", loss: float | None = 0.0) -> SeenLink:
    return SeenLink(a=a, b=b, state=state, loss=loss)


def test_a_mesh_in_order() -> None:
    links = [link(A, B), link(B, C, loss=None), link(A, C, loss=0.09)]
    assert rules.mesh([member(A), member(B), member(C)], links, ()) == []


def test_a_member_that_is_gone_takes_its_links_with_it() -> None:
    links = [link(A, B, "down"), link(B, C, "down")]
    (gone,) = rules.mesh([member(A), member(B, is_up=False), member(C)], links, ())
    assert gone.title == "The mesh has lost node-b"
    assert gone.entities == (f"member {B}", f"link {A} {B}", f"link {B} {C}")
    assert f"link down {A} {B}" in gone.absorbs
    assert f"link lossy {B} {C}" in gone.absorbs


def test_links_that_are_down_or_one_way_or_lose() -> None:
    members = [member(A), member(B)]
    for state in ("down", "one-way"):
        (down,) = rules.mesh(members, [link(A, B, state)], ())
        assert down.title == f"The link node-a – node-b is {state}"
    (lossy,) = rules.mesh(members, [link(A, B, loss=0.1)], ())
    assert (lossy.severity, lossy.note) == ("notice", "10% lost")
    assert len(rules.mesh(members, [link(A, B, loss=0.06)], (lossy.key,))) == 1
    assert rules.mesh(members, [link(A, B, loss=0.04)], (lossy.key,)) == []


def test_a_link_to_somebody_unknown_is_told_by_what_is_known() -> None:
    (down,) = rules.mesh([member(A)], [link(A, C, "down")], ())
    assert down.title == "The link node-a – cccccccc is down"


def test_grave_events_count_from_the_first_and_others_when_they_are_many() -> None:
    def events(name: str, count: int) -> SeenEvents:
        return SeenEvents(event=name, count=count, addresses=2, senders=("02:fc:00:00:00:01",))

    assert rules.security([events("denied", 4)]) == []
    (many,) = rules.security([events("denied", 5)])
    assert (many.severity, many.note) == ("warning", "5 events from 2 addresses")
    (grave,) = rules.security([events("foreign_key", 1)])
    assert (grave.severity, grave.cause) == ("critical", "foreign key")
    assert grave.entities == ("reporter 02:fc:00:00:00:01",)
