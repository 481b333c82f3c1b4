"""A certificate with its private key, as a hub or server shows it; and the request for one.

    hub   private key ─────────────────────────────▶ CertificateAuthority.issue ─▶ Credential
    server  private key ─▶ SigningRequest ─▶ (hub) ─▶ CertificateAuthority.issue ─▶ Credential

Times are wall seconds, and arguments. Keys are of the curve P-256, which all browsers take.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from rookery.errors import DecodeError
from rookery.runtime.tls.names import MALFORMED, NAMES_MAX, alternatives, names_in
from rookery.wire.fleet.messages import CHAIN_MAX, REQUEST_SIZE_MAX

DAY_S = 86_400
LIFETIME_S = 30 * DAY_S

_RENEWED_AT = 2 / 3  # of its life

PrivateKey = ec.EllipticCurvePrivateKey
PublicKey = ec.EllipticCurvePublicKey


def new_key() -> PrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def read_key(data: bytes) -> PrivateKey:
    """The first private key of a PEM file, or DecodeError."""
    try:
        key = serialization.load_pem_private_key(data, None)
    except MALFORMED as error:
        raise DecodeError(f"no private key: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not _is_ours(key.public_key()):
        raise DecodeError("the private key is not of the curve P-256")
    return key


@dataclass(frozen=True, slots=True)
class Credential:
    """What a hub or server proves its names with: the first certificate of the chain is its own."""

    key: PrivateKey = field(repr=False)
    chain: tuple[x509.Certificate, ...]

    @property
    def names(self) -> frozenset[str]:
        return names_in(self.chain[0].extensions)

    @property
    def begins(self) -> float:
        return self.chain[0].not_valid_before_utc.timestamp()

    @property
    def ends(self) -> float:
        return self.chain[0].not_valid_after_utc.timestamp()

    @property
    def renewal_at(self) -> float:
        """When a new one is made, long before this one ends."""
        return self.begins + (self.ends - self.begins) * _RENEWED_AT

    def is_good(self, names: Iterable[str], now: float) -> bool:
        """Whether it need not be made anew: it has these names, and time is left."""
        return self.begins <= now < self.renewal_at and self.names.issuperset(names)

    def serialize(self) -> bytes:
        """As PEM, the key first."""
        return key_pem(self.key) + b"".join(map(certificate_pem, self.chain))

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """What `serialize` wrote, or DecodeError."""
        try:
            chain = tuple(x509.load_pem_x509_certificates(data))
        except MALFORMED as error:
            raise DecodeError(f"no certificate: {error}") from error
        return cls._checked(read_key(data), chain)

    @classmethod
    def of_answer(cls, key: PrivateKey, chain: Iterable[bytes]) -> Self:
        """The key with certificates that somebody else made for it, as DER; or DecodeError."""
        try:
            read = tuple(map(x509.load_der_x509_certificate, chain))
        except MALFORMED as error:
            raise DecodeError(f"no certificate: {error}") from error
        return cls._checked(key, read)

    @classmethod
    def _checked(cls, key: PrivateKey, chain: tuple[x509.Certificate, ...]) -> Self:
        if not 0 < len(chain) <= CHAIN_MAX:
            raise DecodeError(f"a chain of {len(chain)} certificates")
        try:
            own = chain[0].public_key()
            for each, issuer in pairwise(chain):
                each.verify_directly_issued_by(issuer)
            names_in(chain[0].extensions)
        except MALFORMED as error:
            raise DecodeError(f"not a chain of certificates: {error}") from error
        if own != key.public_key():
            raise DecodeError("the certificate is for another key")
        return cls(key, chain)


@dataclass(frozen=True, slots=True)
class SigningRequest:
    """A public key, proved by its owner, and the names that its certificate shall have."""

    key: PublicKey
    names: frozenset[str]

    @staticmethod
    def serialize(key: PrivateKey, names: Iterable[str]) -> bytes:
        """A PKCS #10 request as DER."""
        return (
            x509.CertificateSigningRequestBuilder()
            .subject_name(x509.Name([]))
            .add_extension(alternatives(names), critical=True)
            .sign(key, hashes.SHA256())
            .public_bytes(serialization.Encoding.DER)
        )

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read one, or raise DecodeError. All but key and names is passed over."""
        if len(data) > REQUEST_SIZE_MAX:
            raise DecodeError(f"{len(data)} bytes cannot be a request for a certificate")
        try:
            request = x509.load_der_x509_csr(data)
            key, names = request.public_key(), names_in(request.extensions)
            is_proved = request.is_signature_valid
        except MALFORMED as error:
            raise DecodeError(f"not a request for a certificate: {error}") from error
        if not isinstance(key, ec.EllipticCurvePublicKey) or not _is_ours(key):
            raise DecodeError("the key of the request is not of the curve P-256")
        if not is_proved:
            raise DecodeError("the request is not signed with its own key")
        if not 0 < len(names) <= NAMES_MAX:
            raise DecodeError(f"a request for {len(names)} names")
        return cls(key, names)


def certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def moment(seconds: float) -> datetime:
    """Wall seconds as certificates have them."""
    return datetime.fromtimestamp(int(seconds), UTC)


def _is_ours(key: PublicKey) -> bool:
    return isinstance(key.curve, ec.SECP256R1)
