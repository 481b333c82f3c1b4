"""Makes observations.json from docs/protocol/observations.md alone, without the code under test.

python tests/vectors/make_observations.py > tests/vectors/observations.json
"""

import json
import sys
import zlib
from struct import pack

Row = dict[str, object]

ALICE, BOB, CAROL = (letter * 52 for letter in "abc")
REALM = "0123456789abcdef"
REPORTER = bytes.fromhex("03aabbccddee")
T, B, N = 1_800_000_000_123, 1_800_000_000_000, 7


def msgpack(value: object) -> bytes:
    """As short as the format allows."""
    match value:
        case None | bool():
            return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
        case int():
            return _number(value)
        case float():
            return pack(">Bd", 0xCB, value)
        case str():
            data = value.encode()
            return _head(len(data), 0xA0, 31, (0xD9, 0xDA)) + data
        case bytes():
            return _head(len(value), None, 0, (0xC4, 0xC5)) + value
        case list():
            return _head(len(value), 0x90, 15, (None, 0xDC)) + b"".join(map(msgpack, value))
        case dict():
            pairs = [msgpack(part) for pair in value.items() for part in pair]
            return _head(len(value), 0x80, 15, (None, 0xDE)) + b"".join(pairs)
    raise TypeError(type(value))


def _number(value: int) -> bytes:
    for code, form, bits in ((0xCC, "B", 8), (0xCD, "H", 16), (0xCE, "I", 32), (0xCF, "Q", 64)):
        if value < 128:
            return bytes([value])
        if value < 1 << bits:
            return pack(f">B{form}", code, value)
    raise ValueError(value)


def _head(size: int, fixed: int | None, most: int, codes: tuple[int | None, int]) -> bytes:
    if fixed is not None and size <= most:
        return bytes([fixed | size])
    if codes[0] is not None and size < 256:
        return bytes([codes[0], size])
    return pack(">BH", codes[1], size)


def observation(kind: int, fields: Row, reporter: bytes = REPORTER) -> Row:
    """Bytes are told as hexadecimal text under a name that says so."""
    content = msgpack({key: value for key, value in fields.items() if value is not None})
    head = pack(">QB6sQQ", T + 5, kind, reporter, B, N)
    shown = {
        key + "_hex" * isinstance(value, bytes): value.hex() if isinstance(value, bytes) else value
        for key, value in fields.items()
    }
    return {"kind": kind, "fields": shown, "bytes": (head + content).hex()}


def observations() -> list[Row]:
    source: Row = {"t": T, "b": B, "n": N}
    names: Row = {"realm": REALM, "node": ALICE, "peer": BOB}
    measured: Row = {"rtt_ms": 12.5, "jitter_ms": 0.25, "loss_in": 0.0, "loss_out": 0.125}
    way = {"nodes": [ALICE, BOB, CAROL], "cost_us": 12_600, "verdict": "cheapest"}
    of_route: Row = {"realm": REALM, "source": ALICE, "destination": CAROL}
    seat: Row = {"seat": "seat-1", "who": "ann", "router": "02:fc:00:00:00:01", "server": BOB}
    times: Row = {"opened_at": T - 9000, "closed_at": T}
    ends: Row = {"submitted_at": T - 40, "ended_at": T, "fate": "acknowledged", "attempts": 1}
    change: Row = {"realm": REALM, "node": BOB, "epoch": 3, "number": 41, "lifetime_s": 90}
    carried: Row = {"rate_kbps": 900.0, "cost_us": 12_600, "is_up": True}
    return [
        observation(6, source | names | {"path": "tcp4"} | measured | carried),
        observation(6, source | names | {"is_up": False}),
        observation(7, source | change | {"links": [[ALICE, 12_600], [CAROL, 2**32 - 2]]}),
        observation(7, source | change | {"is_withdrawn": True}),
        observation(
            8, source | of_route | way | {"reason": "chosen: the cheapest", "candidates": 2}
        ),
        observation(8, source | of_route | {"verdict": "none", "previous": [ALICE, BOB, CAROL]}),
        observation(
            9, {"kind": "session"} | source | seat | times | {"reason": "the client is done"}
        ),
        observation(10, source | {"node": ALICE, "peer": BOB, "number": 9, "size": 13} | ends),
        observation(
            11,
            source
            | {"theme": "sensors/hall", "publisher": ".12.127.0.0.1:6913", "qos": 2, "size": 4}
            | {"payload": b"\x0021\xff"},
        ),
    ]


def refused(name: str, kind: int, fields: Row) -> Row:
    return {"name": name, **observation(kind, fields)}


def segment(start: int, records: list[bytes]) -> Row:
    data, positions = b"RKSP" + pack(">B3xQ", 1, start), []
    for record in records:
        data += pack(">II", len(record), zlib.crc32(record, len(record))) + record
        positions.append(start + len(data) - 16)
    shown = [record.hex() for record in records]
    return {"start": start, "records": shown, "positions": positions, "bytes": data.hex()}


def vectors() -> dict[str, list[Row]]:
    link: Row = {"t": T, "realm": REALM, "node": ALICE, "peer": BOB, "is_up": True}
    return {
        "observations": observations(),
        "refused": [
            refused("a loss beyond 1", 6, {**link, "loss_in": 1.5}),
            refused("a name of 65 characters", 6, {**link, "peer": "p" * 65}),
            refused("no peer", 6, {key: value for key, value in link.items() if key != "peer"}),
            refused("a cost that is text", 6, {**link, "cost_us": "dear"}),
            refused(
                "49 links",
                7,
                {"t": T, "realm": "", "node": "", "epoch": 1, "number": 1}
                | {"links": [["p", 1]] * 49},
            ),
            refused("an unknown kind", 12, link),
        ],
        "segments": [segment(0, []), segment(0x1234, [b"a", bytes(300)])],
    }


if __name__ == "__main__":
    json.dump(vectors(), sys.stdout, indent=1)
    sys.stdout.write("\n")
