"""Writes realm.json, straight from docs/protocol/realms.md and without rookery's code.

Run it with the project's Python: `python tests/vectors/make_realm.py`. The file it writes is
committed; a test checks that both agree.
"""

import json
from base64 import b32encode
from hashlib import sha256
from pathlib import Path
from struct import pack

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

Json = dict[str, object]

FROM_S, UNTIL_S = 1_800_000_000, 1_831_536_000
RELAY, EXIT, ISSUER = 1, 2, 16


def seed(name: str, size: int = 32) -> bytes:
    """Bytes that anybody can make again from a name."""
    return b"".join(sha256(f"{name} {part}".encode()).digest() for part in range(2))[:size]


def base32(data: bytes) -> str:
    return b32encode(data).decode().rstrip("=").lower()


def ed25519(secret: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(secret)


ROOT_SEED = seed("realm root")
ROOT = ed25519(ROOT_SEED).public_key().public_bytes_raw()
REALM_ID = sha256(ROOT).digest()[:8]


class Party:
    """Somebody with a key of cipher set 40 and the digest of one of 3a."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.secret = seed(f"{name} static", 64)
        agreement = X25519PrivateKey.from_private_bytes(self.secret[:32])
        signing = ed25519(self.secret[32:]).public_key()
        self.key = agreement.public_key().public_bytes_raw() + signing.public_bytes_raw()
        self.other = sha256(seed(f"{name} 3a")).digest()
        roll = sha256(b"\x3a").digest()
        roll = sha256(roll + self.other).digest()
        roll = sha256(roll + b"\x40").digest()
        self.hashname = sha256(roll + sha256(self.key).digest()).digest()

    def json(self) -> Json:
        return {
            "secret": self.secret.hex(),
            "key": self.key.hex(),
            "intermediate_3a": self.other.hex(),
            "hashname": base32(self.hashname),
        }


def statement(kind: int, content: bytes, secret: bytes) -> bytes:
    before = bytes((1, kind)) + REALM_ID + content
    return before + ed25519(secret).sign(b"rookery statement" + before)


def certificate(serial: int, who: Party, roles: int, secret: bytes, issuer: bytes = b"") -> bytes:
    name = who.name.encode()
    fixed = pack(">QQQHB", serial, FROM_S, UNTIL_S, roles, len(name))
    keys = who.hashname + who.key + b"\x01\x3a" + who.other
    return statement(1, fixed + name + keys + issuer, secret)


def revocation(serial: int, who: Party, secret: bytes, issuer: bytes = b"") -> bytes:
    at_s = FROM_S + 60
    content = pack(">QQQ", serial, at_s, at_s + 3660 * 86_400) + who.hashname
    return statement(3, content + issuer, secret)


def invitation(who: Party, secret: bytes) -> str:
    body = b"".join(
        (
            b"\x01",
            pack(">Q", FROM_S + 3600),
            secret,
            ROOT,
            who.key,
            b"\x04home",
            b"\x01\x3a" + who.other,
            b"\x02",
            b"\x00" + bytes((192, 0, 2, 1)) + pack(">H", 42424),
            b"\x02" + bytes((192, 0, 2, 1)) + pack(">H", 42424),
        )
    )
    return "rookery:join/" + base32(body + sha256(body).digest()[:4])


def make() -> Json:
    alice, bob, carol = Party("alice"), Party("bob"), Party("carol")
    issuer = certificate(1, alice, RELAY | ISSUER, ROOT_SEED)
    by_root = certificate(2, bob, RELAY | EXIT, ROOT_SEED)
    by_issuer = certificate(3, carol, 0, alice.secret[32:], issuer)
    secret = seed("invitation", 16)
    proved = b"rookery join" + REALM_ID + bob.hashname + secret
    proof = ed25519(bob.secret[32:]).sign(proved)
    return {
        "about": "Realms of rookery; every secret is the SHA-256 of a public name.",
        "root": {"seed": ROOT_SEED.hex(), "key": ROOT.hex(), "id": REALM_ID.hex()},
        "alice": alice.json(),
        "bob": bob.json(),
        "carol": carol.json(),
        "certificate_of_issuer": issuer.hex(),
        "certificate_by_root": by_root.hex(),
        "certificate_by_issuer": by_issuer.hex(),
        "revocation_by_root": revocation(2, bob, ROOT_SEED).hex(),
        "revocation_by_issuer": revocation(0, carol, alice.secret[32:], issuer).hex(),
        "invitation_secret": secret.hex(),
        "invitation_digest": sha256(b"rookery invitation" + secret).hexdigest(),
        "invitation": invitation(alice, secret),
        "join_body": (proof + bob.key + b"\x3a" + bob.other).hex(),
    }


if __name__ == "__main__":
    file = Path(__file__).with_name("realm.json")
    file.write_text(json.dumps(make(), indent=1) + "\n")
