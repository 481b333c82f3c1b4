"""A local certificate authority: signs what the hubs and servers of one fleet prove their names by.

Its certificate is what clients and browsers are told to trust; its private key stays in the data
folders and the database of the hubs. It signs certificates of hubs and servers, nothing else.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from rookery.errors import DecodeError
from rookery.runtime.tls.certificate import (
    DAY_S,
    LIFETIME_S,
    Credential,
    PrivateKey,
    PublicKey,
    certificate_pem,
    key_pem,
    moment,
    new_key,
    read_key,
)
from rookery.runtime.tls.names import MALFORMED, alternatives

AUTHORITY_VALIDITY_S = 3650 * DAY_S
SERVER_MARK = "urn:rookery:server:"  # and a hashname: in the certificates of servers

_BACKDATED_S = 3600  # clocks of clients may be slow by so much
_FINGERPRINT = re.compile(r"(?i:sha256)?([0-9A-Fa-f]{64})")


@dataclass(frozen=True, slots=True)
class CertificateAuthority:
    """Make it with `make`, once for a fleet."""

    key: PrivateKey = field(repr=False)
    certificate: x509.Certificate

    @classmethod
    def make(cls, fleet: str, now: float) -> Self:
        """A new one; `fleet` tells it from others where a browser lists them."""
        key = new_key()
        name = _name(f"rookery authority {fleet}")
        made = (
            _builder(name, name, key.public_key(), now - _BACKDATED_S, now + AUTHORITY_VALIDITY_S)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(is_authority=True), critical=True)
            .add_extension(_key_identifier(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(key, made)

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.certificate)

    @property
    def ends(self) -> float:
        return self.certificate.not_valid_after_utc.timestamp()

    @property
    def pem(self) -> bytes:
        """What others may have: the certificate, without the key."""
        return certificate_pem(self.certificate)

    def issue(
        self,
        key: PublicKey,
        names: Iterable[str],
        now: float,
        *,
        server: str = "",
        lifetime_s: float = LIFETIME_S,
    ) -> x509.Certificate:
        """A certificate for these names; with `server`, a hashname, marked as that server's."""
        marks = [x509.UniformResourceIdentifier(SERVER_MARK + server)] if server else []
        issuer = self.certificate.subject
        name = _name("rookery server" if server else "rookery hub")
        begins, ends = now - min(_BACKDATED_S, lifetime_s), min(now + lifetime_s, self.ends)
        return (
            _builder(issuer, name, key, begins, ends)
            .add_extension(alternatives(names, *marks), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(is_authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(_key_identifier(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
            .sign(self.key, hashes.SHA256())
        )

    def credential(
        self, names: Iterable[str], now: float, lifetime_s: float = LIFETIME_S
    ) -> Credential:
        """A hub's own certificate, with a new key."""
        key = new_key()
        own = self.issue(key.public_key(), names, now, lifetime_s=lifetime_s)
        return Credential(key, (own, self.certificate))

    def has_signed(self, credential: Credential) -> bool:
        return credential.chain[-1] == self.certificate

    def serialize(self) -> bytes:
        return key_pem(self.key) + self.pem

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """What `serialize` wrote, or DecodeError."""
        key, certificate = read_key(data), read_authority(data)
        if certificate.public_key() != key.public_key():
            raise DecodeError("the authority's certificate is for another key")
        return cls(key, certificate)


def read_authority(data: bytes) -> x509.Certificate:
    """The certificate of an authority that vouches for itself, alone in a PEM file; DecodeError."""
    try:
        certificates = x509.load_pem_x509_certificates(data)
        (certificate,) = certificates
        certificate.verify_directly_issued_by(certificate)
        limits = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except MALFORMED as error:
        raise DecodeError(f"no authority's certificate: {error}") from error
    if not limits.ca:
        raise DecodeError("the certificate is not of an authority")
    return certificate


def fingerprint(certificate: x509.Certificate) -> str:
    """`SHA256:` and pairs of hexadecimal digits, as browsers and openssl show it."""
    return "SHA256:" + certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def normal_fingerprint(text: str) -> str | None:
    """The same, of what a person may have typed; None when it is none."""
    found = _FINGERPRINT.fullmatch(text.strip().replace(":", ""))
    return None if found is None else "SHA256:" + bytes.fromhex(found[1]).hex(":").upper()


def _builder(
    issuer: x509.Name, subject: x509.Name, key: PublicKey, begins: float, ends: float
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment(begins))
        .not_valid_after(moment(ends))
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _key_identifier(key: PublicKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key)


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )
