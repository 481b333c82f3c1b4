"""Which certificates and revocations a realm believes."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import AuthenticationError, ProtocolError, RemoteError, UsageError
from rookery.identity import signing
from rookery.identity.realm import CLOCK_SKEW_S, Authority, Realm, issuer_of
from rookery.wire.mesh.certificate import LIFETIME_MAX_S, Certificate
from rookery.wire.mesh.revocation import Revocation
from rookery.wire.mesh.statement import CERTIFICATE, RECORD, REVOCATION, Statement, to_sign
from tests.mesh.realms import (
    NOW_S,
    REALM,
    ROOT,
    ROOT_SEED,
    YEAR_S,
    certify,
    identity,
    issuer,
)

ALICE = identity("alice", (0x3A, 0x40))
BOB = identity("bob")
ISSUER = issuer(BOB)


def check(data: bytes, unix_s: float = NOW_S) -> Certificate | Revocation:
    return REALM.check(Statement.parse(data), unix_s)


def signed(kind: int, content: bytes, seed: bytes = ROOT_SEED, realm: bytes = REALM.id) -> bytes:
    """What an authority without scruples makes."""
    signature = signing.sign(seed, to_sign(kind, realm, content))
    return Statement(kind, realm, content, signature).serialize()


def certificate_of(data: bytes) -> Certificate:
    return Certificate.parse(Statement.parse(data).content)


def test_the_root_makes_a_member() -> None:
    certificate = check(certify(ALICE, "alice", ["relay", "exit"], serial=5))
    assert isinstance(certificate, Certificate)
    assert (certificate.serial, certificate.name) == (5, "alice")
    assert certificate.hashname == ALICE.hashname
    assert certificate.roles == {"relay", "exit"}
    assert certificate.key == ALICE.keys[0x40]
    assert issuer_of(certificate) is None


def test_the_root_revokes_anyone() -> None:
    revocation = check(ROOT.revoke(ALICE.hashname, NOW_S, 5))
    assert revocation == Revocation(5, ALICE.hashname, NOW_S, NOW_S + LIFETIME_MAX_S)


def test_an_issuer_makes_members_and_revokes() -> None:
    certificate = check(certify(ALICE, by=ISSUER))
    issuer = issuer_of(certificate)
    assert issuer is not None
    assert issuer.hashname == BOB.hashname
    revocation = check(ISSUER.revoke(ALICE.hashname, NOW_S))
    assert issuer_of(revocation) == issuer


def test_a_realm_is_known_by_its_root_key() -> None:
    other = Realm("test", signing.public(bytes(32)))
    assert len(REALM.id) == 8
    with pytest.raises(ProtocolError, match="another realm"):
        other.check(Statement.parse(certify(ALICE)), NOW_S)


def test_a_record_is_not_the_realms_to_check() -> None:
    with pytest.raises(ProtocolError, match="neither"):
        check(signed(RECORD, b""))


def test_what_another_issuer_signed_is_refused() -> None:
    content = Statement.parse(certify(ALICE)).content
    with pytest.raises(AuthenticationError):
        check(signed(CERTIFICATE, content, bytes(32)))


def test_the_other_kind_cannot_be_made_of_a_signature() -> None:
    statement = Statement.parse(ROOT.revoke(ALICE.hashname, NOW_S))
    content = statement.content + bytes(200)
    with pytest.raises(RemoteError):
        check(Statement(CERTIFICATE, REALM.id, content, statement.signature).serialize())


def test_keys_that_do_not_make_the_hashname_are_refused() -> None:
    certificate = certificate_of(certify(ALICE))
    stolen = msgspec.structs.replace(certificate, key=BOB.keys[0x40])
    with pytest.raises(AuthenticationError, match="hashname"):
        check(signed(CERTIFICATE, stolen.content()))


def test_a_statement_holds_in_its_time_only() -> None:
    data = certify(ALICE, from_s=NOW_S, until_s=NOW_S + 1000)
    check(data, NOW_S - CLOCK_SKEW_S)
    check(data, NOW_S + 999.9)
    with pytest.raises(ProtocolError, match="future"):
        check(data, NOW_S - CLOCK_SKEW_S - 0.1)
    with pytest.raises(ProtocolError, match="over"):
        check(data, NOW_S + 1000)
    with pytest.raises(ProtocolError, match="future"):
        check(ROOT.revoke(ALICE.hashname, NOW_S), NOW_S - CLOCK_SKEW_S - 1)


def test_a_member_that_is_no_issuer_signs_nothing() -> None:
    plain = certify(BOB, roles=["relay", "exit", "hub", "server"])
    forged = msgspec.structs.replace(certificate_of(certify(ALICE)), issuer=plain)
    seed = signing.signing_seed(BOB.pairs[0x40].secret)
    with pytest.raises(ProtocolError, match="no issuer"):
        check(signed(CERTIFICATE, forged.content(), seed))


def test_chains_have_one_link() -> None:
    """An issuer under an issuer is refused even if the first one signed it so."""
    seed = signing.signing_seed(BOB.pairs[0x40].secret)
    middle = msgspec.structs.replace(
        certificate_of(certify(ALICE)), issuer=ISSUER.issuer, roles=frozenset(["issuer"])
    )
    middle_data = signed(CERTIFICATE, middle.content(), seed)
    with pytest.raises(ProtocolError, match="cannot make an issuer"):
        check(middle_data)
    leaf = msgspec.structs.replace(certificate_of(certify(identity("eve"))), issuer=middle_data)
    alice_seed = signing.signing_seed(ALICE.pairs[0x40].secret)
    with pytest.raises(ProtocolError, match="not the root's"):
        check(signed(CERTIFICATE, leaf.content(), alice_seed))


def test_a_revocation_is_no_issuer() -> None:
    revocation = ROOT.revoke(BOB.hashname, NOW_S)
    forged = msgspec.structs.replace(certificate_of(certify(ALICE)), issuer=revocation)
    with pytest.raises(ProtocolError, match="not the root's"):
        check(signed(CERTIFICATE, forged.content()))


def test_an_issuer_of_another_realm_is_none_here() -> None:
    statement = Statement.parse(ISSUER.issuer)
    foreign = signed(CERTIFICATE, statement.content, bytes(32), b"elsewhre")
    forged = msgspec.structs.replace(certificate_of(certify(ALICE)), issuer=foreign)
    seed = signing.signing_seed(BOB.pairs[0x40].secret)
    with pytest.raises(ProtocolError, match="another realm"):
        check(signed(CERTIFICATE, forged.content(), seed))


def test_an_issuer_signs_within_its_own_time() -> None:
    short = issuer(BOB, from_s=NOW_S - 100, until_s=NOW_S + 100)
    certify(ALICE, by=short, from_s=NOW_S, until_s=NOW_S + 100)
    for start, end in ((NOW_S - 101, NOW_S), (NOW_S, NOW_S + 101)):
        with pytest.raises(UsageError, match="own time"):
            certify(ALICE, by=short, from_s=start, until_s=end)
    with pytest.raises(UsageError, match="own time"):
        short.revoke(ALICE.hashname, NOW_S + 101)


def test_an_authority_needs_the_fitting_secret() -> None:
    with pytest.raises(UsageError, match="does not sign"):
        Authority(REALM, bytes(32))
    with pytest.raises(UsageError, match="does not sign"):
        Authority(REALM, ROOT_SEED, ISSUER.issuer)
    assert ROOT_SEED.hex() not in repr(ROOT)


@pytest.mark.parametrize(
    ("name", "roles", "until_s"),
    [
        ("", [], NOW_S + 1),
        ("x" * 300, [], NOW_S + 1),
        ("a", ["king"], NOW_S + 1),
        ("a", [], NOW_S - 61),
        ("a", [], NOW_S + 11 * YEAR_S),
        ("a", [], 2**70),
    ],
)
def test_invalid_content_is_not_signed(name: str, roles: list[str], until_s: int) -> None:
    with pytest.raises(UsageError):
        certify(ALICE, name, roles, until_s=until_s)


def test_only_a_hashname_can_be_revoked() -> None:
    with pytest.raises(UsageError):
        ROOT.revoke("nobody", NOW_S)


GENUINE = [
    certify(ALICE),
    certify(ALICE, by=ISSUER),
    ROOT.revoke(ALICE.hashname, NOW_S),
    ISSUER.revoke(ALICE.hashname, NOW_S),
]


@given(st.sampled_from(GENUINE), st.data())
def test_no_changed_byte_is_believed(genuine: bytes, data: st.DataObject) -> None:
    changed = bytearray(genuine)
    changed[data.draw(st.integers(0, len(genuine) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(RemoteError):
        check(bytes(changed))


@given(st.sampled_from([CERTIFICATE, REVOCATION]), st.binary(max_size=600))
def test_signed_nonsense_is_refused_cleanly(kind: int, content: bytes) -> None:
    with pytest.raises(RemoteError):
        check(signed(kind, content), 5)
