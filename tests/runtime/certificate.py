"""A self-signed certificate and its key, as PEM files."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


def self_signed(folder: Path, password: bytes | None = None) -> tuple[Path, Path]:
    """Writes certificate.pem and key.pem for 127.0.0.1."""
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gate")])
    now = datetime.now(UTC)
    address = x509.IPAddress(ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, SHA256())
    )
    encryption: KeySerializationEncryption = (
        NoEncryption() if password is None else BestAvailableEncryption(password)
    )
    certificate_file, key_file = folder / "certificate.pem", folder / "key.pem"
    certificate_file.write_bytes(certificate.public_bytes(Encoding.PEM))
    key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    return certificate_file, key_file
