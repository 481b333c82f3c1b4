"""Hostile input against a live endpoint on loopback: damaged, replayed and random packets.

    attacker ──packets by seed──▶ victim ◀──link──▶ friend
             ◀── must be nothing ─

Per transport: no exception escapes, memory stays flat, nothing is sent to a stranger, and the
friend's link works on as if nothing had been. The victim opens every handshake, so that the attack
gets as deep as it can; what limits there are, bench.flood shows.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from bench.attackers import Address, Attacker, DatagramAttacker, chunked, framed, websocket
from bench.ends import UNLIMITED
from bench.insider import Insider
from bench.mutation import Corpus, Mutator
from bench.process import answer, child
from bench.victim import CSIDS, Condition, Friendship, Health, Life, befriend, live
from rookery.identity.identity import Identity
from rookery.link.admission import AdmissionLimits
from rookery.link.discovery.announcement import announcements
from rookery.link.session.exchange import Exchange
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import NetPath
from rookery.wire.link.uri import LinkAddress

PACKETS = 200_000
GROWTH_MAX = 8 << 20  # tables that strangers fill are bounded, not empty

_BURST = 240
_WARM_UP = 0.1  # of the packets, until caches and tables have their size

INSIDE = "inside a link"
TRANSPORTS: dict[str, tuple[str, Callable[[Address, int], Attacker]]] = {
    "UDP": ("udp4", DatagramAttacker),
    "TCP, chunks": ("tcp4", chunked),
    "TCP, frames": ("tcp4", framed),
    "WebSocket": ("tcp4", websocket),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an attack led to."""

    transport: str
    seed: int
    processed: int
    malformed: int  # turned away by the gates,
    refused: int  # and by the endpoint
    failures: tuple[str, ...]
    answers: int
    growth: int  # bytes of memory after the warm-up
    friend: Health
    seconds: float

    def __str__(self) -> str:
        parts = [
            f"{self.transport}: seed {self.seed}",
            f"{self.processed:,} packets ({self.processed / self.seconds:,.0f}/s)",
            f"{self.malformed:,} malformed",
            f"{self.refused:,} refused",
            f"{len(self.failures)} exceptions",
            f"{self.answers} answers",
            f"memory {self.growth / 1e6:+.1f} MB",
            f"friend's link {self.friend}",
        ]
        return ", ".join(parts) + "".join(f"\n  {failure}" for failure in self.failures)


class Scene:
    """A victim and its friend, and the questions one may ask them."""

    def __init__(
        self, victim: Connection, friend: Connection, address: JsonObject, traitor: Identity
    ) -> None:
        self.address = LinkAddress.of_json(address)
        self.traitor = traitor  # whom the victim knows, too
        self._victim = victim
        self._friend = friend

    def condition(self) -> Condition:
        """The victim answers after everything that reached it before the question."""
        self._victim.send(None)
        return answer(self._victim, Condition)

    def health(self, meanwhile: Callable[[], None] | None = None) -> Health:
        """The friend tries its link, while something else may happen again and again."""
        self._friend.send(None)
        while meanwhile is not None and not self._friend.poll():
            meanwhile()
        return answer(self._friend, Health)

    def target(self, kind: str) -> Address:
        paths = (path for path in self.address.paths if isinstance(path, NetPath))
        return next(path.address for path in paths if path.kind == kind)

    def corpus(self) -> Corpus:
        """What a stranger and the friend really send, and an announcement."""
        health = self.health()
        stranger = Identity.generate(CSIDS, os.urandom)
        handshakes = [handshake(stranger, csid, self.address.keys[csid]) for csid in CSIDS]
        return Corpus([handshakes, announcements(stranger), health.packets], health.handshakes)


@contextmanager
def scene(limits: AdmissionLimits) -> Iterator[Scene]:
    """Both processes, linked."""
    friend, traitor = (Identity.generate(CSIDS, os.urandom) for _ in range(2))
    with child(live, Life(limits, (dict(friend.keys), dict(traitor.keys)))) as victim:
        address: JsonObject = answer(victim, dict)
        with child(befriend, Friendship(dict(friend.pairs), address)) as pipe:
            answer(pipe, type(None))
            yield Scene(victim, pipe, address, traitor)


def handshake(sender: Identity, csid: int, recipient_key: bytes) -> bytes:
    local, intermediates = sender.local[csid], sender.intermediates(csid)
    at = int(time.time())
    return Exchange(local, intermediates, recipient_key, at=at, random=os.urandom).handshake()


def fuzz(transport: str, packets: int, seed: int) -> Outcome:
    """Attack from outside, until the victim has processed so many packets."""
    kind, attacker_of = TRANSPORTS[transport]
    with scene(UNLIMITED) as stage:
        mutator = Mutator(stage.corpus(), seed)
        attacker = attacker_of(stage.target(kind), seed)

        def burst() -> None:
            attacker.attack([mutator.packet() for _ in range(_BURST)])

        outcome = _attack(stage, burst, packets, transport, seed)
        attacker.close()
        return replace(outcome, answers=attacker.answers)


def fuzz_inside(packets: int, seed: int) -> Outcome:
    """Attack from inside a link."""
    with scene(UNLIMITED) as stage:
        insider = Insider(stage.address, stage.traitor, seed)
        outcome = _attack(stage, lambda: insider.attack(_BURST), packets, INSIDE, seed)
        insider.close()
        return outcome


def _attack(
    stage: Scene, burst: Callable[[], None], packets: int, transport: str, seed: int
) -> Outcome:
    before, warm, began = stage.condition(), None, time.perf_counter()
    while (now := stage.condition()).processed - before.processed < packets:
        if warm is None and now.processed - before.processed >= packets * _WARM_UP:
            warm = now
        burst()
    seconds = time.perf_counter() - began
    friend, after = stage.health(), stage.condition()
    return Outcome(
        transport=transport,
        seed=seed,
        processed=now.processed - before.processed,
        malformed=_malformed(after) - _malformed(before),
        refused=sum(after.dropped.values()) - sum(before.dropped.values()),
        failures=after.failures,
        answers=0,
        growth=after.memory - (warm or before).memory,
        friend=friend,
        seconds=seconds,
    )


def main() -> None:
    """Attack every transport in full, with new seeds."""
    for transport in TRANSPORTS:
        print(fuzz(transport, PACKETS, _seed()), flush=True)
    print(fuzz_inside(PACKETS, _seed()), flush=True)


def _seed() -> int:
    return int.from_bytes(os.urandom(4), "big")


def _malformed(condition: Condition) -> int:
    return condition.datagrams.malformed + condition.streams.malformed
