"""Our own record: when it is made anew, and what it then says, in virtual time."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.identity import signing
from rookery.mesh.records.database import RecordDatabase, RecordVerdict
from rookery.mesh.records.publisher import (
    GATHER_S,
    LIFETIME_S,
    NOISE_US,
    Publisher,
    quantised,
    steps,
)
from rookery.wire.link.path import NetPath
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import COST_MAX, LINKS_MAX, PATHS_MAX, Record, RecordLink
from rookery.wire.mesh.statement import Statement
from tests.mesh.realms import NOW_S
from tests.mesh.signed_records import Scribe, membership, scribe

OWN, OTHER = scribe("own"), scribe("other")
A, B, C = (bytes([letter]) * 8 for letter in b"abc")
PATH = NetPath("tcp4", "192.0.2.1", 4242)


def publisher(
    own: Scribe,
    *,
    epoch: int = 1,
    now: float = 0.0,
    records: Mapping[NodeId, Record] | None = None,
    services: tuple[str, ...] = (),
) -> Publisher:
    member = membership(own).own
    secret = own.identity.pairs[0x40].secret
    return Publisher(
        member,
        secret,
        epoch=epoch,
        now=now,
        records={} if records is None else records,
        services=services,
    )


def record(origin: NodeId, *peers: NodeId) -> Record:
    return Record(
        origin, 1, 1, 0, 60, links=tuple(RecordLink(peer, 0, 1) for peer in sorted(peers))
    )


class Office:
    """A publisher that is asked ten times a second, and whenever it wants to be."""

    def __init__(self, costs: dict[NodeId, int] | None = None, *, epoch: int = 1) -> None:
        self.now = 100.0
        self.costs = dict(costs or {})
        self.paths: list[NetPath] = [PATH]
        self.records: dict[NodeId, Record] = {}
        self.publisher = publisher(
            OWN, epoch=epoch, now=self.now, records=self.records, services=("exit",)
        )
        self.made: list[tuple[float, Record]] = []

    def look(self) -> Record | None:
        links = [RecordLink(peer, 7, cost, 5, 90) for peer, cost in self.costs.items()]
        data = self.publisher.update(links, self.paths, self.now, NOW_S + self.now - 100.0)
        if data is None:
            return None
        statement = Statement.parse(data)
        signing.verify(signing.public(OWN.seed), statement.signed, statement.signature)
        record = Record.parse(statement.content)
        assert record == self.publisher.record
        self.made.append((self.now, record))
        return record

    def run(self, seconds: float, costs: Mapping[NodeId, int] | None = None) -> list[Record]:
        """The records made in that time."""
        if costs is not None:
            self.costs = dict(costs)
        before = len(self.made)
        end = self.now + seconds
        self.look()
        while self.now < end:
            deadline = self.publisher.deadline
            wish = end if deadline is None or deadline <= self.now else deadline
            self.now = min(end, self.now + 0.1, wish)
            self.look()
        return [record for _, record in self.made[before:]]


def costs_of(record: Record) -> dict[NodeId, int]:
    return {link.peer: link.cost_us for link in record.links}


def up(cost: int, by: int) -> int:
    """A cost this many steps higher."""
    return round((quantised(cost) + NOISE_US) * 1.125**by - NOISE_US)


def test_the_first_record_tells_all_that_came_up_within_a_moment() -> None:
    office = Office()
    assert office.run(0.1, {B: 200_000}) == []
    [record] = office.run(0.11, {B: 200_000, A: 100_000})
    assert (record.origin, record.version, record.made_s) == (OWN.node, (1, 1), NOW_S)
    assert (record.lifetime_s, record.roles, record.area) == (LIFETIME_S, 1, 0)
    assert (record.paths, record.services) == ((PATH,), ("exit",))
    assert [link.peer for link in record.links] == [A, B]
    assert record.links[0] == RecordLink(A, 7, quantised(100_000), 5, 90)


def test_others_believe_it() -> None:
    office = Office({A: 100_000})
    data = office.publisher.update([RecordLink(A, 0, 100_000)], [PATH], 101.0, NOW_S)
    assert data is not None
    assert RecordDatabase(membership(OTHER, OWN)).offer(data, 0.0, NOW_S) is RecordVerdict.NEW


def test_while_nothing_changes_nothing_is_told() -> None:
    office = Office({A: 100_000, B: 200_000})
    office.run(10)
    assert office.run(600) == []


@given(st.integers(1, COST_MAX))
def test_costs_are_told_in_steps_of_an_eighth(cost_us: int) -> None:
    told = quantised(cost_us)
    assert 1 <= told <= COST_MAX
    if cost_us > 1000:
        assert abs((told + NOISE_US) / (cost_us + NOISE_US) - 1) < 0.0651
        assert steps(told) == steps(cost_us)


def test_what_a_busy_machine_adds_to_a_fast_path_is_not_told() -> None:
    """A round trip of half a millisecond that takes two now and then is no news."""
    office = Office({A: 1000})
    office.run(10)
    office.costs[A] = 2200
    assert office.run(600) == []


def test_noise_of_one_step_is_never_told() -> None:
    """Hysteresis: below two steps nothing happens, however long."""
    office = Office({A: 100_000})
    office.run(10)
    for change in (1, 0, -1, 1, -1) * 20:
        assert office.run(5.0, {A: up(100_000, change)}) == []


@pytest.mark.parametrize("change", [2, 3, -2, -3])
def test_two_steps_are_told_when_they_have_lasted_three_seconds(change: int) -> None:
    office = Office({A: 100_000})
    office.run(10)
    assert office.run(2.9, {A: up(100_000, change)}) == []
    [record] = office.run(0.2)
    assert steps(costs_of(record)[A]) == steps(100_000) + change
    assert office.run(60.0) == []


def test_two_steps_that_do_not_last_are_not_told() -> None:
    office = Office({A: 100_000})
    office.run(10)
    for _ in range(20):
        assert office.run(2.5, {A: up(100_000, 2)}) == []
        assert office.run(0.5, {A: 100_000}) == []


def test_from_dearer_to_cheaper_the_time_begins_anew() -> None:
    office = Office({A: 100_000})
    office.run(10)
    assert office.run(2.5, {A: up(100_000, 2)}) == []
    assert office.run(2.5, {A: up(100_000, -2)}) == []
    assert len(office.run(0.6)) == 1


@pytest.mark.parametrize("change", [4, 12, -4, -12])
def test_four_steps_are_told_at_once(change: int) -> None:
    office = Office({A: 100_000})
    office.run(10)
    [record] = office.run(0.0, {A: up(100_000, change)})
    assert steps(costs_of(record)[A]) == steps(100_000) + change


def test_a_small_change_of_one_link_is_not_told_along_with_another() -> None:
    """So that routes elsewhere stay as they are."""
    office = Office({A: 100_000, B: 100_000})
    office.run(10)
    [record] = office.run(0.0, {A: up(100_000, 1), B: up(100_000, 5)})
    assert costs_of(record)[A] == quantised(100_000)


def test_new_links_are_gathered_for_a_moment_and_longer_while_there_are_more() -> None:
    office = Office({A: 100_000})
    office.run(20)
    office.made.clear()
    began = office.now
    peers = [bytes([number]) * 8 for number in range(24)]
    for count in range(1, 25):
        office.run(0.1, {A: 100_000, **dict.fromkeys(peers[:count], 100_000)})
    office.run(1.0)
    assert [round(at - began, 1) for at, _ in office.made] == [0.2, 0.7, 1.6, 2.5]
    assert len(costs_of(office.made[-1][1])) == 24
    office.run(20)
    assert office.run(GATHER_S - 0.01, {A: 100_000}) != []  # a loss does not wait
    assert len(office.run(GATHER_S, {A: 100_000, B: 100_000})) == 1


def test_what_was_gathered_goes_along_with_a_loss() -> None:
    office = Office({A: 100_000, B: 100_000})
    office.run(20)
    assert office.run(0.1, {A: 100_000, B: 100_000, C: 100_000}) == []
    [record] = office.run(0.0, {A: 100_000, C: 100_000})
    assert set(costs_of(record)) == {A, C}
    assert office.run(5.0) == []


def test_a_new_link_that_is_gone_within_the_moment_is_not_told() -> None:
    office = Office({A: 100_000})
    office.run(20)
    office.run(0.1, {A: 100_000, B: 100_000})
    assert office.run(5.0, {A: 100_000})[1:] == []
    assert set(costs_of(office.made[-1][1])) == {A}


def test_a_new_address_or_service_is_told_at_once() -> None:
    office = Office({A: 100_000})
    office.run(10)
    office.paths = [PATH, NetPath("tcp6", "2001:db8::1", 4242)]
    [record] = office.run(0.0)
    assert record.paths == tuple(office.paths)
    office.publisher.services = ()
    [record] = office.run(0.0)
    assert record.services == ()


def test_losing_one_peer_removes_only_its_edge() -> None:
    """R3, at once."""
    office = Office({A: 100_000, B: 200_000, C: 300_000})
    office.run(10)
    before = {link for link in office.made[-1][1].links if link.peer != B}
    [record] = office.run(0.0, {A: 100_000, C: 300_000})
    assert set(record.links) == before


def test_no_more_than_a_record_a_second_after_a_burst_of_five() -> None:
    """R4, whatever happens to the links."""
    office = Office({A: 100_000})
    office.run(60)
    office.made.clear()
    for turn in range(300):
        office.run(0.1, {A: 100_000 if turn % 2 else 900_000, bytes([turn % 250]) * 8: 50})
    start = office.made[0][0]
    assert len(office.made) <= 5 + 30 + 1
    assert sum(at < start + 0.9 for at, _ in office.made) == 5
    for second in range(1, 30):
        assert sum(start + second <= at < start + second + 1 for at, _ in office.made) <= 2


def test_what_had_to_wait_for_its_second_is_told_as_it_is_then() -> None:
    office = Office({A: 100_000})
    for turn in range(20):
        office.run(0.01, {A: 100_000 * 2**turn})
    office.run(12, {A: 777_000})
    assert costs_of(office.made[-1][1])[A] == quantised(777_000)


def test_costs_alone_make_a_record_every_ten_seconds() -> None:
    """Of hundreds of links some are always restless."""
    office = Office({A: 100_000, B: 100_000})
    office.run(100)
    office.made.clear()
    for turn in range(100):
        office.run(1, {A: 100_000 if turn % 2 else 900_000, B: 100_000})
    assert len(office.made) <= 5 + 10 + 1
    office.made.clear()
    office.run(1, {A: 100_000})  # a loss does not wait
    assert len(office.made) == 1


def flap(office: Office, times: int, seconds: float) -> list[float]:
    """For each loss how long after its return the link was told again."""
    delays = []
    for _ in range(times):
        office.run(seconds, {B: 100_000})
        back = office.now
        office.costs = {A: 100_000, B: 100_000}
        while A not in costs_of(office.made[-1][1]) and office.now < back + 120:
            office.run(0.1)
        delays.append(office.now - back)
    return delays


def test_a_flapping_link_is_told_later_each_time_and_its_loss_at_once() -> None:
    office = Office({A: 100_000, B: 100_000})
    office.run(10)
    delays = flap(office, 5, 2.0)
    assert delays[0] < 0.45
    assert 3.0 < delays[1] < 4.5
    assert delays[1] < delays[2] < delays[3]
    assert delays[-1] < 65
    office.run(0.0, {B: 100_000})
    assert set(costs_of(office.made[-1][1])) == {B}


def test_a_link_that_goes_again_while_held_down_is_never_told() -> None:
    office = Office({A: 100_000, B: 100_000})
    office.run(10)
    flap(office, 3, 1.0)
    office.run(5.0, {B: 100_000})
    office.made.clear()
    for _ in range(10):
        office.run(3.0, {A: 100_000, B: 100_000})
        office.run(1.0, {B: 100_000})
    assert office.made == []


def test_the_only_route_to_a_peer_is_told_at_once_however_often_it_flapped() -> None:
    office = Office({A: 100_000, B: 100_000})
    office.records |= {A: record(A, OWN.node), B: record(B, OWN.node)}
    office.run(10)
    assert max(flap(office, 5, 2.0)) < 1.5  # the pace of records is all that holds it back
    office.records |= {A: record(A, OWN.node, B), B: record(B, OWN.node, A)}
    assert flap(office, 1, 2.0)[0] > 3.0


def test_a_peer_that_lost_all_its_links_and_is_back_is_told_by_two_however_often_it_did() -> None:
    """A node with one link that is known has no other route when that fails."""
    office = Office({A: 100_000, B: 100_000})
    office.records |= {A: record(A, OWN.node, B, C), B: record(B, OWN.node, A)}
    office.run(10)
    assert max(flap(office, 5, 2.0)) < 2.0  # only B tells of it
    office.records[C] = record(C, A)
    assert flap(office, 1, 2.0)[0] > 3.0  # two do


def test_a_link_that_flaps_alone_is_held_back_though_its_peer_has_only_one_other() -> None:
    office = Office({A: 100_000, B: 100_000})
    office.records |= {A: record(A, OWN.node, B), B: record(B, OWN.node, A)}
    office.run(10)
    assert flap(office, 3, 2.0)[-1] > 3.0


def test_who_lost_all_its_links_and_is_back_tells_of_two_however_often_it_did() -> None:
    office = Office(dict.fromkeys((A, B, C), 100_000) | {C: 90_000})
    everybody = {A, B, C, OWN.node}
    office.records |= {peer: record(peer, *(everybody - {peer})) for peer in (A, B, C)}
    office.run(60)
    for _ in range(4):
        office.run(2.0, {})
        office.run(2.0, {A: 100_000, B: 110_000, C: 90_000})
    assert set(costs_of(office.made[-1][1])) == {A, C}
    office.run(60.0)
    assert set(costs_of(office.made[-1][1])) == {A, B, C}


def test_others_who_tell_of_it_meanwhile_make_a_held_link_wait_again() -> None:
    office = Office({A: 100_000, B: 100_000})
    office.records |= {A: record(A, OWN.node, B, C), B: record(B, OWN.node, A), C: record(C, A)}
    office.run(10)
    flap(office, 3, 2.0)
    office.run(2.0, {B: 100_000})
    del office.records[C]
    office.made.clear()
    office.run(0.1, {A: 100_000, B: 100_000})
    office.records[C] = record(C, A)
    assert office.run(2.0) == []


def test_the_first_return_of_a_link_that_became_dear_before_its_loss_is_told_at_once() -> None:
    """A silent cut makes a link suspect first, and a suspect link is dear."""
    office = Office({A: 100_000, B: 100_000})
    office.run(10)
    for cost_us in (300_000, 900_000):
        office.run(1.0, {A: cost_us, B: 100_000})
    assert flap(office, 1, 2.0)[0] < 0.45


def test_a_quiet_link_is_forgiven() -> None:
    office = Office({A: 100_000, B: 100_000})
    office.run(10)
    flap(office, 5, 2.0)
    office.run(600.0)
    assert flap(office, 1, 2.0)[0] < 0.45


def test_a_cost_that_swings_is_told_as_its_worse_side() -> None:
    """Bad news at once, good news when it lasts: soon nothing more is told."""
    office = Office({A: 100_000})
    office.run(10)
    for _ in range(10):
        office.run(1.0, {A: 400_000})
        office.run(1.0, {A: 100_000})
    office.made.clear()
    for _ in range(10):
        office.run(1.0, {A: 400_000})
        office.run(1.0, {A: 100_000})
    assert len(office.made) <= 2
    office.run(120.0, {A: 100_000})
    assert costs_of(office.made[-1][1])[A] == quantised(100_000)


def test_good_news_that_is_held_back_is_not_told_along_with_another() -> None:
    office = Office({A: 100_000, B: 100_000})
    office.run(60)
    for _ in range(5):
        office.run(1.5, {A: 400_000, B: 100_000})
        office.run(1.5, {A: 100_000, B: 100_000})
    office.run(1.5, {A: 400_000, B: 100_000})
    [record] = office.run(0.0, {A: 100_000, B: 900_000})
    assert costs_of(record) == {A: quantised(400_000), B: quantised(900_000)}


def test_a_record_is_refreshed_before_half_its_lifetime() -> None:
    office = Office({A: 100_000})
    office.run(1.0)
    assert office.publisher.deadline is not None
    office.now = office.publisher.deadline - 0.1
    assert office.look() is None
    office.now += 0.1
    record = office.look()
    assert record is not None
    assert 0.4 * LIFETIME_S <= office.now - 100 <= 0.5 * LIFETIME_S
    assert record.sequence == 2


def test_refreshes_of_nodes_that_started_together_are_spread() -> None:
    """R4"""
    deadlines = []
    for number in range(20):
        one = publisher(scribe(f"node {number}"))
        one.update([], [], 1.0, NOW_S)
        assert one.deadline is not None
        deadlines.append(one.deadline)
    assert max(deadlines) - min(deadlines) > 0.05 * LIFETIME_S
    assert len(set(deadlines)) > 10


def test_two_steps_dearer_wait_for_their_time_even_along_with_another() -> None:
    office = Office({A: 100_000, B: 100_000})
    office.run(10)
    [record] = office.run(0.0, {A: up(100_000, 2), B: up(100_000, 5)})
    assert costs_of(record)[A] == quantised(100_000)
    [record] = office.run(3.1)
    assert steps(costs_of(record)[A]) == steps(100_000) + 2


def test_our_own_costs_follow_at_once_what_the_record_may_have_to_wait_for() -> None:
    """The node that sees a loss acts on it, whatever the rate of records allows."""
    office = Office({A: 100_000, B: 100_000})
    office.run(60)
    for turn in range(20):
        office.run(0.01, {A: 100_000 * 2**turn, B: 100_000})
    told = costs_of(office.made[-1][1])
    office.run(0.0, {A: 3, C: 500})
    assert costs_of(office.made[-1][1]) == told
    assert dict(office.publisher.costs) == {A: office.publisher.costs[A], C: quantised(500)}
    assert office.run(0.0, {}) == []
    assert office.publisher.costs == {}


def test_the_first_record_of_a_later_epoch_outdoes_all_of_the_former() -> None:
    """R1"""
    former, later = Office({A: 100_000}, epoch=1), Office({A: 100_000}, epoch=2)
    for turn in range(5):
        former.run(1.0, {A: 100_000 * 4**turn})
    later.run(1.0)
    assert later.made[0][1].version > former.made[-1][1].version


def test_a_former_life_with_a_later_epoch_is_outdone_at_once() -> None:
    """R1: even when the stored epoch got lost."""
    office = Office({A: 100_000})
    office.run(10)
    office.publisher.outdo((40, 9), office.now)
    record = office.look()
    assert record is not None
    assert record.version > (40, 9)
    office.publisher.outdo((40, 9), office.now)
    assert office.run(10) == []


def test_the_last_epoch_can_be_outdone_too() -> None:
    office = Office()
    office.publisher.outdo((2**32 - 1, 9), office.now)
    [record] = office.run(1.0)
    assert record.version == (2**32 - 1, 10)


def test_many_links_are_told_in_part_and_answered_in_kind() -> None:
    peers = [bytes([number]) * 8 for number in range(100)]
    office = Office({peer: 100_000 + 100 * number for number, peer in enumerate(peers)})
    [record] = office.run(1.0)
    assert len(record.links) == 24
    assert office.run(30.0) == []
    suitor = next(peer for peer in peers if peer not in costs_of(record))
    office.records[suitor] = Record(
        suitor, 1, 1, NOW_S, 60, links=(RecordLink(OWN.node, 0, 100_000),)
    )
    [record] = office.run(3.0)
    assert suitor in costs_of(record)
    assert len(record.links) <= LINKS_MAX


def test_too_many_addresses_are_cut() -> None:
    office = Office()
    office.paths = [NetPath("tcp4", "192.0.2.1", port) for port in range(1, 20)] * 2
    [record] = office.run(1.0)
    assert record.paths == tuple(office.paths[:PATHS_MAX])


@pytest.mark.slow
def test_peers_that_came_and_went_are_forgotten() -> None:
    """However many there were: what remains is bounded."""
    office = Office()
    for number in range(1100):
        office.costs = {number.to_bytes(8): 100_000}
        office.now += 0.001
        office.look()
    assert repr(office.publisher).startswith("Publisher(")
    office.run(10.0, {A: 100_000})
    assert set(costs_of(office.made[-1][1])) == {A}
