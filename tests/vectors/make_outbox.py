"""Makes outbox.json from docs/protocol/outbox.md alone, without the code under test.

python tests/vectors/make_outbox.py > tests/vectors/outbox.json
"""

import json
import sys
from struct import pack

Row = dict[str, object]

HASHNAME = bytes(range(32))


def framed(row: Row, body: bytes) -> Row:
    return {**row, "bytes": (pack(">I", len(body)) + body).hex()}


def introduction(epoch: int, memory: int, heard: int, handled: int) -> Row:
    row: Row = {"frame": "introduction", "hashname": HASHNAME.hex(), "epoch": epoch}
    row |= {"memory": memory, "heard": heard, "handled": handled}
    row |= {"requests_max": 1024, "bytes_max": 1 << 22}
    head = pack(">BB", 1, 1) + HASHNAME
    return framed(row, head + pack(">QQQQII", epoch, memory, heard, handled, 1024, 1 << 22))


def request(id_: int, qos: int, floor: int, payload: bytes, *, wants_reply: bool = False) -> Row:
    row: Row = {"frame": "request", "id": id_, "qos": qos, "wants_reply": wants_reply}
    row |= {"floor": floor, "payload": payload.hex()}
    return framed(row, pack(">BBQQ", 2, qos + 4 * wants_reply, id_, floor) + payload)


def acknowledgement(id_: int) -> Row:
    return framed({"frame": "acknowledgement", "id": id_}, pack(">BQ", 3, id_))


def reply(id_: int, payload: bytes) -> Row:
    row: Row = {"frame": "reply", "id": id_, "payload": payload.hex()}
    return framed(row, pack(">BQ", 4, id_) + payload)


def error(id_: int, code: int, text: str) -> Row:
    row: Row = {"frame": "error", "id": id_, "code": code, "text": text}
    return framed(row, pack(">BQB", 5, id_, code) + text.encode())


def refused(name: str, body: str, length: int | None = None) -> Row:
    data = bytes.fromhex(body)
    size = len(data) if length is None else length
    return {"name": name, "bytes": (pack(">I", size) + data).hex()}


def vectors() -> dict[str, list[Row]]:
    return {
        "frames": [
            introduction(0x1122334455667788, 2**64 - 1, 0, 0),
            introduction(1, 2, 0x8877665544332211, 41),
            request(1, 0, 1, b""),
            request(2, 1, 1, b"open the gate"),
            request(2**63 - 1, 2, 3, b"\x00\xff", wants_reply=True),
            acknowledgement(2),
            reply(2**63 - 1, b"it is open"),
            error(4, 17, "the handler failed"),
            error(0, 3, "никто"),
        ],
        "refused": [
            refused("nothing", ""),
            refused("too long", "02", 1048609),
            refused("an unknown type", "06"),
            refused("QoS 3", "0203" + "0000000000000001" * 2),
            refused("an unknown flag", "0208" + "0000000000000001" * 2),
            refused("below its floor", "0200" + "0000000000000001" + "0000000000000002"),
            refused("id 0", "0200" + "0000000000000000" * 2),
            refused("id 2^63", "0200" + "8000000000000000" + "0000000000000001"),
            refused("an acknowledgement of 0", "03" + "0000000000000000"),
            refused("a long acknowledgement", "03" + "0000000000000001" + "00"),
            refused("a short reply", "0400"),
            refused("an error that is no text", "05" + "0000000000000001" + "11ff"),
            refused("an introduction that takes nothing", "0101" + "00" * 64 + "00" * 8),
            refused("a short introduction", "0101" + "00" * 40),
        ],
    }


if __name__ == "__main__":
    json.dump(vectors(), sys.stdout, indent=1)
    sys.stdout.write("\n")
