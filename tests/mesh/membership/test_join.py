"""The two messages of joining."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import AuthenticationError, DecodeError, ProtocolError, RemoteError
from rookery.identity.hashname import hashname
from rookery.identity.realm import Realm
from rookery.mesh.membership.join import JoinAnswer, JoinRequest
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import NetPath
from rookery.wire.link.uri import LinkAddress
from tests.mesh.realms import NOW_S, REALM, ROOT, certify, identity

ALICE = identity("alice", (0x3A, 0x40))
REQUEST = JoinRequest.of(REALM, bytes(range(16)), "alice", ALICE)
LINK = LinkAddress(ALICE.hashname, dict(ALICE.keys), (NetPath("udp4", "192.0.2.1", 1),))
ANSWER = JoinAnswer(certify(ALICE, "alice"), LINK)

values = st.none() | st.integers() | st.text(max_size=80) | st.dictionaries(st.text(), st.text())


def test_a_request_survives_the_wire() -> None:
    parsed = JoinRequest.parse(REQUEST.head(), REQUEST.body())
    assert parsed == REQUEST
    parsed.check(REALM, ALICE.hashname)
    assert repr(REQUEST) == "JoinRequest('alice')"


def test_a_request_is_for_the_keys_of_the_link_it_came_over() -> None:
    with pytest.raises(AuthenticationError, match="other end"):
        REQUEST.check(REALM, identity("bob").hashname)


def test_a_signing_key_is_shown_to_be_ones_own() -> None:
    """The link proves the other half of the key only; somebody else's could be put beside it."""
    mallory = identity("mallory")
    key = mallory.keys[0x40][:32] + ALICE.keys[0x40][32:]
    borrowed = msgspec.structs.replace(
        JoinRequest.of(REALM, REQUEST.secret, "mallory", mallory), key=key
    )
    with pytest.raises(AuthenticationError, match="signature"):
        borrowed.check(REALM, hashname({0x40: key}))


def test_a_proof_is_for_one_realm_and_one_secret() -> None:
    with pytest.raises(AuthenticationError, match="signature"):
        REQUEST.check(Realm("other", bytes(32)), ALICE.hashname)
    other = msgspec.structs.replace(REQUEST, secret=bytes(16))
    with pytest.raises(AuthenticationError, match="signature"):
        other.check(REALM, ALICE.hashname)


@pytest.mark.parametrize(
    "change",
    [{"secret": None}, {"secret": "a" * 65}, {"name": 5}, {"name": ""}, {"secret": "???"}],
)
def test_a_request_needs_a_secret_and_a_name(change: JsonObject) -> None:
    with pytest.raises(DecodeError):
        JoinRequest.parse({**REQUEST.head(), **change}, REQUEST.body())


@pytest.mark.parametrize("body", [b"", bytes(127), bytes(129), bytes(128 + 8 * 33)])
def test_a_request_needs_keys(body: bytes) -> None:
    with pytest.raises(DecodeError, match="without keys"):
        JoinRequest.parse(REQUEST.head(), body)


def test_another_version_is_refused() -> None:
    with pytest.raises(ProtocolError, match="version 1"):
        JoinRequest.parse({**REQUEST.head(), "v": 2}, REQUEST.body())
    with pytest.raises(ProtocolError, match="version 1"):
        JoinAnswer.parse({}, b"")


def test_an_answer_survives_the_wire_and_is_checked() -> None:
    answer = JoinAnswer.parse(ANSWER.head(), ANSWER.certificate)
    assert answer == ANSWER
    assert answer.check(REALM, ALICE.hashname, NOW_S).name == "alice"


def test_an_answer_must_make_us_a_member() -> None:
    with pytest.raises(ProtocolError, match="no member"):
        ANSWER.check(REALM, identity("bob").hashname, NOW_S)
    revocation = ROOT.revoke(ALICE.hashname, NOW_S)
    with pytest.raises(ProtocolError, match="no member"):
        JoinAnswer(revocation, LINK).check(REALM, ALICE.hashname, NOW_S)
    with pytest.raises(RemoteError):
        JoinAnswer(b"", LINK).check(REALM, ALICE.hashname, NOW_S)


@pytest.mark.parametrize(("link", "size"), [(None, 1), ("x", 1), ({}, 4097)])
def test_an_answer_needs_a_link_and_a_certificate(link: object, size: int) -> None:
    with pytest.raises(DecodeError):
        JoinAnswer.parse({"v": 1, "link": link}, bytes(size))


@given(
    st.fixed_dictionaries({}, optional={"v": st.just(1), "secret": values, "name": values}),
    st.binary(max_size=200),
)
def test_arbitrary_requests_and_answers_are_refused_cleanly(head: JsonObject, body: bytes) -> None:
    with pytest.raises(RemoteError):
        JoinRequest.parse(head, body).check(REALM, ALICE.hashname)
    with pytest.raises(RemoteError):
        JoinAnswer.parse({**head, "link": head.get("name")}, body).check(REALM, "", NOW_S)
