"""Makes fleet.json from docs/protocol/fleet.md alone, without the code under test.

python tests/vectors/make_fleet.py > tests/vectors/fleet.json
"""

import json
import sys
from base64 import b32encode
from hashlib import blake2s
from struct import pack

Row = dict[str, object]

MASTER = bytes(range(32))
REPORTER = bytes.fromhex("02fc00000001")
SERVER = bytes.fromhex("a1b2c3d4e5f6")
HASHNAME = bytes(range(100, 132))
GENERATION = 1_799_928_000
BOOT = 1_800_000_000_123
CONTENT = b"\x84\xa4kind\xa6device\xa1t\x01\xa1b\xcf" + pack(">Q", BOOT) + b"\xa1n\x07"
CODE = "ABCD-EFGH-IJKL-MNOP"
CODE_RAW = bytes.fromhex("00443214c74254b635cf")
KEY40 = bytes(range(64))
DIGEST2A = bytes(range(200, 232))
NONCE = bytes(range(8))
SPREAD = 0x9E3779B97F4A7C15


def tlv(tag: int, value: bytes) -> bytes:
    return pack(">HH", tag, len(value)) + value


def secret_of(reporter: bytes, generation: int) -> bytes:
    message = reporter + HASHNAME + pack(">I", generation)
    return blake2s(message, key=MASTER, person=b"rkSecret").digest()


SECRET = secret_of(REPORTER, GENERATION)


def proof(tag: int, value: bytes) -> bytes:
    message = pack(">H", tag) + value
    return blake2s(message, digest_size=16, key=SECRET, person=b"rkProof").digest()


def generation(reporter: bytes, second: int, renewal: int) -> Row:
    phase = (int.from_bytes(reporter, "big") * SPREAD % 2**64) * renewal // 2**64
    newest = max(0, (second - phase) // renewal * renewal + phase)
    row: Row = {"reporter": reporter.hex(), "second": second, "renewal_s": renewal}
    return {**row, "phase": phase, "generation": newest}


def report(tag: int, sequence: int) -> Row:
    head = b"\x01" + REPORTER + pack(">IQQ", GENERATION, BOOT, sequence)
    proved = proof(tag, head + CONTENT)
    row: Row = {"kind": "report", "tag": tag, "reporter": REPORTER.hex()}
    row |= {"generation": GENERATION, "boot": BOOT, "sequence": sequence}
    row |= {"content": CONTENT.hex(), "proof": proved.hex()}
    return {**row, "bytes": tlv(tag, head + proved + CONTENT).hex()}


def plain() -> Row:
    row: Row = {"kind": "plain", "tag": 3073, "reporter": REPORTER.hex(), "boot": BOOT}
    row |= {"sequence": 7, "content": CONTENT.hex()}
    return {**row, "bytes": tlv(3073, b"\x02" + REPORTER + SECRET + CONTENT).hex()}


def hello(tag: int, reporter: bytes, code: bool, size: int) -> Row:
    key = blake2s(CODE_RAW, person=b"rkCode").digest()
    head = reporter + NONCE + KEY40 + DIGEST2A + (key[:8] if code else bytes(8))
    made = blake2s(head, digest_size=16, key=key, person=b"rkCode").digest()
    value = head + (made if code else bytes(16))
    row: Row = {"kind": "hello", "tag": tag, "reporter": reporter.hex(), "nonce": NONCE.hex()}
    row |= {"key": KEY40.hex(), "digest": DIGEST2A.hex(), "size": size}
    row |= {"code_id": value[110:118].hex(), "code_proof": value[118:].hex()}
    return {**row, "bytes": tlv(tag, value.ljust(size - 4, b"\0")).hex()}


def ack() -> Row:
    value = REPORTER + pack(">QQ", BOOT, 7)
    row: Row = {"kind": "ack", "tag": 1027, "reporter": REPORTER.hex(), "boot": BOOT, "sequence": 7}
    return {**row, "bytes": tlv(1027, value + proof(1027, value)).hex()}


def call() -> Row:
    wish = 0x1122334455667788
    value = REPORTER + pack(">QQQ", BOOT, 7, wish)
    row: Row = {"kind": "call", "tag": 1025, "reporter": REPORTER.hex(), "boot": BOOT}
    row |= {"sequence": 7, "wish": wish}
    return {**row, "bytes": tlv(1025, value + proof(1025, value)).hex()}


def fault(code: int, boot: int, proved: bool) -> Row:
    value = pack(">H", code) + REPORTER + pack(">QQ", boot, 7)
    row: Row = {"kind": "fault", "tag": 1, "code": code, "reporter": REPORTER.hex()}
    row |= {"boot": boot, "sequence": 7}
    return {**row, "bytes": tlv(1, value + (proof(1, value) if proved else b"")).hex()}


def issue() -> Row:
    row: Row = {"generation": GENERATION, "nonce": NONCE.hex(), "hub_ms": BOOT}
    return {**row, "inner": (pack(">I", GENERATION) + SECRET + NONCE + pack(">Q", BOOT)).hex()}


def observation() -> Row:
    row: Row = {"received_ms": BOOT, "kind": 1, "reporter": REPORTER.hex(), "boot": BOOT}
    row |= {"sequence": 7, "content": CONTENT.hex()}
    return {**row, "bytes": (pack(">QB6sQQ", BOOT, 1, REPORTER, BOOT, 7) + CONTENT).hex()}


def refused(name: str, data: bytes) -> Row:
    return {"name": name, "bytes": data.hex()}


def vectors() -> dict[str, object]:
    claim = b32encode(blake2s(b"claim", key=SECRET).digest()).decode()[:10]
    good = bytes.fromhex(str(report(3073, 7)["bytes"]))
    short_hello = bytes.fromhex(str(hello(3075, REPORTER, False, 192)["bytes"]))[4:180]
    return {
        "master": MASTER.hex(),
        "hashname": HASHNAME.hex(),
        "secrets": [
            {"reporter": r.hex(), "generation": g, "secret": secret_of(r, g).hex()}
            for r, g in [(REPORTER, GENERATION), (REPORTER, 0), (SERVER, 2**32 - 1)]
        ],
        "generations": [
            generation(r, second, renewal)
            for r in (REPORTER, SERVER)
            for second, renewal in [(0, 60), (1_800_000_000, 60), (1_800_000_000, 86_400)]
        ],
        "code": {
            "text": CODE,
            "raw": CODE_RAW.hex(),
            "key": blake2s(CODE_RAW, person=b"rkCode").hexdigest(),
        },
        "claim_code": claim,
        "datagrams": [
            report(3073, 7),
            report(2049, 1),
            report(2056, 2**63 - 1),
            plain(),
            hello(3075, REPORTER, False, 192),
            hello(3075, REPORTER, True, 192),
            hello(2055, SERVER, True, 138),
            ack(),
            call(),
            fault(1, BOOT, False),
            fault(2, BOOT + 1, True),
            fault(3, 0, False),
            fault(4, 0, False),
        ],
        "issue": issue(),
        "observation": observation(),
        "refused": [
            refused("nothing", b""),
            refused("a head and no value", good[:4]),
            refused("a length that lies", good[:2] + b"\xff\xff" + good[4:]),
            refused("cut within the proof", tlv(3073, good[4:40])),
            refused("form 3", tlv(3073, b"\x03" + good[5:])),
            refused("sequence 0", tlv(3073, good[4:23] + bytes(8) + good[31:])),
            refused("boot beyond 2^63", tlv(3073, good[4:15] + b"\x80" + good[16:])),
            refused("a content of 1201 bytes", tlv(3073, good[4:47] + bytes(1201))),
            refused("a router with a group's MAC", tlv(3073, good[4:5] + b"\x03" + good[6:])),
            refused("a hello that is smaller than its answer", tlv(3075, short_hello)),
            refused("a report that only the hub may make", tlv(1027, good[4:])),
        ],
    }


if __name__ == "__main__":
    json.dump(vectors(), sys.stdout, indent=1)
    sys.stdout.write("\n")
