"""The local certificate authority, checked by openssl, and in virtual time."""

import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from rookery.errors import DecodeError
from rookery.runtime.tls.authority import (
    AUTHORITY_VALIDITY_S,
    CertificateAuthority,
    normal_fingerprint,
)
from rookery.runtime.tls.certificate import (
    DAY_S,
    LIFETIME_S,
    Credential,
    SigningRequest,
    certificate_pem,
    new_key,
)
from rookery.runtime.tls.names import normal_name

NOW = 1_800_000_000.0
NAMES = frozenset({"hub.example.org", "192.0.2.7", "2001:db8::7"})
AUTHORITY = CertificateAuthority.make("abcdefgh", NOW)


def verified(folder: Path, credential: Credential, at: float, *options: str) -> str:
    """What openssl says of the chain at that time."""
    ca, leaf = folder / "ca.pem", folder / "leaf.pem"
    ca.write_bytes(AUTHORITY.pem)
    leaf.write_bytes(certificate_pem(credential.chain[0]))
    command = ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", str(ca)]
    done = subprocess.run(
        [*command, "-attime", str(int(at)), *options, str(leaf)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_openssl_finds_the_chain_good_for_its_names_and_its_time_only(tmp_path: Path) -> None:
    made = AUTHORITY.credential(NAMES, NOW)
    for options in (
        ("-verify_hostname", "hub.example.org"),
        ("-verify_ip", "192.0.2.7"),
        ("-verify_ip", "2001:db8::7"),
    ):
        assert verified(tmp_path, made, NOW, *options).endswith("OK\n")
    assert "hostname mismatch" in verified(tmp_path, made, NOW, "-verify_hostname", "example.org")
    assert "IP address mismatch" in verified(tmp_path, made, NOW, "-verify_ip", "192.0.2.8")
    assert "certificate has expired" in verified(tmp_path, made, NOW + LIFETIME_S + 1)
    assert "not yet valid" in verified(tmp_path, made, NOW - 2 * DAY_S)


def test_openssl_finds_another_authority_wrong(tmp_path: Path) -> None:
    other = CertificateAuthority.make("abcdefgh", NOW).credential(NAMES, NOW)
    assert "verification failed" in verified(tmp_path, other, NOW)


def test_a_certificate_signs_no_others(tmp_path: Path) -> None:
    hub = AUTHORITY.credential(NAMES, NOW)
    as_authority = CertificateAuthority(hub.key, hub.chain[0])
    (tmp_path / "between.pem").write_bytes(certificate_pem(hub.chain[0]))
    forged = Credential(key := new_key(), (as_authority.issue(key.public_key(), NAMES, NOW),))
    told = verified(tmp_path, forged, NOW, "-untrusted", str(tmp_path / "between.pem"))
    assert "verification failed" in told


def test_it_is_renewed_long_before_it_ends_and_not_sooner() -> None:
    """In virtual time: looked at once an hour for two years."""
    credential, made = AUTHORITY.credential(NAMES, NOW), 1
    for hour in range(2 * 365 * 24):
        now = NOW + hour * 3600
        if not credential.is_good(NAMES, now):
            assert credential.ends - now > 9 * DAY_S
            credential, made = AUTHORITY.credential(NAMES, now), made + 1
        assert credential.begins <= now < credential.ends
    assert 36 <= made <= 38  # every 20 days


def test_a_new_name_needs_a_new_certificate_and_no_new_authority() -> None:
    made = AUTHORITY.credential(NAMES, NOW)
    assert made.is_good(NAMES, NOW)
    assert made.is_good(["192.0.2.7"], NOW)
    assert not made.is_good([*NAMES, "192.0.2.8"], NOW)
    again = AUTHORITY.credential([*NAMES, "192.0.2.8"], NOW)
    assert AUTHORITY.has_signed(again)
    assert again.names == NAMES | {"192.0.2.8"}


def test_a_clock_that_was_set_back_makes_a_new_one() -> None:
    assert not AUTHORITY.credential(NAMES, NOW).is_good(NAMES, NOW - DAY_S)


def test_no_certificate_outlives_the_authority() -> None:
    late = NOW + AUTHORITY_VALIDITY_S - DAY_S
    assert AUTHORITY.credential(NAMES, late).ends == AUTHORITY.ends


def test_what_was_written_is_read_and_damage_is_found() -> None:
    again = CertificateAuthority.parse(AUTHORITY.serialize())
    assert again.fingerprint == AUTHORITY.fingerprint
    made = AUTHORITY.credential(NAMES, NOW)
    assert Credential.parse(made.serialize()).names == NAMES
    for damaged in (b"", b"x", AUTHORITY.pem, made.serialize()[:400]):
        with pytest.raises(DecodeError):
            CertificateAuthority.parse(damaged)
    with pytest.raises(DecodeError, match="another key"):
        Credential.parse(Credential(new_key(), made.chain).serialize())


def test_no_secret_is_in_a_repr() -> None:
    assert "PRIVATE" not in repr(AUTHORITY)
    assert "key=" not in repr(AUTHORITY)
    assert "key=" not in repr(AUTHORITY.credential(NAMES, NOW))


def test_a_fingerprint_is_taken_as_people_and_programs_write_it() -> None:
    told = AUTHORITY.fingerprint
    digits = told.removeprefix("SHA256:")
    for text in (told, told.lower(), digits, digits.replace(":", ""), f" {told}\n"):
        assert normal_fingerprint(text) == told
    for text in ("", "SHA256:", told[:-1], told + "00", "SHA256:" + "zz" * 32):
        assert normal_fingerprint(text) is None


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("Hub.Example.org.", "hub.example.org"),
        ("[2001:DB8::1]", "2001:db8::1"),
        ("localhost", "localhost"),
        ("*.example.org", None),
        ("fe80::1%eth0", None),
        ("0.0.0.0", None),
        ("::", None),
        ("1.2.3", None),
        ("a b", None),
        ("", None),
        ("a." * 130 + "b", None),
    ],
)
def test_names_have_one_form(host: str, name: str | None) -> None:
    assert normal_name(host) == name


def test_a_request_says_key_and_names_and_proves_the_key() -> None:
    key = new_key()
    data = SigningRequest.serialize(key, NAMES)
    request = SigningRequest.parse(data)
    assert (request.key, request.names) == (key.public_key(), NAMES)
    for broken in (data[:-1], data[:-8] + bytes(8), data + bytes(5000), b""):
        with pytest.raises(DecodeError):
            SigningRequest.parse(broken)


def test_an_answer_for_another_key_is_refused() -> None:
    issued = AUTHORITY.issue(new_key().public_key(), NAMES, NOW, server="s" * 52)
    chain = [each.public_bytes(Encoding.DER) for each in (issued, AUTHORITY.certificate)]
    with pytest.raises(DecodeError, match="another key"):
        Credential.of_answer(new_key(), chain)
    with pytest.raises(DecodeError):
        Credential.of_answer(new_key(), [])
