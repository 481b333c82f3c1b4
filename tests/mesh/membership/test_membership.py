"""Who belongs to a realm: whatever order the news comes in, and whoever sends it."""

from contextlib import suppress
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import AuthenticationError, ProtocolError, RemoteError
from rookery.mesh.membership import membership as bounds
from rookery.mesh.membership.membership import Member, Membership
from rookery.wire.mesh.certificate import LIFETIME_MAX_S
from rookery.wire.mesh.node_id import node_id
from rookery.wire.mesh.statement import Statement
from tests.mesh.realms import NOW_S, REALM, ROOT, certify, identity, issuer

OWN = identity("own")
ALICE = identity("alice", (0x3A, 0x40))
BOB = identity("bob")
ISSUER = issuer(BOB)


def membership() -> Membership:
    return Membership(REALM, certify(OWN, "own", ["relay"]))


def names(group: Membership) -> set[str]:
    return {member.name for member in group.members.values()}


def test_we_are_a_member_ourselves() -> None:
    group = membership()
    assert group.own.hashname == OWN.hashname
    assert group.own.roles == {"relay"}
    assert group.members == {group.own.node: group.own}
    assert list(group.statements()) == [group.own.certificate]
    assert Membership(REALM, Statement.parse(group.own.certificate)).own == group.own


def test_nobody_is_a_member_by_a_revocation_or_a_forgery() -> None:
    with pytest.raises(ProtocolError):
        Membership(REALM, ROOT.revoke(OWN.hashname, NOW_S))
    with pytest.raises(AuthenticationError):
        Membership(REALM, certify(OWN)[:-1] + b"\0")


def test_a_certificate_is_news_once() -> None:
    group = membership()
    data = certify(ALICE, "alice", ["exit"])
    assert group.admit(data, NOW_S)
    assert not group.admit(data, NOW_S)
    node = node_id(ALICE.hashname)
    alice = Member(
        node,
        ALICE.hashname,
        ALICE.keys[0x40],
        ALICE.keys[0x40][32:],
        frozenset(["exit"]),
        "alice",
        data,
        group.own.not_after_s,
    )
    assert group.member(node) == group.by_hashname(ALICE.hashname) == alice
    assert set(group.statements()) == {group.own.certificate, data}


def test_who_is_no_member_is_not_found() -> None:
    group = membership()
    assert group.member(node_id(ALICE.hashname)) is None
    assert group.by_hashname(ALICE.hashname) is None


def test_a_known_statement_is_not_verified_again() -> None:
    """A flood of copies costs a set lookup, not a signature each."""
    verified = []
    group = Membership(REALM, certify(OWN), verify=lambda *parts: verified.append(parts))
    data = certify(ALICE)
    for _ in range(10):
        group.admit(data, NOW_S)
    assert len(verified) == 2


def test_a_younger_certificate_takes_the_place_of_an_older_one() -> None:
    old = certify(ALICE, "old", ["exit"], from_s=NOW_S - 50)
    new = certify(ALICE, "new", from_s=NOW_S - 40)
    for order in ((old, new), (new, old)):
        group = membership()
        for data in order:
            group.admit(data, NOW_S)
        assert names(group) == {"own", "new"}
        assert new in group.statements()
        assert old not in group.statements()
        assert group.refresh(NOW_S) == []


def test_our_own_certificate_can_be_renewed() -> None:
    group = membership()
    group.admit(certify(OWN, "renamed", from_s=NOW_S), NOW_S)
    assert group.own.name == "renamed"


def test_what_the_root_says_of_a_member_no_issuer_changes() -> None:
    group = membership()
    group.admit(certify(ALICE, "alice", ["relay"]), NOW_S)
    younger = certify(ALICE, "mallory", from_s=NOW_S, by=ISSUER)
    assert not group.admit(younger, NOW_S)
    group.admit(ISSUER.revoke(ALICE.hashname, NOW_S), NOW_S)
    assert names(group) == {"own", "alice"}


def test_a_revocation_ends_a_membership_at_once() -> None:
    group = membership()
    data = certify(ALICE, "alice")
    group.admit(data, NOW_S)
    alice = group.by_hashname(ALICE.hashname)
    revocation = ROOT.revoke(ALICE.hashname, NOW_S)
    assert group.admit(revocation, NOW_S)
    assert not group.admit(revocation, NOW_S)
    assert names(group) == {"own"}
    assert group.revoked.keys() == {ALICE.hashname}
    assert group.refresh(NOW_S) == [alice]
    assert group.refresh(NOW_S) == []
    with pytest.raises(ProtocolError, match="revoked"):
        group.admit(data, NOW_S)
    with pytest.raises(ProtocolError, match="revoked"):
        group.prove(ALICE.hashname, data, NOW_S)


def test_a_later_certificate_makes_a_revoked_one_a_member_again() -> None:
    group = membership()
    group.admit(certify(ALICE, "alice"), NOW_S)
    group.admit(ROOT.revoke(ALICE.hashname, NOW_S), NOW_S)
    group.admit(certify(ALICE, "alice again", from_s=NOW_S + 1), NOW_S)
    assert names(group) == {"own", "alice again"}
    assert group.refresh(NOW_S) == []


def test_a_later_revocation_takes_the_place_of_an_earlier_one() -> None:
    group = membership()
    early, late = ROOT.revoke(ALICE.hashname, NOW_S - 9), ROOT.revoke(ALICE.hashname, NOW_S)
    group.admit(early, NOW_S)
    assert group.admit(late, NOW_S)
    assert not group.admit(early, NOW_S)
    assert late in group.statements()
    assert early not in group.statements()


def test_revoking_an_issuer_voids_all_it_signed() -> None:
    group = membership()
    carol = certify(identity("carol"), "carol", by=ISSUER)
    dave = certify(identity("dave"), "dave", by=ISSUER)
    group.admit(carol, NOW_S)
    group.admit(dave, NOW_S)
    group.admit(ISSUER.revoke(identity("dave").hashname, NOW_S), NOW_S)
    assert names(group) == {"own", "carol"}
    group.admit(ROOT.revoke(BOB.hashname, NOW_S), NOW_S)
    assert names(group) == {"own"}
    assert group.revoked.keys() == {BOB.hashname}
    for data in (carol, dave, ISSUER.issuer):
        with pytest.raises(ProtocolError, match="revoked"):
            group.admit(data, NOW_S)
    with pytest.raises(ProtocolError, match="revoked issuer"):
        group.admit(ISSUER.revoke(ALICE.hashname, NOW_S), NOW_S)


def test_time_ends_memberships_and_revocations() -> None:
    group = membership()
    group.admit(certify(ALICE, until_s=NOW_S + 10), NOW_S)
    alice = group.by_hashname(ALICE.hashname)
    group.admit(ROOT.revoke(BOB.hashname, NOW_S), NOW_S)
    assert group.refresh(NOW_S + 9.9) == []
    assert group.refresh(NOW_S + 10) == [alice]
    group.refresh(NOW_S + LIFETIME_MAX_S)
    assert group.revoked == {}
    assert list(group.statements()) == []
    assert group.own.name == "own"


def test_a_link_is_proved_by_the_certificate_of_its_other_end() -> None:
    group = membership()
    data = certify(ALICE, "alice")
    assert group.prove(ALICE.hashname, data, NOW_S).name == "alice"
    assert group.prove(ALICE.hashname, data, NOW_S).certificate == data
    with pytest.raises(ProtocolError, match="other end"):
        group.prove(BOB.hashname, data, NOW_S)
    with pytest.raises(ProtocolError, match="other end"):
        group.prove(ALICE.hashname, ROOT.revoke(ALICE.hashname, NOW_S), NOW_S)


def test_an_old_certificate_still_proves_but_gives_no_old_rights() -> None:
    group = membership()
    group.admit(certify(ALICE, "alice", from_s=NOW_S), NOW_S)
    old = certify(ALICE, "alice", ["exit"], from_s=NOW_S - 50)
    assert group.prove(ALICE.hashname, old, NOW_S).roles == frozenset()


def test_a_known_certificate_proves_nothing_after_its_time() -> None:
    group = membership()
    data = certify(ALICE, until_s=NOW_S + 10)
    group.admit(data, NOW_S)
    with pytest.raises(ProtocolError, match="over"):
        group.prove(ALICE.hashname, data, NOW_S + 10)


def test_a_second_hashname_with_the_same_node_id_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such a pair cannot be found in a test: here everybody's id is the same."""
    monkeypatch.setattr("rookery.wire.mesh.certificate.node_id", lambda hashname: b"the same")
    group = membership()
    with pytest.raises(ProtocolError, match="node id"):
        group.admit(certify(ALICE), NOW_S)
    assert group.own.hashname == OWN.hashname


def test_members_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (bounds.MEMBERS_MAX, bounds.REVOCATIONS_MAX) == (4096, 4096)
    monkeypatch.setattr(bounds, "MEMBERS_MAX", 2)
    group = membership()
    group.admit(certify(ALICE), NOW_S)
    with pytest.raises(ProtocolError, match="too many members"):
        group.admit(certify(BOB), NOW_S)
    group.admit(certify(ALICE, "renewed", from_s=NOW_S), NOW_S)


def test_revocations_have_a_bound_that_no_issuer_uses_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "REVOCATIONS_MAX", 2)
    group = membership()
    carol, dave, erin = (identity(name).hashname for name in ("carol", "dave", "erin"))
    group.admit(ISSUER.revoke(carol, NOW_S), NOW_S)
    group.admit(ISSUER.revoke(dave, NOW_S), NOW_S)
    with pytest.raises(ProtocolError, match="too many revocations"):
        group.admit(ISSUER.revoke(erin, NOW_S), NOW_S)
    group.admit(ROOT.revoke(carol, NOW_S), NOW_S)
    group.admit(ROOT.revoke(dave, NOW_S), NOW_S)
    with pytest.raises(ProtocolError, match="too many revocations"):
        group.admit(ROOT.revoke(erin, NOW_S), NOW_S)


NEWS = [
    certify(ALICE, "alice"),
    certify(ALICE, "alice 2", from_s=NOW_S),
    certify(ALICE, "alice 3", from_s=NOW_S + 9),
    certify(ALICE, "alice by issuer", from_s=NOW_S + 7, by=ISSUER),
    certify(identity("carol"), "carol", by=ISSUER),
    certify(identity("carol"), "carol 2", from_s=NOW_S + 7, by=ISSUER),
    ROOT.revoke(ALICE.hashname, NOW_S),
    ISSUER.revoke(ALICE.hashname, NOW_S + 8),
    ISSUER.revoke(identity("carol").hashname, NOW_S),
    ROOT.revoke(BOB.hashname, NOW_S - 61),
    ROOT.revoke(BOB.hashname, NOW_S),
    issuer(BOB).issuer,
]


def told(group: Membership, data: bytes) -> Membership:
    with suppress(RemoteError):
        group.admit(data, NOW_S)
    return group


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(st.sampled_from(NEWS), unique=True, max_size=8), st.data())
def test_members_agree_once_they_told_each_other_everything(
    news: list[bytes], data: st.DataObject
) -> None:
    """Any order, then anti-entropy both ways: the same members, and the same news."""
    other = data.draw(st.permutations(news))
    first, second = reduce(told, news, membership()), reduce(told, other, membership())
    for _ in range(2):
        reduce(told, list(second.statements()), first)
        reduce(told, list(first.statements()), second)
    assert first.members == second.members
    assert first.revoked == second.revoked
    assert set(first.statements()) == set(second.statements())


@given(st.binary(max_size=300))
def test_arbitrary_bytes_change_nothing(data: bytes) -> None:
    group = membership()
    with pytest.raises(RemoteError):
        group.admit(data, NOW_S)
    assert names(group) == {"own"}


def test_no_issuer_fills_the_realm_with_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last gives place to those of the root, and to those of issuers with fewer."""
    monkeypatch.setattr(bounds, "MEMBERS_MAX", 5)
    group, other = membership(), issuer(identity("carol"))
    for number in range(4):
        group.admit(certify(identity(f"sybil {number}"), f"sybil {number}", by=ISSUER), NOW_S)
    with pytest.raises(ProtocolError, match="too many members"):
        group.admit(certify(identity("sybil 4"), by=ISSUER), NOW_S)
    group.admit(certify(ALICE, "alice"), NOW_S)
    group.admit(certify(identity("dan"), "dan", by=other), NOW_S)
    assert names(group) == {"own", "sybil 0", "sybil 1", "alice", "dan"}
    assert {member.name for member in group.refresh(NOW_S)} == {"sybil 2", "sybil 3"}
    with pytest.raises(ProtocolError, match="too many members"):
        group.admit(certify(identity("eve"), "eve", by=other), NOW_S)
