"""Writes cs40.json, straight from docs/protocol/cipher-set-40.md and without rookery's code.

Run it with the project's Python: `python tests/vectors/make_cs40.py`. The file it writes is
committed; a test checks that both agree.
"""

import hmac
import json
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

Json = dict[str, object]


def seed(name: str, size: int = 32) -> bytes:
    """Bytes that anybody can make again from a name."""
    return b"".join(sha256(f"{name} {part}".encode()).digest() for part in range(2))[:size]


def agree(secret: bytes, public: bytes) -> bytes:
    key = X25519PrivateKey.from_private_bytes(secret)
    return key.exchange(X25519PublicKey.from_public_bytes(public))


def x25519_public(secret: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def derive(agreement: bytes, info: bytes, salt: bytes | None = None) -> bytes:
    return HKDF(hashes.SHA256(), 32, salt, info).derive(agreement)


class Party:
    def __init__(self, name: str) -> None:
        self.secret = seed(f"{name} static", 64)
        signing = Ed25519PrivateKey.from_private_bytes(self.secret[32:])
        self.key = x25519_public(self.secret[:32]) + signing.public_key().public_bytes_raw()
        self.ephemeral_secret = seed(f"{name} ephemeral")
        self.ephemeral = x25519_public(self.ephemeral_secret)

    @property
    def token(self) -> bytes:
        return sha256(self.ephemeral[:16]).digest()[:16]

    def json(self) -> Json:
        return {
            "secret": self.secret.hex(),
            "key": self.key.hex(),
            "ephemeral_secret": self.ephemeral_secret.hex(),
            "ephemeral": self.ephemeral.hex(),
            "token": self.token.hex(),
        }


def message(sender: Party, receiver: Party, flags: int, nonce: bytes, inner: bytes) -> Json:
    head = sender.ephemeral + bytes([flags])
    message_key = derive(
        agree(sender.ephemeral_secret, receiver.key[:32]),
        b"rookery cs40 message" + sender.ephemeral + receiver.key,
    )
    mac_key = derive(
        agree(sender.secret[:32], receiver.key[:32]),
        b"rookery cs40 mac" + sender.key + receiver.key,
    )
    proved = head + nonce + AESGCM(message_key).encrypt(nonce, inner, head)
    return {
        "flags": flags,
        "nonce": nonce.hex(),
        "inner": inner.hex(),
        "message_key": message_key.hex(),
        "mac_key": mac_key.hex(),
        "body": (proved + hmac.digest(mac_key, proved, "sha256")[:16]).hex(),
    }


def channel(sender: Party, receiver: Party, aead: str) -> Json:
    cipher: type[AESGCM] | type[ChaCha20Poly1305] = AESGCM
    if aead == "chacha20-poly1305":
        cipher = ChaCha20Poly1305
    key = derive(
        agree(sender.ephemeral_secret, receiver.ephemeral),
        f"rookery cs40 channel {aead}".encode() + sender.ephemeral + receiver.ephemeral,
    )
    parts: list[Json] = []
    for counter in (0, 1, 2, (1 << 32) + 5, (1 << 64) - 1):
        inner = b"\x00\x00" + f"packet {counter}".encode()
        head = counter.to_bytes(8, "big")
        box = cipher(key).encrypt(bytes(4) + head, inner, receiver.token)
        parts.append({"counter": counter, "inner": inner.hex(), "part": (head + box).hex()})
    return {"key": key.hex(), "token": receiver.token.hex(), "packets": parts}


def binding(alice: Party, bob: Party) -> bytes:
    lesser, greater = sorted([alice.key, bob.key])
    agreement = agree(alice.secret[:32], bob.key[:32])
    return derive(agreement, b"rookery cs40 renewal" + lesser + greater)


def renewals(alice: Party, bob: Party, aead: str) -> list[Json]:
    """Alice offers phase 1, Bob phase 2: each seals two packets under either."""
    cipher: type[AESGCM] | type[ChaCha20Poly1305] = AESGCM
    if aead == "chacha20-poly1305":
        cipher = ChaCha20Poly1305
    label, salt = f"rookery cs40 channel {aead}".encode(), None
    agreement = agree(alice.ephemeral_secret, bob.ephemeral)
    found: list[Json] = []
    for phase, (initiator, responder) in enumerate([("alice", "bob"), ("bob", "alice")], 1):
        salt = derive(agreement, b"rookery cs40 renewal chain", salt)
        offer_secret = seed(f"{initiator} offer {phase}")
        answer_secret = seed(f"{responder} answer {phase}")
        offer, answer = x25519_public(offer_secret), x25519_public(answer_secret)
        number = phase.to_bytes(4, "big")
        agreement = agree(offer_secret, answer) + binding(alice, bob)
        directions: Json = {}
        for name, sender, receiver in (("alice", alice, bob), ("bob", bob, alice)):
            info = label + number + offer + answer + sender.ephemeral + receiver.ephemeral
            key = derive(agreement, info, salt)
            parts: list[Json] = []
            for counter in (phase << 40, (phase << 40) + 1):
                inner = b"\x00\x00" + f"packet {counter}".encode()
                head = counter.to_bytes(8, "big")
                box = cipher(key).encrypt(bytes(4) + head, inner, receiver.token)
                parts.append({"counter": counter, "inner": inner.hex(), "part": (head + box).hex()})
            directions[name] = {"key": key.hex(), "packets": parts}
        found.append(
            {
                "aead": aead,
                "phase": phase,
                "from": initiator,
                "chain": salt.hex(),
                "offer_secret": offer_secret.hex(),
                "answer_secret": answer_secret.hex(),
                "frames": [
                    {"head": "0c01", "body": (number + offer).hex()},
                    {"head": "0c02", "body": (number + answer).hex()},
                    {"head": "0c03", "body": number.hex()},
                    {"head": "0c04", "body": number.hex()},
                ],
                "sealed": directions,
            }
        )
    return found


def vectors() -> Json:
    alice, bob = Party("alice"), Party("bob")
    inner = b'\x00\x1f{"type":"link","at":1700000001}\x00\x00' + alice.key
    answer = b'\x00\x1f{"type":"link","at":1700000001}\x00\x00' + bob.key
    return {
        "about": "Cipher set 40 of rookery; every secret is the SHA-256 of a public name.",
        "alice": alice.json(),
        "bob": bob.json(),
        "messages": [
            {"from": "alice", **message(alice, bob, 0, seed("nonce 1", 12), inner)},
            {"from": "bob", **message(bob, alice, 0, seed("nonce 2", 12), answer)},
            {"from": "alice", **message(alice, bob, 1, seed("nonce 3", 12), inner)},
            {"from": "bob", **message(bob, alice, 1, seed("nonce 4", 12), b"")},
            {"from": "alice", **message(alice, bob, 2, seed("nonce 5", 12), inner)},
            {"from": "bob", **message(bob, alice, 2, seed("nonce 6", 12), answer)},
            {"from": "alice", **message(alice, bob, 3, seed("nonce 7", 12), inner)},
            {"from": "bob", **message(bob, alice, 3, seed("nonce 8", 12), answer)},
        ],
        "channels": [
            {"from": name, "aead": aead, **channel(sender, receiver, aead)}
            for aead in ("aes-256-gcm", "chacha20-poly1305")
            for name, sender, receiver in (("alice", alice, bob), ("bob", bob, alice))
        ],
        "binding": binding(alice, bob).hex(),
        "renewals": [
            renewal
            for aead in ("aes-256-gcm", "chacha20-poly1305")
            for renewal in renewals(alice, bob, aead)
        ],
    }


def text() -> str:
    return json.dumps(vectors(), indent=1) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("cs40.json").write_text(text())
