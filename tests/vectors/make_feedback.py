"""Writes feedback.json, straight from docs/protocol/feedback.md and without rookery's code.

Run it with the project's Python: `python tests/vectors/make_feedback.py`. The file it writes is
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
Value = int | float | bytes | str | list["Value"]

ISSUED_MS, EXPIRES_MS = 1_800_000_000_000, 1_800_172_800_000
FORECAST, ADVICE = 1, 2


def seed(name: str, size: int = 32) -> bytes:
    """Bytes that anybody can make again from a name."""
    return b"".join(sha256(f"{name} {part}".encode()).digest() for part in range(2))[:size]


def base32(data: bytes) -> str:
    return b32encode(data).decode().rstrip("=").lower()


SECRET = seed("lake static", 64)
SIGNER = Ed25519PrivateKey.from_private_bytes(SECRET[32:])
KEY = (
    X25519PrivateKey.from_private_bytes(SECRET[:32]).public_key().public_bytes_raw()
    + SIGNER.public_key().public_bytes_raw()
)
OTHER = sha256(seed("lake 3a")).digest()


def hashname() -> str:
    roll = b""
    for csid, part in ((0x3A, OTHER), (0x40, sha256(KEY).digest())):
        roll = sha256(roll + bytes([csid])).digest()
        roll = sha256(roll + part).digest()
    return base32(roll)


def msgpack(value: Value) -> bytes:
    """As little of it as the bodies need."""
    if isinstance(value, float):
        return b"\xcb" + pack(">d", value)
    if isinstance(value, int):
        if value < 0x80:
            return pack("B", value)
        if value < 0x10000:
            return (b"\xcc" + pack("B", value)) if value < 0x100 else b"\xcd" + pack(">H", value)
        return b"\xcf" + pack(">Q", value) if value >> 32 else b"\xce" + pack(">I", value)
    if isinstance(value, bytes):
        return b"\xc4" + pack("B", len(value)) + value
    if isinstance(value, str):
        text = value.encode()
        return b"\xd9" + pack("B", len(text)) + text
    return pack("B", 0x90 | len(value)) + b"".join(map(msgpack, value))


def artifact(kind: int, body: bytes) -> bytes:
    head = b"\x00RKA" + bytes([1, kind]) + pack(">QQ", ISSUED_MS, EXPIRES_MS) + KEY
    unsigned = head + bytes([1, 0x3A]) + OTHER + body
    return unsigned + SIGNER.sign(b"rookery artifact" + unsigned)


def vectors() -> Json:
    server, start_ms = bytes.fromhex("03fc00000001"), ISSUED_MS
    shares: list[Value] = [0.25, 0.5, 0.875]
    forecast = msgpack([[server, start_ms, 3600, shares, 0.75]])
    realm, (a, b) = seed("realm", 8), sorted(base32(seed(name)) for name in ("ada", "bob"))
    window: Value = [ISSUED_MS + 3_600_000, ISSUED_MS + 7_200_000, 1.75, 0.5]
    advice = msgpack([[realm, a, b, [window]]])
    return {
        "secret": SECRET.hex(),
        "intermediate_3a": OTHER.hex(),
        "issuer": hashname(),
        "issued_ms": ISSUED_MS,
        "expires_ms": EXPIRES_MS,
        "forecast": {
            "server": server.hex(),
            "start_ms": start_ms,
            "step_s": 3600,
            "shares": [0.25, 0.5, 0.875],
            "confidence": 0.75,
            "artifact": artifact(FORECAST, forecast).hex(),
        },
        "advice": {
            "realm": realm.hex(),
            "a": a,
            "b": b,
            "start_ms": ISSUED_MS + 3_600_000,
            "end_ms": ISSUED_MS + 7_200_000,
            "factor": 1.75,
            "confidence": 0.5,
            "artifact": artifact(ADVICE, advice).hex(),
        },
    }


def text() -> str:
    return json.dumps(vectors(), indent=2) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("feedback.json").write_text(text())
