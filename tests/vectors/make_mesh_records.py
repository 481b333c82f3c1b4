"""Writes mesh-records.json, straight from docs/protocol/mesh-records.md, without rookery's code.

Run it with the project's Python: `python tests/vectors/make_mesh_records.py`. The file it writes
is committed; a test checks that both agree.
"""

import json
from functools import reduce
from hashlib import blake2b, sha256
from ipaddress import ip_address
from operator import xor
from pathlib import Path
from struct import pack

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Json = dict[str, object]
Entry = tuple[int, bytes, int]

CERTIFICATE, RECORD = 1, 2
MADE_S = 1_800_000_000


def seed(name: str) -> bytes:
    """Bytes that anybody can make again from a name."""
    return sha256(name.encode()).digest()


def hash8(data: bytes) -> bytes:
    return blake2b(data, digest_size=8).digest()


def public(secret: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


REALM = sha256(public(seed("records root"))).digest()[:8]
SIGNER = seed("records origin")
ORIGIN, ALICE, BOB = (seed(f"records {name}")[:8] for name in ("node", "alice", "bob"))


def record() -> bytes:
    links = sorted([(ALICE, 1, 12_345, 0, 215), (BOB, 2, 800, 13, 0)])
    paths = [(2, "192.0.2.7", 4242), (3, "2001:db8::7", 4242)]
    services = [b"exit", b"exit:lan"]
    counts = (len(links), len(paths), len(services))
    content = ORIGIN + pack(">IIQHHHBBB", 3, 17, MADE_S, 7200, 0b11, 0, *counts)
    for link in links:
        content += pack(">8sHIBB", *link)
    for kind, address, port in paths:
        content += bytes([kind]) + ip_address(address).packed + pack(">H", port)
    for service in services:
        content += bytes([len(service)]) + service
    return content


def statement(content: bytes) -> bytes:
    head = bytes([1, RECORD]) + REALM + content
    signer = Ed25519PrivateKey.from_private_bytes(SIGNER)
    return head + signer.sign(b"rookery statement" + head)


def bucket(kind: int, key: bytes) -> int:
    place = hash8(bytes([kind]) + key)[-1] & 0x7F
    return place + 128 if kind == RECORD else place


def digest(entry: Entry) -> bytes:
    kind, key, version = entry
    return hash8(bytes([kind]) + key + pack(">Q", version))


def joined(digests: list[bytes]) -> bytes:
    return reduce(xor, (int.from_bytes(one) for one in digests), 0).to_bytes(8)


def frames(data: bytes) -> Json:
    entries: list[Entry] = [
        (RECORD, ORIGIN, 3 << 32 | 17),
        (RECORD, ALICE, 1 << 32 | 1),
        (CERTIFICATE, hash8(b"a certificate"), 0),
    ]
    buckets: dict[int, list[Entry]] = {}
    for entry in sorted(entries):
        buckets.setdefault(bucket(entry[0], entry[1]), []).append(entry)
    digests = [joined([digest(one) for one in buckets.get(at, [])])[:4] for at in range(256)]
    summary = b""
    for at, held in sorted(buckets.items()):
        summary += pack(">BH", at, len(held))
        summary += b"".join(pack(">B8sQ", *one) for one in held)
    return {
        "held": [
            {
                "kind": kind,
                "key": key.hex(),
                "version": version,
                "bucket": bucket(kind, key),
                "digest": digest((kind, key, version)).hex(),
            }
            for kind, key, version in entries
        ],
        "statements": (b"\x04" + 2 * (pack(">H", len(data)) + data)).hex(),
        "digest_of_all": (b"\x05" + joined([digest(one) for one in entries])).hex(),
        "digest_of_buckets": (b"\x05" + b"".join(digests)).hex(),
        "summary": (b"\x06" + summary).hex(),
        "want": (b"\x07" + b"".join(pack(">B8s", kind, key) for kind, key, _ in entries)).hex(),
    }


def make() -> Json:
    content = record()
    data = statement(content)
    return {
        "about": "frames are one byte of head, then the body",
        "realm": REALM.hex(),
        "signing_seed": SIGNER.hex(),
        "signing_key": public(SIGNER).hex(),
        "origin": ORIGIN.hex(),
        "content": content.hex(),
        "statement": data.hex(),
        "frames": frames(data),
    }


if __name__ == "__main__":
    target = Path(__file__).with_name("mesh-records.json")
    target.write_text(json.dumps(make(), indent=2) + "\n")
