"""Makes mesh-quality.json from docs/protocol/mesh-quality.md alone, without the code under test.

python tests/vectors/make_mesh_quality.py > tests/vectors/mesh-quality.json
"""

import json
import sys
from struct import pack

Row = dict[str, object]


def frame(name: str, head: bytes, fields: bytes, size: int, values: Row) -> Row:
    """`body` is without the zeros that bring head and body to `size`."""
    return {"name": name, **values, "size": size, "head": head.hex(), "body": fields.hex()}


def ping(name: str, size: int, report: tuple[int, int, int], values: tuple[int, ...]) -> Row:
    attempt, sequence, sent_us, next_s = values
    names: Row = {"attempt": attempt, "sequence": sequence, "sent_us": sent_us, "next_s": next_s}
    names |= {"heard": report[0], "history": f"{report[1]:016x}", "bytes": report[2]}
    fields = pack(">IIQ", attempt, sequence, sent_us) + pack(">IQQ", *report)
    return frame(name, pack(">BB", 2, next_s), fields, size, names)


def pong(name: str, size: int, report: tuple[int, int, int], values: tuple[int, ...]) -> Row:
    attempt, sequence, received_us, sent_us = values
    names: Row = {"attempt": attempt, "sequence": sequence}
    names |= {"received_us": received_us, "sent_us": sent_us}
    names |= {"heard": report[0], "history": f"{report[1]:016x}", "bytes": report[2]}
    fields = pack(">IIQQ", attempt, sequence, received_us, sent_us) + pack(">IQQ", *report)
    return frame(name, pack(">B", 3), fields, size, names)


def beside(name: str, kind: int, sizes: int, attempt: int) -> Row:
    return {
        "name": name,
        "kind": kind,
        "sizes": sizes & 3,
        "asks": sizes >= 0x80,
        "attempt": attempt,
        "head": pack(">BBB", 9, kind, sizes).hex(),
        "body": pack(">I", attempt).hex(),
    }


def cost(
    name: str, trips_s: list[float], loss: tuple[float, float], rate: float | None, more: int = 0
) -> Row:
    srtt_s, rttvar_s = trips_s[0], trips_s[0] / 2
    for trip_s in trips_s[1:]:
        rttvar_s = 3 / 4 * rttvar_s + 1 / 4 * abs(srtt_s - trip_s)
        srtt_s = 7 / 8 * srtt_s + 1 / 8 * trip_s
    etx = 1 / ((1 - loss[0]) * (1 - loss[1]))
    cost_s = srtt_s / 2 + rttvar_s + (etx - 1) * (srtt_s + 4 * rttvar_s)
    cost_s += 16384 / rate if rate else 0
    return {
        "name": name,
        "trips_s": trips_s,
        "lost_out": round(32 * loss[0]),
        "lost_in": round(32 * loss[1]),
        "rate": rate,
        "offset_us": more,
        "srtt_us": round(srtt_s * 1e6, 3),
        "rttvar_us": round(rttvar_s * 1e6, 3),
        "cost_us": int(cost_s * 1e6 + 500 + more),
    }


def vectors() -> Row:
    attempt = 0xC0FFEE01
    return {
        "pings": [
            ping("the first of a stream", 1200, (0, 0, 0), (0, 1, 0, 1)),
            ping("idle", 64, (41, 0x1FF, 98765), (0, 42, 600_000_000, 15)),
            ping("beside a stream, one lost", 64, (7, 0x7B, 4321), (attempt, 9, 12_345_678, 1)),
        ],
        "pongs": [
            pong("of data size", 1200, (1, 1, 1200), (0, 1, 5_000_000, 5_000_000)),
            pong("held for 2 ms", 64, (42, 0x3FF, 99_999), (attempt, 42, 7_000_000, 7_002_000)),
        ],
        "beside": [
            beside("offer", 1, 0, attempt),
            beside("accept", 2, 0, attempt),
            beside("heard small", 3, 1, attempt),
            beside("heard both", 3, 3, attempt),
            beside("heard nothing yet, and asks", 3, 0x80, attempt),
            beside("gone", 4, 0, attempt),
            beside("refuse", 5, 0, attempt),
        ],
        "refused": [
            {"name": "ping, too short", "head": "0201", "body": "00" * 61},
            {
                "name": "ping, too long",
                "head": "0201",
                "body": "00000000" + "00000001" + "00" * 1191,
            },
            {"name": "ping number 0", "head": "0201", "body": "00" * 62},
            {
                "name": "ping, padding not zero",
                "head": "0201",
                "body": "0000000000000001" + "00" * 53 + "01",
            },
            {
                "name": "ping, heard nothing and yet 1",
                "head": "0201",
                "body": "0000000000000001" + "00" * 12 + "0000000000000001" + "00" * 34,
            },
            {
                "name": "pong with a ping's head",
                "head": "0300",
                "body": "00000000" + "00000001" * 15,
            },
            {"name": "beside of no kind", "head": "090600", "body": "00000001"},
            {"name": "beside, offer with sizes", "head": "090103", "body": "00000001"},
            {"name": "beside, attempt 0", "head": "090100", "body": "00000000"},
        ],
        "costs": [
            cost("one trip", [0.04], (0, 0), None),
            cost("two trips", [0.1, 0.2], (0, 0), None),
            cost("half lost on the way out", [0.04] * 20, (0.5, 0), None),
            cost("an eighth lost each way", [0.04] * 20, (0.125, 0.125), None),
            cost("1 MB/s", [0.04] * 20, (0, 0), 1e6),
            cost("all of it, and an offset", [0.02, 0.03, 0.025], (0.25, 0.125), 125_000, 7_000),
        ],
    }


if __name__ == "__main__":
    json.dump(vectors(), sys.stdout, indent=1)
    sys.stdout.write("\n")
