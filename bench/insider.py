"""The insider: a linked peer that seals properly what no honest channel would ever send.

Heads are put together at random from the words of the wire, with values that are at the edge of
what is allowed, or beyond.
"""

from random import Random

import msgspec

from bench.dialler import Dialler
from bench.mutation import flip
from rookery.identity.identity import Identity
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.uri import LinkAddress

_TYPES = ("path", "peer", "connect", "stream", "echo", "packets", "count", "thtp", "sock", "", "x")
_NUMBERS = (0, 1, 2, 3, 4, 5, 50, 51, 2048, 2049, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 63, -1)
_VALUES: tuple[object, ...] = (
    None,
    True,
    False,
    "",
    "a" * 300,
    [],
    {},
    [[]],
    1.5,
    1e300,
    *_NUMBERS,
)
_PATH = {"type": "udp4", "ip": "127.0.0.1", "port": 9}
_ROUND_OF_IDS = 40


class Insider:
    """Attacks from inside an encrypted link; what is answered there is nobody else's business."""

    def __init__(self, address: LinkAddress, identity: Identity, seed: int) -> None:
        self._dice = Random(seed)
        self._dialler = Dialler(address, identity)
        self._dialler.wait_until_up()

    def attack(self, count: int) -> None:
        for _ in range(count):
            self._dialler.send_inner(self._inner())
        self._dialler.drain()

    def close(self) -> None:
        self._dialler.close()

    def _inner(self) -> bytes:
        dice = self._dice
        head = msgspec.json.encode(self._head())
        inner = len(head).to_bytes(2, "big") + head + dice.randbytes(dice.randrange(64))
        return flip(dice, inner) if dice.random() < 0.1 else inner

    def _head(self) -> JsonObject:
        dice = self._dice
        head: JsonObject = {"c": dice.randrange(_ROUND_OF_IDS)}
        choices: JsonObject = {
            "type": dice.choice(_TYPES),
            "seq": dice.choice((1, 2, 3, dice.choice(_NUMBERS))),
            "ack": dice.choice((0, 1, 2, dice.choice(_NUMBERS))),
            "miss": [dice.choice(_NUMBERS) for _ in range(dice.choice((0, 1, 2, 300)))],
            "end": dice.choice((True, True, 1)),
            "err": dice.choice(_VALUES),
            "paths": [_PATH, dice.choice(_VALUES)] * dice.choice((1, 20)),
            "peer": dice.choice(("a" * 52, *_VALUES)),
            "path": dice.choice((_PATH, *_VALUES)),
        }
        for key in dice.sample(sorted(choices), dice.choice((1, 1, 2, 2, 3, 5))):
            head[key] = choices[key] if dice.random() < 0.8 else dice.choice(_VALUES)
        if dice.random() < 0.02:
            head["c"] = dice.choice(_VALUES)
        return head
