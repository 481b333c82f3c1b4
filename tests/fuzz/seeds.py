"""Seeds: every byte string of the vectors, as they are and as targets cut them, and deep nesting.

Mutation seldom gets deep, but anybody can send as many brackets as fit a packet.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from rookery.wire.crow.message import Publish
from rookery.wire.crow.pubsub import SubscribeLatest
from tests.fuzz.crow_broker import step

VECTORS = Path(__file__).parents[1] / "vectors"
SEED_SIZE_MAX = 4096

_HEX = re.compile(r"(?:[0-9a-f]{2})+")


DEPTH = 2000

_DEEP_JSON = b"[" * DEPTH + b"]" * DEPTH
_DEEP = (
    _DEEP_JSON,
    b'{"x":' + _DEEP_JSON + b"}",
    b'{"code":1,"message":"x","data":' + _DEEP_JSON + b"}",
    b"\x81\xa1x" + b"\x91" * DEPTH + b"\xc0",
)


def seeds() -> list[bytes]:
    found = {seed for path in VECTORS.glob("*.json") for seed in _in(json.loads(path.read_text()))}
    return sorted({*_DEEP, *_told()} | {*_short(found)})


def _told() -> Iterator[bytes]:
    """What a broker may be told, one after the other and by two."""
    for qos in range(3):
        asked = SubscribeLatest(b"t", qos, 100, 1000).serialize()
        yield step(1, asked) * 3 + step(2, Publish(b"t", b"told").serialize()) * 2


def _short(found: set[bytes]) -> Iterator[bytes]:
    return (seed for seed in found if len(seed) <= SEED_SIZE_MAX)


def _in(value: object) -> Iterator[bytes]:
    if isinstance(value, str):
        yield bytes.fromhex(value) if _HEX.fullmatch(value) else value.encode()
    elif isinstance(value, list):
        for each in value:
            yield from _in(each)
    elif isinstance(value, dict):
        head, body = value.get("head"), value.get("body")
        if isinstance(head, str) and isinstance(body, str) and _HEX.fullmatch(head + body):
            yield bytes((len(head) // 2,)) + bytes.fromhex(head + body)
        yield json.dumps(value).encode()
        for each in value.values():
            yield from _in(each)
