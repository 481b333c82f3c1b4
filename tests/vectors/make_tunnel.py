"""Makes tunnel.json from docs/protocol/tunnel.md alone, without the code under test.

python tests/vectors/make_tunnel.py > tests/vectors/tunnel.json
"""

import json
import sys
from struct import pack

Row = dict[str, object]

TUNNEL = 0x1122334455667788


def data(stream: int, offset: int, text: bytes, *, fin: bool = False) -> tuple[Row, bytes]:
    row: Row = {"frame": "data", "stream": stream, "offset": offset, "data": text.hex(), "fin": fin}
    return row, pack(">BIQI", 3 if fin else 2, stream, offset, len(text)) + text


def ack(way: int, delay_us: int, marks: int, ranges: list[tuple[int, int]]) -> tuple[Row, bytes]:
    row: Row = {"frame": "ack", "way": way, "delay_us": delay_us, "marks": marks}
    row["ranges"] = [list(pair) for pair in ranges]
    body = pack(">BIQIIB", 4, way, ranges[0][1], delay_us, marks, len(ranges))
    below = ranges[0][1]
    for first, last in ranges:
        body += pack(">II", below - last, last - first + 1)
        below = first - 1
    return row, body


def credit(stream: int, maximum: int) -> tuple[Row, bytes]:
    row: Row = {"frame": "credit", "stream": stream, "maximum": maximum}
    return row, pack(">BIQ", 5, stream, maximum)


def opens(maximum: int) -> tuple[Row, bytes]:
    return {"frame": "opens", "maximum": maximum}, pack(">BI", 6, maximum)


def reset(stream: int, code: int, size: int) -> tuple[Row, bytes]:
    row: Row = {"frame": "reset", "stream": stream, "code": code, "size": size}
    return row, pack(">BIIQ", 7, stream, code, size)


def stop(stream: int, code: int) -> tuple[Row, bytes]:
    return {"frame": "stop", "stream": stream, "code": code}, pack(">BII", 8, stream, code)


def datagram(text: bytes) -> tuple[Row, bytes]:
    return {"frame": "datagram", "data": text.hex()}, pack(">BH", 9, len(text)) + text


def probe() -> tuple[Row, bytes]:
    return {"frame": "probe"}, b"\x0a"


def close(code: int, reason: str) -> tuple[Row, bytes]:
    text = reason.encode()
    row: Row = {"frame": "close", "code": code, "reason": reason}
    return row, pack(">BHB", 11, code, len(text)) + text


def packet(
    name: str, way: int, number: int, frames: list[tuple[Row, bytes]], *, is_first: bool = False
) -> Row:
    return {
        "name": name,
        "tunnel": f"{TUNNEL:016x}",
        "way": way,
        "number": number,
        "is_first": is_first,
        "frames": [row for row, _ in frames],
        "head": pack(">BBI", 11, int(is_first), way).hex(),
        "body": (pack(">QQ", TUNNEL, number) + b"".join(body for _, body in frames)).hex(),
    }


def opening(service: str, meta: str, priority: int) -> Row:
    name, said = service.encode(), meta.encode()
    return {
        "service": service,
        "meta": json.loads(meta) if meta else {},
        "priority": priority,
        "bytes": (pack(">BBH", priority, len(name), len(said)) + name + said).hex(),
    }


def refused(
    name: str, head: str, frames: str, prefix: str = "11223344556677880000000000000001"
) -> Row:
    return {"name": name, "head": head, "body": prefix + frames}


def vectors() -> Row:
    plain = "0b0000000001"
    ack_5 = "0400000001" + "0000000000000005" + "00000000" * 2
    return {
        "packets": [
            packet("the first", 1, 1, [probe(), data(1, 0, b"\x03\x04\0\0echo")], is_first=True),
            packet("an answer", 1, 1, [ack(1, 1500, 0, [(1, 1)]), data(1, 0, b"hello", fin=True)]),
            packet("only acknowledged", 2, 0, [ack(7, 0, 3, [(90, 99), (50, 80), (1, 7)])]),
            packet("notes", 2, 9, [credit(0, 2**21), credit(3, 2**20 + 5), opens(5000)]),
            packet("given up", 3, 77, [reset(5, 42, 1000), stop(5, 42)]),
            packet("a datagram", 4, 2**40, [datagram(b"now or never")]),
            packet("the end of an empty stream", 1, 12, [data(2, 8, b"", fin=True)]),
            packet("over", 1, 0, [close(2, "no way for too long")]),
        ],
        "openings": [
            opening("echo", "", 3),
            opening("proxy", '{"type":"tcp","host":"example.org","port":443}', 0),
            opening("Türöffner", "", 7),
        ],
        "refused": [
            refused("an unknown flag", "0b0200000001", "0a"),
            refused("a short head", "0b00000001", "0a"),
            refused("a short body", plain, "", "1122334455667788"),
            refused("an unknown frame", plain, "01"),
            refused("data of stream 0", plain, "02000000000000000000000000" + "0000"),
            refused("data cut short", plain, "0200000001" + "0000000000000000" + "0003" + "6162"),
            refused("no range", plain, ack_5 + "00"),
            refused("33 ranges", plain, ack_5 + "21" + "0000000000000001" * 33),
            refused("packet 0 acknowledged", plain, ack_5 + "01" + "0000000000000006"),
            refused("the largest did not come", plain, ack_5 + "01" + "0000000100000001"),
            refused("a run of none", plain, ack_5 + "01" + "0000000000000000"),
            refused("runs without a gap", plain, ack_5 + "02" + "0000000000000001" * 2),
        ],
    }


if __name__ == "__main__":
    json.dump(vectors(), sys.stdout, indent=1)
    sys.stdout.write("\n")
