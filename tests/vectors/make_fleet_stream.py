"""Makes fleet_stream.json from docs/protocol/rendezvous.md alone, without the code under test.

python tests/vectors/make_fleet_stream.py > tests/vectors/fleet_stream.json

RSA keys and OAEP take their randomness from the system, so the keys are kept from the file that is
there, and the bytes of KEY in cipher set 2a differ with each run. All else depends on them and on
fixed numbers. Streams in 40 are under "40"; under "offered" is the KEY in 2a that offers it.
"""

import base64
import hmac
import json
import sys
from hashlib import sha256
from pathlib import Path
from struct import pack

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

FILE = Path(__file__).parent / "fleet_stream.json"
OAEP = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
KEY, SEALED, AT = 2, 3, 1_800_000_000_000


def base32(data: bytes) -> str:
    return base64.b32encode(data).decode().lower().rstrip("=")


def tlv(tag: int, value: bytes) -> bytes:
    return pack(">HH", tag, len(value)) + value


def derive(agreement: bytes, info: bytes) -> bytes:
    return HKDF(hashes.SHA256(), 32, None, info).derive(agreement)


def agree(secret: bytes, public: bytes) -> bytes:
    own = X25519PrivateKey.from_private_bytes(secret)
    return own.exchange(X25519PublicKey.from_public_bytes(public[:32]))


def lob(head: bytes, body: bytes) -> bytes:
    return pack(">H", len(head)) + head + body


class Side:
    """One end: its keys, and what it draws by chance."""

    def __init__(self, name: str, secret: str | None) -> None:
        if secret is None:
            self.private = rsa.generate_private_key(65537, 2048)
        else:
            loaded = serialization.load_der_private_key(bytes.fromhex(secret), None)
            assert isinstance(loaded, rsa.RSAPrivateKey)
            self.private = loaded
        self.key = self.private.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        agreeing = sha256(f"X25519 of {name}".encode()).digest()
        signing = sha256(f"Ed25519 of {name}".encode()).digest()
        self.secret40 = agreeing + signing
        self.key40 = (
            X25519PrivateKey.from_private_bytes(agreeing).public_key().public_bytes_raw()
            + Ed25519PrivateKey.from_private_bytes(signing).public_key().public_bytes_raw()
        )
        self.digest40 = sha256(self.key40).digest()
        self.scalar = sha256(f"scalar of {name}".encode()).digest()
        self.message_key = sha256(f"message key of {name}".encode()).digest()
        self.iv = sha256(f"iv of {name}".encode()).digest()[:12]
        self.secret_ephemeral40 = sha256(f"X25519 ephemeral of {name}".encode()).digest()
        self.nonce40 = sha256(f"nonce of {name}".encode()).digest()[:12]
        self.ephemeral = ec.derive_private_key(int.from_bytes(self.scalar, "big"), ec.SECP256R1())

    @property
    def hashname(self) -> str:
        roll = b""
        for csid, digest in ((0x2A, sha256(self.key).digest()), (0x40, self.digest40)):
            roll = sha256(sha256(roll + bytes([csid])).digest() + digest).digest()
        return base32(roll)

    @property
    def point(self) -> bytes:
        return self.ephemeral.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )

    @property
    def ephemeral40(self) -> bytes:
        own = X25519PrivateKey.from_private_bytes(self.secret_ephemeral40)
        return own.public_key().public_bytes_raw()

    def handshake40(self, peer: "Side", at: int) -> bytes:
        others = json.dumps(
            {"2a": base32(sha256(self.key).digest())}, separators=(",", ":")
        ).encode()
        head = json.dumps({"type": "link", "at": at}, separators=(",", ":")).encode()
        lead = self.ephemeral40 + b"\x02"
        key = derive(
            agree(self.secret_ephemeral40, peer.key40),
            b"rookery cs40 message" + self.ephemeral40 + peer.key40,
        )
        inner = lob(head, lob(others, self.key40))
        proved = lead + self.nonce40 + AESGCM(key).encrypt(self.nonce40, inner, lead)
        mac_key = derive(
            agree(self.secret40[:32], peer.key40), b"rookery cs40 mac" + self.key40 + peer.key40
        )
        return lob(b"\x40", proved + hmac.digest(mac_key, proved, "sha256")[:16])

    def sealed40(self, peer: "Side", pieces: list[bytes]) -> list[bytes]:
        label = b"rookery cs40 channel aes-256-gcm"
        key = derive(
            agree(self.secret_ephemeral40, peer.ephemeral40),
            label + self.ephemeral40 + peer.ephemeral40,
        )
        token = sha256(peer.ephemeral40[:16]).digest()[:16]
        counters = [pack(">Q", number) for number in range(len(pieces))]
        return [
            counter + AESGCM(key).encrypt(bytes(4) + counter, piece, token)
            for counter, piece in zip(counters, pieces, strict=True)
        ]

    def row40(self, values: list[tuple[int, bytes]], pieces: list[bytes]) -> dict[str, object]:
        return {
            "ephemeral": self.secret_ephemeral40.hex(),
            "nonce": self.nonce40.hex(),
            "pieces": [piece.hex() for piece in pieces],
            "stream": [[tag, value.hex()] for tag, value in values],
        }

    def handshake(self, peer: "Side", at: int, offer: bytes = b"") -> bytes:
        others = json.dumps({"40": base32(self.digest40)}, separators=(",", ":")).encode()
        said = {"type": "link", "at": at} | ({"offer": base32(offer)} if offer else {})
        head = json.dumps(said, separators=(",", ":")).encode()
        inner = lob(head, lob(others, self.key))
        block = peer.private.public_key().encrypt(self.point + self.message_key, OAEP)
        signed = block + self.iv + inner
        signature = self.private.sign(signed, padding.PKCS1v15(), hashes.SHA256())
        box = AESGCM(self.message_key).encrypt(self.iv, inner + signature, block)
        return lob(b"\x2a", block + self.iv + box)

    def sealed(self, peer: "Side", pieces: list[bytes]) -> list[bytes]:
        agreement = self.ephemeral.exchange(ec.ECDH(), peer.ephemeral.public_key())
        key = sha256(agreement + self.message_key + peer.message_key).digest()
        ivs = [pack(">IQ", 0, number) for number in range(len(pieces))]
        return [
            iv + AESGCM(key).encrypt(iv, piece, None) for iv, piece in zip(ivs, pieces, strict=True)
        ]

    def row(self, stream: list[tuple[int, bytes]], pieces: list[bytes]) -> dict[str, object]:
        secret = self.private.private_bytes(
            serialization.Encoding.DER,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        return {
            "hashname": self.hashname,
            "key2a": self.key.hex(),
            "secret2a": secret.hex(),
            "key40": self.key40.hex(),
            "secret40": self.secret40.hex(),
            "digest40": self.digest40.hex(),
            "scalar": self.scalar.hex(),
            "message_key": self.message_key.hex(),
            "iv": self.iv.hex(),
            "pieces": [piece.hex() for piece in pieces],
            "stream": [[tag, value.hex()] for tag, value in stream],
        }


def main() -> None:
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    sides = {
        name: Side(name, kept.get(name, {}).get("secret2a")) for name in ("dialler", "acceptor")
    }
    dialler, acceptor = sides["dialler"], sides["acceptor"]
    # The larger key makes odd numbers, the other one even ones.
    at = AT + int(dialler.key > acceptor.key)
    asked, told = tlv(3074, b"\x81\xa4wish\x07"), tlv(1, b"\x82\xa4code\x03\xa4text\xa0")
    # The second piece of the acceptor ends inside a TLV.
    pieces = {"dialler": [b"", asked], "acceptor": [b"", told + told[:5], told[5:], b""]}
    rows: dict[str, object] = {"at": at}
    for name, peer in (("dialler", acceptor), ("acceptor", dialler)):
        side = sides[name]
        values = [(KEY, side.handshake(peer, at))]
        values += [(SEALED, value) for value in side.sealed(peer, pieces[name])]
        rows[name] = side.row(values, pieces[name])
    at40 = AT + int(dialler.key40 > acceptor.key40)
    better: dict[str, object] = {"at": at40}
    for name, peer in (("dialler", acceptor), ("acceptor", dialler)):
        side = sides[name]
        values = [(KEY, side.handshake40(peer, at40))]
        values += [(SEALED, value) for value in side.sealed40(peer, pieces[name])]
        better[name] = side.row40(values, pieces[name])
    rows["40"] = better
    rows["offered"] = dialler.handshake(acceptor, at, dialler.handshake40(acceptor, at40)).hex()
    json.dump(rows, sys.stdout, indent=1)
    print()


main()
