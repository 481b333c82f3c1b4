"""What an inviter remembers: each invitation good once, in its time, for one endpoint."""

import msgspec
import pytest

from rookery.errors import CongestionError, ProtocolError, UsageError
from rookery.mesh.membership import issued_invitations as bounds
from rookery.mesh.membership.issued_invitations import (
    InvitationRedemption,
    IssuedInvitation,
    IssuedInvitations,
    RedemptionAttempts,
    RejectedRedemption,
    secret_digest,
)
from tests.mesh.realms import NOW_S, identity

ALICE = identity("alice").hashname
MALLORY = identity("mallory").hashname
SECRET = b"a secret of 16 b"


def invited(secret: bytes = SECRET, expires_s: int = NOW_S + 3600) -> IssuedInvitation:
    return IssuedInvitation(
        secret_digest(secret), frozenset(["relay"]), "", NOW_S, expires_s, 86_400
    )


def ledger(*more: IssuedInvitation) -> IssuedInvitations:
    return IssuedInvitations([invited(), *more])


def test_the_secret_itself_is_not_kept() -> None:
    assert SECRET not in msgspec.json.encode(list(ledger()))
    assert len(invited().id) == 8
    assert invited().digest.hex().startswith(invited().id)


def test_whoever_knows_the_secret_finds_the_invitation() -> None:
    group = ledger()
    group.add(invited(b"another secret16"), NOW_S)
    assert group.find(SECRET, ALICE, NOW_S) == invited()
    assert group.is_any_open(NOW_S)


@pytest.mark.parametrize("secret", [b"", SECRET[:-1], SECRET + b"\0", b"a secret of 16 B"])
def test_a_wrong_secret_finds_nothing(secret: bytes) -> None:
    with pytest.raises(ProtocolError, match="not known here"):
        ledger().find(secret, ALICE, NOW_S)


def test_an_invitation_expires() -> None:
    group = ledger()
    group.find(SECRET, ALICE, NOW_S + 3599.9)
    with pytest.raises(ProtocolError, match="expired"):
        group.find(SECRET, ALICE, NOW_S + 3600)
    assert not group.is_any_open(NOW_S + 3600)
    assert next(iter(group)).state(NOW_S + 3600) == "expired"


def test_an_invitation_is_good_once_but_the_same_endpoint_may_ask_again() -> None:
    group = ledger()
    spent = InvitationRedemption(ALICE, NOW_S, b"certificate")
    group.spend(group.find(SECRET, ALICE, NOW_S), spent)
    with pytest.raises(ProtocolError, match="has been used"):
        group.find(SECRET, MALLORY, NOW_S)
    assert group.find(SECRET, ALICE, NOW_S).spent == spent
    assert next(iter(group)).refused == (RejectedRedemption(MALLORY, NOW_S, bounds.USED),)
    assert not group.is_any_open(NOW_S)
    assert [one.state(NOW_S) for one in group] == ["used"]


def test_only_the_last_refusals_are_remembered() -> None:
    group = ledger(invited(b"2", NOW_S - 1))
    for number in range(20):
        with pytest.raises(ProtocolError):
            group.find(b"2", MALLORY, NOW_S + number)
        with pytest.raises(ProtocolError):
            group.find(b"wrong", MALLORY, NOW_S + number)
    first, second = group
    assert first.refused == ()
    assert [refusal.at_s for refusal in second.refused] == list(range(NOW_S + 12, NOW_S + 20))


def test_an_open_invitation_can_be_withdrawn() -> None:
    group = ledger()
    assert group.withdraw(invited().id, NOW_S).state(NOW_S) == "withdrawn"
    with pytest.raises(ProtocolError, match="withdrawn"):
        group.find(SECRET, ALICE, NOW_S)
    with pytest.raises(UsageError, match="is withdrawn"):
        group.withdraw(invited().id, NOW_S)
    with pytest.raises(UsageError, match="no invitation"):
        group.withdraw("00000000", NOW_S)


def test_open_invitations_have_a_bound_and_old_ones_make_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert bounds.INVITATIONS_MAX == 256
    monkeypatch.setattr(bounds, "INVITATIONS_MAX", 2)
    group = ledger(invited(b"2", NOW_S + 10))
    with pytest.raises(CongestionError, match="withdraw some"):
        group.add(invited(b"3"), NOW_S)
    group.add(invited(b"3"), NOW_S + 10)
    assert [one.digest for one in group] == [secret_digest(SECRET), secret_digest(b"3")]


def test_one_endpoint_has_few_attempts_others_keep_theirs() -> None:
    attempts = RedemptionAttempts(0.0)
    for _ in range(5):
        attempts.begin(MALLORY, 0.0)
    with pytest.raises(ProtocolError, match="too many attempts"):
        attempts.begin(MALLORY, 1.0)
    attempts.begin(ALICE, 1.0)
    attempts.begin(MALLORY, 61.0)


def test_all_endpoints_together_have_a_bound() -> None:
    attempts = RedemptionAttempts(0.0)
    for number in range(100):
        attempts.begin(f"endpoint {number}", 0.0)
    with pytest.raises(ProtocolError, match="too many attempts"):
        attempts.begin("one more", 0.0)
    attempts.begin("later", 0.1)


def test_a_flood_of_endpoints_is_not_remembered_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(RedemptionAttempts, "REMEMBERED_MAX", 2)
    attempts = RedemptionAttempts(0.0)
    for _ in range(5):
        attempts.begin(MALLORY, 0.0)
    for name in ("a", "b"):
        attempts.begin(name, 0.0)
    attempts.begin(MALLORY, 0.0)  # forgotten, so as good as new: it could have new keys as well
