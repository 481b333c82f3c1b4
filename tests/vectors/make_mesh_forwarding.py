"""Writes mesh-forwarding.json, straight from docs/protocol/mesh-forwarding.md, without rookery.

Run it with the project's Python: `python tests/vectors/make_mesh_forwarding.py`. The file it
writes is committed; a test checks that both agree.
"""

import json
from hashlib import sha256
from pathlib import Path

Json = dict[str, object]

PACKET, ECHO_REQUEST, ECHO_REPLY, PATH_ERROR = range(4)
FALLBACK, DROP, RELIABLE_OK = range(3)
NO_WAY, HOP_LIMIT, REFUSED = 1, 2, 3

PAYLOAD = b"sealed from a to d"
TOKEN = bytes.fromhex("0123456789abcdef")
NODES = {name: sha256(f"node {name}".encode()).digest()[:8] for name in "abcdefg"}


def head(
    count: int,
    *,
    cursor: int,
    hops: int,
    kind: int = PACKET,
    datagram_class: int = FALLBACK,
    repairs: int = 0,
    mark: int = 0,
) -> bytes:
    return bytes([1, mark << 5 | kind << 2 | datagram_class, hops, cursor, count, repairs])


def body(route: str, payload: bytes) -> bytes:
    return b"".join(NODES[name] for name in route) + payload


def frames() -> list[Json]:
    def frame(name: str, route: str, payload: bytes, head: bytes) -> Json:
        return {
            "name": name,
            "route": [NODES[node].hex() for node in route],
            "payload": payload.hex(),
            "head": head.hex(),
            "body": body(route, payload).hex(),
        }

    reply = TOKEN + (1500).to_bytes(4, "big")
    return [
        frame("packet, at its first hop", "abcd", PAYLOAD, head(4, cursor=1, hops=16)),
        frame(
            "packet of class drop, repaired and marked, at its destination",
            "abecd",
            PAYLOAD,
            head(5, cursor=4, hops=13, datagram_class=DROP, repairs=1, mark=1),
        ),
        frame(
            "echo request",
            "abd",
            TOKEN.ljust(132, b"\0"),
            head(3, cursor=1, hops=16, kind=ECHO_REQUEST),
        ),
        frame(
            "echo reply, held 1500 us", "dba", reply, head(3, cursor=1, hops=16, kind=ECHO_REPLY)
        ),
        frame(
            "path error: b has no way to c",
            "ba",
            bytes([NO_WAY]) + NODES["c"] + PAYLOAD[:8],
            head(2, cursor=1, hops=16, kind=PATH_ERROR, datagram_class=RELIABLE_OK),
        ),
    ]


def steps() -> list[Json]:
    """What node b does with what it gets from a."""

    def step(
        name: str,
        got: tuple[bytes, bytes],
        sends: tuple[str, bytes, bytes] | None,
        *,
        usable: str = "ace",
        detour: str | None = None,
        avoid: str = "",
        relays: bool = True,
    ) -> Json:
        return {
            "name": name,
            "usable": [NODES[node].hex() for node in usable],
            "relays": relays,
            "avoid": sorted(NODES[node].hex() for node in avoid),
            "detour": None if detour is None else [NODES[node].hex() for node in detour],
            "got": {"head": got[0].hex(), "body": got[1].hex()},
            "sends": None
            if sends is None
            else {"to": NODES[sends[0]].hex(), "head": sends[1].hex(), "body": sends[2].hex()},
        }

    def error(reason: int, failed: str) -> tuple[str, bytes, bytes]:
        told = bytes([reason]) + NODES[failed] + PAYLOAD[:8]
        back = head(2, cursor=1, hops=16, kind=PATH_ERROR, datagram_class=RELIABLE_OK)
        return "a", back, body("ba", told)

    whole = body("abcd", PAYLOAD)
    first = head(4, cursor=1, hops=16)
    told = body("abcd", bytes([NO_WAY]) + NODES["g"])
    return [
        step("relay", (first, whole), ("c", head(4, cursor=2, hops=15), whole)),
        step("the hop limit ends", (head(4, cursor=1, hops=1), whole), error(HOP_LIMIT, "c")),
        step("b does not relay", (first, whole), error(REFUSED, "c"), relays=False),
        step(
            "c is down: a way around c itself",
            (first, whole),
            ("e", head(5, cursor=2, hops=15, repairs=1), body("abefd", PAYLOAD)),
            usable="ae",
            detour="befd",
            avoid="ac",
        ),
        step(
            "the link to the destination is down: another way to it",
            (head(3, cursor=1, hops=16), body("abd", PAYLOAD)),
            ("e", head(4, cursor=2, hops=15, repairs=1), body("abed", PAYLOAD)),
            usable="ae",
            detour="bed",
            avoid="ad",
        ),
        step("c is down, no way", (first, whole), error(NO_WAY, "c"), usable="a", avoid="ac"),
        step(
            "c is down, two repairs are made already",
            (head(4, cursor=1, hops=16, repairs=2), whole),
            error(NO_WAY, "c"),
            usable="ae",
            detour="befd",
        ),
        step(
            "no error about an error, and no repair of one",
            (head(4, cursor=1, hops=16, kind=PATH_ERROR), told),
            None,
            usable="ae",
            detour="befd",
        ),
        step(
            "no error that is larger than its cause",
            (head(3, cursor=1, hops=16), body("abd", PAYLOAD[:8])),
            None,
            usable="a",
            avoid="ad",
        ),
    ]


def refused() -> list[Json]:
    """What node b refuses from a."""

    def frame(reason: str, head: bytes, body: bytes) -> Json:
        return {"reason": reason, "head": head.hex(), "body": body.hex()}

    def flawed(at: int, value: int) -> bytes:
        changed = bytearray(first)
        changed[at] = value
        return bytes(changed)

    first, whole = head(4, cursor=1, hops=16), body("abcd", PAYLOAD)
    return [
        frame("not a forward head", first[:5], whole),
        frame("unknown forward flags", flawed(1, 0x40), whole),
        frame("unknown forward flags", flawed(1, 0x80), whole),
        frame("unknown forward flags", flawed(1, 3), whole),
        frame("unknown forward flags", flawed(1, 4 << 2), whole),
        frame("route too short or too long", flawed(4, 1), whole),
        frame("route too short or too long", flawed(4, 18), whole),
        frame("cursor outside the route", flawed(3, 0), whole),
        frame("cursor outside the route", flawed(3, 4), whole),
        frame("impossible hop limit", flawed(2, 0), whole),
        frame("impossible hop limit", flawed(2, 17), whole),
        frame("impossible hop limit", flawed(2, 255), whole),
        frame("too many repairs", flawed(5, 3), whole),
        frame("route longer than the body", first, whole[:31]),
        frame("node twice in a route", first, body("abca", PAYLOAD)),
        frame("not for this node", first, body("acbd", PAYLOAD)),
        frame("not from the previous node", first, body("cbad", PAYLOAD)),
    ]


if __name__ == "__main__":
    vectors: Json = {
        "nodes": {name: node.hex() for name, node in NODES.items()},
        "frames": frames(),
        "steps": steps(),
        "refused": refused(),
    }
    target = Path(__file__).with_name("mesh-forwarding.json")
    target.write_text(json.dumps(vectors, indent=1) + "\n")
