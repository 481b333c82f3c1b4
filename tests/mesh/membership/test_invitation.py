"""Invitations as URLs: short, whole or refused, and leading to the inviter."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError, UsageError
from rookery.identity.realm import Realm
from rookery.mesh.membership.invitation import PATHS_MAX, PREFIX, Invitation
from rookery.wire import base32
from rookery.wire.link.path import NetPath, Path, PeerPath, UrlPath
from rookery.wire.link.uri import LinkAddress
from tests.mesh.realms import NOW_S, REALM, identity

INVITER = identity("inviter", (0x3A, 0x40))
SECRET = bytes(range(16))
UDP = NetPath("udp4", "192.0.2.1", 42424)
TCP = NetPath("tcp4", "192.0.2.1", 42424)
LINK = LinkAddress(INVITER.hashname, dict(INVITER.keys), (UDP, TCP))
INVITATION = Invitation.of(REALM, SECRET, NOW_S, LINK)


def url_of(body: bytes) -> str:
    return PREFIX + base32.encode(body + sha256(body).digest()[:4])


def body_of(invitation: Invitation) -> bytes:
    return base32.decode(invitation.url().removeprefix(PREFIX))[:-4]


def test_the_url_says_it_all() -> None:
    parsed = Invitation.parse(INVITATION.url())
    assert parsed == INVITATION
    assert parsed.realm == REALM
    assert parsed.hashname == INVITER.hashname
    assert parsed.paths == (UDP, TCP)
    assert (parsed.secret, parsed.expires_s) == (SECRET, NOW_S)


def test_the_url_is_short_enough_for_a_qr_code_in_a_terminal() -> None:
    """Two paths and two cipher sets: 300 characters, which version 9 of the codes holds."""
    assert len(INVITATION.url()) <= 320
    densest = set("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:")
    assert set(INVITATION.url().upper()) <= densest


def test_capitals_and_line_breaks_do_no_harm() -> None:
    url = INVITATION.url().upper()
    assert Invitation.parse(f" {url[:60]}\n  {url[60:]}\n") == INVITATION


def test_the_secret_is_not_shown_by_accident() -> None:
    assert repr(INVITATION) == f"Invitation('test', from {INVITER.hashname[:8]})"


def test_every_kind_of_path_is_carried() -> None:
    paths: tuple[Path, ...] = (
        UDP,
        NetPath("udp6", "2001:db8::1", 1),
        TCP,
        NetPath("tcp6", "::1", 65535),
        NetPath("tls4", "192.0.2.2", 443),
        NetPath("tls6", "::2", 443),
        UrlPath("https://example.net/mesh"),
    )
    link = LinkAddress(None, dict(INVITER.keys), paths)
    assert Invitation.parse(Invitation.of(REALM, SECRET, 1, link).url()).paths == paths


def test_paths_that_help_nobody_are_left_out() -> None:
    others: list[Path] = [
        PeerPath(INVITER.hashname),
        NetPath("ws4", "192.0.2.1", 1),
        UrlPath("http://" + "x" * 250),
    ]
    many = [NetPath("udp4", "192.0.2.1", port) for port in range(1, 20)]
    link = LinkAddress(None, dict(INVITER.keys), (*others, *many))
    assert Invitation.of(REALM, SECRET, 1, link).paths == tuple(many[:PATHS_MAX])
    with pytest.raises(UsageError, match="nowhere to dial"):
        Invitation.of(REALM, SECRET, 1, LinkAddress(None, dict(INVITER.keys), tuple(others)))


def test_an_inviter_needs_cipher_set_40() -> None:
    for keys in ({0x3A: INVITER.keys[0x3A]}, {0x40: b"short"}):
        with pytest.raises(UsageError, match="cipher set 40"):
            Invitation.of(REALM, SECRET, 1, LinkAddress(None, keys, (UDP,)))


@pytest.mark.parametrize(
    "text", ["", "rookery:", "https://example.net/", "rookery:join", "x" * 3000]
)
def test_what_is_no_invitation_says_so(text: str) -> None:
    with pytest.raises(DecodeError):
        Invitation.parse(text)


@given(st.integers(len(PREFIX), len(INVITATION.url()) - 1), st.sampled_from("abcxyz27"))
def test_a_url_with_a_wrong_or_missing_character_is_refused(at: int, other: str) -> None:
    url = INVITATION.url()
    with pytest.raises(DecodeError):
        Invitation.parse(url[:at] + url[at + 1 :])
    if url[at] != other:
        with pytest.raises(DecodeError):
            Invitation.parse(url[:at] + other + url[at + 1 :])


def test_every_cut_with_a_fitting_sum_is_refused() -> None:
    body = body_of(INVITATION)
    for size in range(len(body)):
        with pytest.raises(DecodeError):
            Invitation.parse(url_of(body[:size]))
    with pytest.raises(DecodeError, match="too much"):
        Invitation.parse(url_of(body + b"\0"))


def test_another_version_or_an_unknown_path_is_refused() -> None:
    body = body_of(INVITATION)
    with pytest.raises(DecodeError, match="version 2"):
        Invitation.parse(url_of(b"\2" + body[1:]))
    assert body[-15] == 2  # paths
    with pytest.raises(DecodeError, match="unknown kind 7"):
        Invitation.parse(url_of(body[:-14] + b"\7" + body[-13:]))
    with pytest.raises(DecodeError, match="UTF-8"):
        Invitation.parse(url_of(body[:122] + b"\xff" + body[123:]))


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1, max_size=32).filter(
        str.isprintable
    ),
    st.binary(min_size=32, max_size=32),
    st.binary(min_size=16, max_size=16),
    st.integers(0, 2**64 - 1),
)
def test_every_invitation_survives_its_url(
    name: str, root: bytes, secret: bytes, expires_s: int
) -> None:
    invitation = Invitation.of(Realm(name, root), secret, expires_s, LINK)
    assert Invitation.parse(invitation.url()) == invitation


@given(st.binary(max_size=300), st.integers(0, 200))
def test_arbitrary_bytes_are_an_invitation_or_a_decode_error(data: bytes, kept: int) -> None:
    for body in (data, body_of(INVITATION)[:kept] + data):
        try:
            invitation = Invitation.parse(url_of(body))
        except DecodeError:
            continue
        assert invitation.paths
