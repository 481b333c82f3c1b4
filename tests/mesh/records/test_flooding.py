"""Flooding between two or three nodes: what is sent to whom, what is refused, what it costs."""

from collections.abc import Callable

import pytest

from rookery.errors import ProtocolError, RemoteError
from rookery.identity import signing
from rookery.mesh.records.database import RecordDatabase
from rookery.mesh.records.flooding import FRAME_TYPES, Flooding, FloodLimits
from rookery.wire.link.frame_types import DIGEST, PING, STATEMENTS, SUMMARY
from rookery.wire.mesh.flood import RootDigest, StatementKey, Statements, Want
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.statement import RECORD
from tests.mesh.realms import NOW_S, ROOT, certify
from tests.mesh.signed_records import Scribe, membership, scribe

OWN, ALICE, BOB, CAROL, STRANGER = map(scribe, ("own", "alice", "bob", "carol", "stranger"))


class Desk:
    """One node between neighbours that the test plays."""

    def __init__(
        self, *neighbours: Scribe, limits: FloodLimits | None = None, members: int = 0
    ) -> None:
        self.now = 50.0
        self.outbox: list[tuple[NodeId, bytes, bytes]] = []
        self.verified = 0
        self.crowd = [scribe(f"crowd {number}") for number in range(members)]
        self.database = RecordDatabase(
            membership(OWN, ALICE, BOB, CAROL, *self.crowd), verify=self._verify
        )
        self.flooding = Flooding(self.database, self._send, bytes, limits=limits, now=self.now)
        self.neighbours = {neighbour.node: 1000 for neighbour in neighbours}
        self.flooding.neighbours_changed(self.neighbours, self.now)
        self.tick(1.0)  # the first comparisons
        self.outbox.clear()

    def _verify(self, key: bytes, message: bytes, signature: bytes) -> None:
        self.verified += 1
        signing.verify(key, message, signature)

    def _send(self, node: NodeId, head: bytes, body: bytes) -> None:
        self.outbox.append((node, head, body))

    def receive(self, source: Scribe, frame: tuple[bytes, bytes]) -> None:
        head, body = frame
        try:
            self.flooding.received(source.node, head[0], head, body, self.now, NOW_S)
        finally:
            self.flooding.flush(self.now)

    def told(self, source: Scribe, *statements: bytes) -> None:
        self.receive(source, Statements(statements).serialize())

    def tick(self, seconds: float) -> None:
        end = self.now + seconds
        while (deadline := self.flooding.deadline) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.flooding.tick(self.now)
        self.now = end

    def take(self) -> list[tuple[NodeId, bytes]]:
        """The statements sent so far, and to whom."""
        self.tick(0.01)
        taken = []
        for node, head, body in self.outbox:
            if head[0] == STATEMENTS:
                taken += [(node, data) for data in Statements.parse(head, body).statements]
        self.outbox.clear()
        return taken

    def frames(self) -> list[tuple[NodeId, int]]:
        self.tick(0.01)
        taken = [(node, head[0]) for node, head, _ in self.outbox]
        self.outbox.clear()
        return taken


def test_news_is_passed_on_but_never_back_where_it_came_from() -> None:
    """R2"""
    desk = Desk(ALICE, BOB, CAROL)
    data = STRANGER.certificate
    desk.told(ALICE, data)
    assert sorted(desk.take()) == sorted([(BOB.node, data), (CAROL.node, data)])


def test_news_is_passed_on_once() -> None:
    """R1: by version; the same record from elsewhere, or signed anew, is no news."""
    desk = Desk(ALICE, BOB, CAROL)
    desk.told(ALICE, ALICE.says())
    assert len(desk.take()) == 4  # the record and, before it, the certificate
    desk.told(BOB, ALICE.says())
    desk.told(CAROL, ALICE.says()[:-64] + bytes(64))
    assert desk.take() == []


def test_a_neighbour_that_tells_us_is_not_told_what_waits_for_it() -> None:
    desk = Desk(ALICE, BOB)
    desk.flooding.publish(OWN.says(), desk.now, NOW_S)
    desk.flooding.flush(desk.now)
    desk.outbox.clear()
    desk.told(ALICE, CAROL.certificate, CAROL.says())
    desk.told(BOB, CAROL.certificate, CAROL.says())
    assert desk.take() == []


def test_the_first_record_of_an_origin_comes_after_its_certificate() -> None:
    desk = Desk(ALICE, BOB)
    desk.told(ALICE, CAROL.says(1))
    assert desk.take() == [(BOB.node, CAROL.certificate), (BOB.node, CAROL.says(1))]
    desk.told(ALICE, CAROL.says(2))
    assert desk.take() == [(BOB.node, CAROL.says(2))]


def test_our_own_record_goes_to_all_with_our_certificate_at_first() -> None:
    desk = Desk(ALICE)
    desk.flooding.publish(OWN.says(1), desk.now, NOW_S)
    assert desk.take() == [(ALICE.node, OWN.certificate), (ALICE.node, OWN.says(1))]
    desk.flooding.publish(OWN.says(2), desk.now, NOW_S)
    assert desk.take() == [(ALICE.node, OWN.says(2))]


def test_a_certificate_that_a_link_showed_can_be_published() -> None:
    desk = Desk(ALICE)
    desk.database.membership.prove(STRANGER.identity.hashname, STRANGER.certificate, NOW_S)
    desk.flooding.publish(STRANGER.certificate, desk.now, NOW_S)
    assert desk.take() == [(ALICE.node, STRANGER.certificate)]


def test_a_revocation_is_passed_on() -> None:
    desk = Desk(ALICE, BOB)
    revocation = ROOT.revoke(CAROL.identity.hashname, NOW_S)
    desk.told(ALICE, revocation)
    assert desk.take() == [(BOB.node, revocation)]
    with pytest.raises(ProtocolError, match=r"^unknown member$"):
        desk.told(ALICE, CAROL.says())


def test_a_record_that_changes_while_it_waits_is_sent_once_in_its_newest_form() -> None:
    desk = Desk(ALICE, BOB)
    desk.told(ALICE, CAROL.says(1))
    desk.take()
    for sequence in (2, 3, 4):
        desk.told(ALICE, CAROL.says(sequence))
    sent = desk.take()
    assert sent[-1] == (BOB.node, CAROL.says(4))
    assert len(sent) == 2  # the first at once, the others together


def test_whoever_is_behind_gets_the_newer_record_back() -> None:
    desk = Desk(ALICE)
    desk.told(ALICE, CAROL.says(5))
    desk.told(ALICE, CAROL.says(4))
    assert desk.take() == [(ALICE.node, CAROL.says(5))]


def test_answers_to_whoever_is_behind_are_limited() -> None:
    """R4"""
    desk = Desk(ALICE)
    desk.told(ALICE, CAROL.says(5))
    answers = 0
    for _ in range(300):
        desk.told(ALICE, CAROL.says(4))
        answers += len(desk.take())
    assert answers < 100 + 20 * 300 * 0.01 + 2


def test_our_own_record_from_a_former_life_is_nobody_elses_news() -> None:
    desk = Desk(ALICE, BOB)
    desk.told(ALICE, OWN.says(9, epoch=7))
    assert desk.take() == []
    assert desk.database.outdone == (7, 9)


def test_one_bad_statement_does_not_spoil_those_beside_it() -> None:
    desk = Desk(ALICE, BOB)
    with pytest.raises(ProtocolError, match=r"^unknown member$"):
        desk.told(ALICE, STRANGER.says(), CAROL.says(), b"?" * 100)
    assert CAROL.node in desk.database.records


@pytest.mark.parametrize("size", [1, 2, 17, 18, 73, 4096])
def test_junk_of_any_size_is_refused(size: int) -> None:
    desk = Desk(ALICE)
    for filling in (b"\x00", b"\x01", b"\x02", b"\xff"):
        with pytest.raises(RemoteError):
            desk.told(ALICE, filling * size)


def refusals(count: int, act: Callable[[int], None]) -> list[str]:
    refused = []
    for number in range(count):
        try:
            act(number)
        except RemoteError as error:
            refused.append(str(error))
    return refused


def test_a_flood_of_forgeries_costs_little() -> None:
    """R4: an honest neighbour sends none, so each one costs its sender a hundred statements."""
    desk = Desk(ALICE, BOB)
    forged = [BOB.sign(CAROL.record(sequence).serialize()) for sequence in range(3000)]
    before = desk.verified
    refused = refusals(3000, lambda number: desk.told(ALICE, forged[number]))
    assert len(refused) == 3000
    assert desk.verified - before <= 40
    assert set(refused) == {"record with a forged signature", "too many statements"}
    desk.told(BOB, CAROL.says(1))
    assert CAROL.node in desk.database.records


def test_a_flood_of_certificates_that_have_run_out_costs_little() -> None:
    """R4: they are genuine, but nobody has a reason to send many."""
    desk = Desk(ALICE, BOB)
    old = certify(STRANGER.identity, from_s=NOW_S - 100, until_s=NOW_S - 50)
    refused = refusals(1000, lambda _: desk.told(ALICE, old))
    assert refused.count("too many statements") >= 800


def test_a_flood_of_junk_costs_no_signature_and_ends() -> None:
    """R4"""
    desk = Desk(ALICE, BOB)
    frame = [STRANGER.says()] * 10
    refused = refusals(1000, lambda _: desk.told(ALICE, *frame))
    assert desk.verified == 0
    assert set(refused) == {"unknown member", "too many statements"}
    assert refused.count("too many statements") >= 590
    desk.told(BOB, CAROL.says(1))


@pytest.mark.parametrize(
    ("frame", "at_most"),
    [
        (RootDigest(1).serialize(), 210),
        ((bytes((DIGEST,)), bytes(1024)), 210),
        (Want((StatementKey(RECORD, bytes(8)),) * 100).serialize(), 310),
        ((bytes((SUMMARY,)), b""), 4100),
    ],
)
def test_questions_are_limited(frame: tuple[bytes, bytes], at_most: int) -> None:
    """R4"""
    desk = Desk(ALICE)
    refused = refusals(5000, lambda _: desk.receive(ALICE, frame))
    assert len(refused) >= 5000 - at_most
    assert set(refused) == {"too many questions"}


def test_what_we_send_keeps_to_its_rate() -> None:
    """R4: a burst, then so many bytes a second to all neighbours together."""
    limits = FloodLimits(send_bytes_per_s=2000.0, send_burst_bytes=4000.0)
    desk = Desk(ALICE, BOB, limits=limits, members=60)
    for member in desk.crowd:
        desk.told(ALICE, member.says())
    for second in range(1, 11):
        desk.tick(1.0)
        assert desk.flooding.bytes_sent <= 4000 + second * 2000 + 2600
    desk.tick(60.0)
    sent = desk.take()
    assert {data for node, data in sent if node == BOB.node} >= {
        member.says() for member in desk.crowd
    }


def test_neighbours_take_turns_when_the_budget_is_short() -> None:
    limits = FloodLimits(send_bytes_per_s=2000.0, send_burst_bytes=2000.0)
    desk = Desk(ALICE, BOB, CAROL, limits=limits, members=60)
    desk.tick(10.0)
    for member in desk.crowd:
        desk.told(ALICE, member.says())
    desk.outbox.clear()
    desk.tick(5.0)
    targets = [node for node, head, _ in desk.outbox if head[0] == STATEMENTS]
    assert abs(targets.count(BOB.node) - targets.count(CAROL.node)) <= 1


def test_links_that_come_up_together_are_compared_one_after_the_other() -> None:
    """R4: starts are staggered."""
    desk = Desk(members=100)
    desk.flooding.neighbours_changed({member.node: 1 for member in desk.crowd}, desk.now)
    counts = []
    for _ in range(50):
        before = len(desk.outbox)
        desk.tick(0.1)
        counts.append(len(desk.outbox) - before)
    assert max(counts) <= 4
    asked = [node for node, head, _ in desk.outbox if head[0] == DIGEST]
    assert set(asked) == {member.node for member in desk.crowd}


def test_a_neighbour_that_asks_first_is_not_asked() -> None:
    desk = Desk()
    desk.flooding.neighbours_changed({ALICE.node: 1}, desk.now)
    desk.receive(ALICE, desk.database.inventory(desk.now).root.serialize())
    desk.tick(1.0)
    assert desk.outbox == []


def test_equal_neighbours_exchange_one_digest() -> None:
    desk = Desk(ALICE)
    desk.receive(ALICE, desk.database.inventory(desk.now).root.serialize())
    assert desk.frames() == []


def test_different_neighbours_compare_buckets() -> None:
    desk = Desk(ALICE)
    desk.receive(ALICE, RootDigest(1).serialize())
    assert desk.frames() == [(ALICE.node, DIGEST)]
    desk.receive(ALICE, (bytes((DIGEST,)), bytes(1024)))
    assert desk.frames() == [(ALICE.node, SUMMARY)]


def test_what_a_neighbour_wants_it_gets_if_we_have_it() -> None:
    desk = Desk(ALICE)
    desk.told(ALICE, CAROL.says())
    desk.receive(
        ALICE, Want((StatementKey(RECORD, CAROL.node), StatementKey(RECORD, BOB.node))).serialize()
    )
    assert desk.take() == [(ALICE.node, CAROL.says())]


def test_what_has_ended_while_it_waited_is_not_sent() -> None:
    desk = Desk(ALICE, BOB)
    desk.told(ALICE, CAROL.says(1))
    desk.told(ALICE, CAROL.says(2))
    desk.database.forget(CAROL.node)
    assert (BOB.node, CAROL.says(2)) not in desk.take()
    assert desk.flooding.deadline is not None
    assert desk.flooding.deadline > desk.now + 1.0


def test_periodic_comparisons_are_ten_seconds_apart_with_one_neighbour_each() -> None:
    desk = Desk(ALICE, BOB, CAROL)
    desk.tick(1000.0)
    assert 80 <= len(desk.outbox) <= 134
    assert {head[0] for _, head, _ in desk.outbox} == {DIGEST}


def test_without_neighbours_there_is_nothing_to_do() -> None:
    desk = Desk()
    assert desk.flooding.deadline is None
    desk.flooding.publish(OWN.says(), desk.now, NOW_S)
    assert desk.take() == []
    desk.flooding.tick(desk.now + 1000)


def test_a_lost_neighbour_takes_what_waits_for_it_along() -> None:
    """R3: and nothing else."""
    desk = Desk(ALICE, BOB, CAROL)
    desk.told(ALICE, CAROL.says(1))
    desk.take()
    desk.told(ALICE, CAROL.says(2))
    desk.told(ALICE, CAROL.says(3))
    records = dict(desk.database.records)
    desk.outbox.clear()
    desk.flooding.neighbours_changed({ALICE.node: 1000, CAROL.node: 1000}, desk.now)
    assert [node for node, _ in desk.take()] == [CAROL.node]
    assert desk.flooding.targets == (ALICE.node, CAROL.node)
    assert desk.database.records == records


def test_frames_of_others_and_of_other_types_are_refused() -> None:
    desk = Desk(ALICE)
    with pytest.raises(ProtocolError, match=r"^flood frame of no neighbour$"):
        desk.receive(BOB, RootDigest(1).serialize())
    assert PING not in FRAME_TYPES
    with pytest.raises(RemoteError, match=r"^no flood frame$"):
        desk.receive(ALICE, (bytes((PING,)), b""))


def test_what_did_not_fit_a_queue_is_made_good_by_a_comparison() -> None:
    """What waits is bounded; who did not get it all is asked soon what it lacks."""
    desk = Desk(ALICE, BOB, limits=FloodLimits(waiting_max=3), members=10)
    for member in desk.crowd:
        desk.told(ALICE, member.says())
    sent = desk.take()
    assert 3 <= sum(data[1] == RECORD for _, data in sent) < 10
    desk.tick(1.0)
    assert [(node, head[0]) for node, head, _ in desk.outbox] == [(BOB.node, DIGEST)]
