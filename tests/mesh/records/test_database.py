"""The database of records: what is taken in, what is refused and why, and what it costs."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import AuthenticationError, ProtocolError, RemoteError
from rookery.identity import signing
from rookery.mesh.records.database import (
    RECORDS_BURST,
    RECORDS_PER_S,
    RecordDatabase,
    RecordVerdict,
)
from rookery.wire.mesh.certificate import role_bits, roles_of
from rookery.wire.mesh.flood import StatementKey, SummaryEntry, statement_key
from rookery.wire.mesh.record import RecordLink
from rookery.wire.mesh.statement import CERTIFICATE, RECORD, REVOCATION, STATEMENT_SIZE_MAX
from tests.mesh import realms
from tests.mesh.realms import NOW_S, ROOT
from tests.mesh.signed_records import Scribe, membership, scribe

OWN, ALICE, BOB, STRANGER = map(scribe, ("own", "alice", "bob", "stranger"))
A_LINK = RecordLink(BOB.node, 1, 1000)


class Counting:
    """Verifies, and counts how often it had to."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, key: bytes, message: bytes, signature: bytes) -> None:
        self.count += 1
        signing.verify(key, message, signature)


class World:
    def __init__(self, *members: Scribe) -> None:
        self.verify = Counting()
        self.membership = membership(OWN, *members)
        self.database = RecordDatabase(self.membership, verify=self.verify)
        self.now = 100.0

    def offer(self, data: bytes, unix_s: float = NOW_S) -> RecordVerdict:
        return self.database.offer(data, self.now, unix_s)

    def refuses(self, data: bytes, reason: str, unix_s: float = NOW_S) -> type[RemoteError]:
        before = dict(self.database.records)
        with pytest.raises(RemoteError, match=f"^{reason}$") as caught:
            self.offer(data, unix_s)
        assert self.database.records == before
        return caught.type


@pytest.fixture
def world() -> World:
    return World(ALICE, BOB)


def test_a_new_record_is_held_and_told(world: World) -> None:
    data = ALICE.says(1, A_LINK)
    assert world.offer(data) is RecordVerdict.NEW
    assert world.database.records == {ALICE.node: ALICE.record(1, A_LINK)}
    assert world.database.statement(StatementKey(RECORD, ALICE.node)) == data
    assert world.database.take_changed() == {ALICE.node}
    assert world.database.take_changed() == set()


def test_duplicates_are_known_by_version_alone(world: World) -> None:
    """R1: neither a nonce nor the hash of the bytes: even another signature is old news."""
    data = ALICE.says(1, A_LINK)
    world.offer(data)
    world.database.take_changed()
    resigned = data[:-64] + bytes(64)
    for duplicate in (data, resigned):
        assert world.offer(duplicate) is RecordVerdict.KNOWN
    assert world.database.take_changed() == set()
    assert world.verify.count == 1
    assert world.database.statement(StatementKey(RECORD, ALICE.node)) == data


def test_an_older_record_is_stale_and_costs_no_signature(world: World) -> None:
    world.offer(ALICE.says(5))
    assert world.offer(ALICE.says(4)) is RecordVerdict.STALE
    assert world.database.records[ALICE.node].sequence == 5
    assert world.verify.count == 1


def test_a_later_epoch_is_newer_whatever_the_sequence(world: World) -> None:
    """R1: the epoch survives restarts, so that a node is believed again at once."""
    world.offer(ALICE.says(900, epoch=3))
    assert world.offer(ALICE.says(1, epoch=4)) is RecordVerdict.NEW
    assert world.offer(ALICE.says(901, epoch=3)) is RecordVerdict.STALE


@given(st.permutations([(1, 1), (1, 2), (2, 0), (2, 7), (3, 1)]))
def test_the_newest_wins_in_whatever_order_they_come(versions: list[tuple[int, int]]) -> None:
    world = World(ALICE)
    for epoch, sequence in versions:
        world.offer(ALICE.says(sequence, epoch=epoch))
    assert world.database.records[ALICE.node].version == (3, 1)


def test_a_record_of_an_unknown_member_is_refused_until_its_certificate_came(
    world: World,
) -> None:
    data = STRANGER.says()
    assert world.refuses(data, "unknown member") is ProtocolError
    assert world.verify.count == 0
    assert world.offer(STRANGER.certificate) is RecordVerdict.NEW
    assert world.offer(data) is RecordVerdict.NEW


def test_a_forged_record_is_refused(world: World) -> None:
    forged = BOB.sign(ALICE.record(7).serialize())
    assert world.refuses(forged, "record with a forged signature") is AuthenticationError
    assert ALICE.node not in world.database.records
    assert world.offer(ALICE.says(1)) is RecordVerdict.NEW


def test_forgeries_do_not_use_up_the_rate_of_the_honest(world: World) -> None:
    for sequence in range(100, 200):
        forged = BOB.sign(ALICE.record(sequence).serialize())
        world.refuses(forged, "record with a forged signature")
    assert world.offer(ALICE.says(2)) is RecordVerdict.NEW


def test_a_changed_byte_anywhere_is_noticed(world: World) -> None:
    data = ALICE.says(3, A_LINK)
    world.offer(ALICE.says(2))
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1
        try:
            verdict = world.offer(bytes(changed))
        except RemoteError:
            continue
        assert verdict is RecordVerdict.STALE  # it was the version that changed
    assert world.database.records[ALICE.node].sequence == 2


def test_contradicting_records_are_refused_and_their_origin_named(world: World) -> None:
    world.offer(ALICE.says(1))
    other = ALICE.says(1, A_LINK)
    for _ in range(3):
        assert world.refuses(other, "records contradict each other") is ProtocolError
    assert world.database.contradictions == {ALICE.node: 3}
    assert world.verify.count == 2
    assert world.offer(ALICE.says(2, A_LINK)) is RecordVerdict.NEW


def test_nobody_is_named_for_a_contradiction_that_somebody_else_forged(world: World) -> None:
    world.offer(ALICE.says(1))
    forged = BOB.sign(ALICE.record(1, A_LINK).serialize())
    world.refuses(forged, "record with a forged signature")
    assert world.database.contradictions == {}


@pytest.mark.parametrize(
    ("reason", "data"),
    [
        ("statement of a wrong size", b""),
        ("statement of a wrong size", ALICE.says()[:73]),
        ("statement of a wrong size", ALICE.says() + bytes(STATEMENT_SIZE_MAX)),
        ("statement of an unknown version or kind", b"\x02" + ALICE.says()[1:]),
        ("statement of an unknown version or kind", b"\x01\x09" + ALICE.says()[2:]),
        ("a statement of another realm", ALICE.sign(ALICE.record().serialize(), bytes(8))),
        ("record is cut short", ALICE.sign(b"short")),
        ("record is too long", ALICE.sign(ALICE.record().serialize() + b"more")),
    ],
)
def test_what_is_no_record_of_ours_is_refused_without_a_signature(
    world: World, reason: str, data: bytes
) -> None:
    world.refuses(data, reason)
    assert world.verify.count == 0


@pytest.mark.parametrize(
    ("reason", "unix_s"),
    [("record from the future", NOW_S - 301), ("record whose time is over", NOW_S + 7200)],
)
def test_a_record_out_of_its_time_is_refused(world: World, reason: str, unix_s: float) -> None:
    world.refuses(ALICE.says(), reason, unix_s)
    assert world.verify.count == 0


def test_an_origin_makes_no_more_records_than_its_rate(world: World) -> None:
    """R4: a member that signs as fast as it can is heard twice a second."""
    burst = int(RECORDS_BURST)
    for sequence in range(burst):
        assert world.offer(ALICE.says(sequence)) is RecordVerdict.NEW
    for sequence in range(burst, 100):
        world.refuses(ALICE.says(sequence), "too many records of one origin")
    assert world.verify.count == burst
    assert world.offer(BOB.says()) is RecordVerdict.NEW
    world.now += 1 / RECORDS_PER_S
    assert world.offer(ALICE.says(100)) is RecordVerdict.NEW


def test_a_record_ends_with_its_lifetime(world: World) -> None:
    world.offer(ALICE.says())
    world.offer(BOB.sign(BOB.record(lifetime_s=60).serialize()), NOW_S + 20)
    world.database.take_changed()
    assert world.database.deadline == 140.0
    world.database.tick(139.9)
    assert world.database.take_changed() == set()
    world.database.tick(140.0)
    assert world.database.take_changed() == {BOB.node}
    assert set(world.database.records) == {ALICE.node}
    assert world.database.deadline == 7300.0
    world.database.tick(7300.0)
    assert world.database.deadline is None


def test_a_clock_that_runs_ahead_gives_no_longer_life(world: World) -> None:
    world.offer(ALICE.says(), NOW_S - 299)
    assert world.database.deadline == 7300.0


def test_a_replayed_record_does_not_come_back_after_its_successor_ended(world: World) -> None:
    world.offer(ALICE.sign(ALICE.record(2, lifetime_s=60).serialize()))
    world.database.tick(world.now + 60)
    assert world.offer(ALICE.says(1)) is RecordVerdict.STALE
    assert world.offer(ALICE.says(2)) is RecordVerdict.STALE
    assert ALICE.node not in world.database.records
    assert not world.database.lacks(SummaryEntry(RECORD, ALICE.node, (1 << 32) + 2))
    assert world.database.lacks(SummaryEntry(RECORD, ALICE.node, (1 << 32) + 3))


def test_forgetting_a_member_leaves_the_others_as_they_are(world: World) -> None:
    """R3: losing one removes only its own record."""
    world.offer(ALICE.says(1, A_LINK))
    world.offer(BOB.says(1, RecordLink(ALICE.node, 1, 1)))
    world.database.take_changed()
    world.database.forget(ALICE.node)
    assert world.database.take_changed() == {ALICE.node}
    assert world.database.records == {BOB.node: BOB.record(1, RecordLink(ALICE.node, 1, 1))}


def test_whoever_is_revoked_is_forgotten(world: World) -> None:
    world.offer(ALICE.says())
    world.offer(BOB.says())
    revocation = ROOT.revoke(ALICE.identity.hashname, NOW_S)
    assert world.offer(revocation) is RecordVerdict.NEW
    assert world.offer(revocation) is RecordVerdict.KNOWN
    world.database.inventory(world.now)
    assert set(world.database.records) == {BOB.node}
    world.refuses(ALICE.says(2), "unknown member")
    world.refuses(ALICE.certificate, "a revoked certificate")
    assert (
        world.database.statement(StatementKey(CERTIFICATE, statement_key(ALICE.certificate)))
        is None
    )
    assert (
        world.database.statement(StatementKey(REVOCATION, statement_key(revocation))) == revocation
    )


def test_what_links_show_is_in_the_inventory_a_second_later(world: World) -> None:
    world.database.inventory(world.now)
    world.membership.prove(STRANGER.identity.hashname, STRANGER.certificate, NOW_S)
    entry = SummaryEntry(CERTIFICATE, statement_key(STRANGER.certificate), 0)
    assert world.database.lacks(entry)
    root = world.database.inventory(world.now + 0.5).root
    assert world.database.inventory(world.now + 1.0).root != root
    assert not world.database.lacks(entry)
    assert world.offer(STRANGER.certificate) is RecordVerdict.KNOWN


def test_a_renewed_certificate_replaces_the_former(world: World) -> None:
    world.database.inventory(world.now)
    renewed = realms.certify(ALICE.identity, "alice", ["relay"], serial=2, from_s=NOW_S - 1)
    assert world.offer(renewed) is RecordVerdict.NEW
    world.database.inventory(world.now)
    assert (
        world.database.statement(StatementKey(CERTIFICATE, statement_key(ALICE.certificate)))
        is None
    )
    assert world.offer(ALICE.certificate) is RecordVerdict.KNOWN


def test_our_own_record_is_held_without_question(world: World) -> None:
    data = OWN.says(1, A_LINK)
    world.database.publish(data, world.now)
    assert world.verify.count == 0
    assert world.database.take_changed() == {OWN.node}
    assert world.offer(data) is RecordVerdict.KNOWN
    assert world.database.statement(StatementKey(RECORD, OWN.node)) == data


def test_a_record_of_our_former_life_must_be_outdone(world: World) -> None:
    """R1: even if the epoch got lost, a node that starts again is believed again."""
    world.database.publish(OWN.says(1), world.now)
    assert world.offer(OWN.says(70, epoch=6)) is RecordVerdict.OWN
    assert world.offer(OWN.says(7, epoch=5)) is RecordVerdict.OWN
    assert world.database.outdone == (6, 70)
    assert world.database.records[OWN.node].version == (1, 1)
    world.refuses(BOB.sign(OWN.record(9).serialize()), "record with a forged signature")
    assert world.database.outdone == (6, 70)


def test_equal_databases_have_equal_inventories() -> None:
    one, other = World(ALICE, BOB), World()
    one.offer(ALICE.says())
    one.offer(BOB.says())
    for data in (BOB.certificate, BOB.says(), ALICE.certificate, ALICE.says()):
        other.offer(data)
    assert one.database.inventory(100.0).root == other.database.inventory(100.0).root


@pytest.mark.parametrize("kind", [CERTIFICATE, RECORD])
def test_what_we_do_not_hold_is_none(world: World, kind: int) -> None:
    assert world.database.statement(StatementKey(kind, bytes(8))) is None
    assert world.database.lacks(SummaryEntry(kind, bytes(8), 0))


def test_it_holds_as_many_records_as_there_are_members(world: World) -> None:
    for number in range(50):
        outsider = scribe(f"outsider {number}")
        world.refuses(outsider.says(), "unknown member")
    for sequence in range(5):
        world.offer(ALICE.says(sequence))
    assert len(world.database.records) == 1


def test_the_certificate_of_nobody_is_none(world: World) -> None:
    assert world.database.certificate(STRANGER.node) is None
    key = world.database.certificate(ALICE.node)
    assert key is not None
    assert world.database.statement(key) == ALICE.certificate
    assert world.database.certificate(ALICE.node) == key


def test_forgetting_somebody_without_a_record_changes_nothing(world: World) -> None:
    world.database.forget(ALICE.node)
    assert world.database.take_changed() == set()


def test_links_that_a_member_has_lost_are_told_once(world: World) -> None:
    more = RecordLink(OWN.node, 0, 500)
    world.offer(ALICE.says(1, A_LINK, more))
    assert world.database.take_withdrawn() == set()
    world.offer(ALICE.says(2, more))
    world.offer(ALICE.says(3, A_LINK))
    lost = {(ALICE.node, BOB.node), (ALICE.node, OWN.node)}
    assert world.database.take_withdrawn() == lost
    assert world.database.take_withdrawn() == set()


def test_whoever_restarts_says_nothing_about_others(world: World) -> None:
    """It has no links yet, and they may well be there."""
    world.offer(ALICE.says(1, A_LINK))
    world.offer(ALICE.says(1, epoch=2))
    assert world.database.take_withdrawn() == set()


def test_our_own_lost_links_are_no_news_to_us(world: World) -> None:
    world.database.publish(OWN.says(1, A_LINK), world.now)
    world.database.publish(OWN.says(2), world.now)
    assert world.database.take_withdrawn() == set()


def test_roles_beyond_the_certificate_are_left_out_and_counted(world: World) -> None:
    """Those that a later version may add say nothing here, so nobody is blamed for them."""
    relay, more, unknown = role_bits(["relay"]), role_bits(["relay", "exit"]), 1 << 15
    for sequence, roles in enumerate((relay, more, relay | unknown, more), 1):
        said = msgspec.structs.replace(ALICE.record(sequence, A_LINK), roles=roles)
        data = ALICE.sign(said.serialize())
        assert world.offer(data) is RecordVerdict.NEW  # for everybody to judge
        held = world.database.records[ALICE.node]
        assert roles_of(held.roles) == {"relay"}
        assert held.links == (A_LINK,)
        assert world.database.statement(StatementKey(RECORD, ALICE.node)) == data
        assert world.offer(data) is RecordVerdict.KNOWN
    assert world.database.pretences == {ALICE.node: 2}
    assert world.database.take_pretenders() == [ALICE.node, ALICE.node]
    assert world.database.take_pretenders() == []


def test_a_record_that_was_renewed_ends_at_its_own_time(world: World) -> None:
    world.database.offer(ALICE.sign(ALICE.record(1, lifetime_s=10).serialize()), 100.0, NOW_S)
    world.database.offer(ALICE.sign(ALICE.record(2, lifetime_s=60).serialize()), 100.0, NOW_S)
    world.database.offer(BOB.sign(BOB.record(1, lifetime_s=60).serialize()), 100.0, NOW_S)
    world.database.forget(BOB.node)
    world.database.tick(110.0)
    assert set(world.database.records) == {ALICE.node}
    assert world.database.deadline == 160.0
    world.database.tick(160.0)
    assert world.database.records == {}
    assert world.database.deadline is None


def test_whoever_listens_hears_of_each_record_and_its_end_p2(world: World) -> None:
    heard: list[tuple[int, bool]] = []
    world.database.on_record = lambda record, is_gone: heard.append((record.sequence, is_gone))
    for data in (ALICE.says(1), ALICE.says(2, A_LINK), ALICE.says(2, A_LINK), ALICE.says(1)):
        world.offer(data)
    assert heard == [(1, False), (2, False)]
    world.database.forget(ALICE.node)
    world.database.forget(ALICE.node)
    assert heard[2:] == [(2, True)]
