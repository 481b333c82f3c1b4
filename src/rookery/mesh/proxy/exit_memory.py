"""Exit memory: which exits worked, failed or were full when we used them.

A success counts for ten minutes, so that a site sees one address of ours. A failure is remembered
for a minute and only puts the exit last: when no other is left it is tried again, as a server that
refused a connection may be back a second later.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from rookery.mesh.membership.membership import Member
from rookery.mesh.proxy.exit_class import offers
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.opening import Target
from rookery.wire.mesh.certificate import EXIT
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import Record

SUCCESS_S = 600.0
FAILURE_S = 60.0
LOAD_S = 60.0
ENTRIES_MAX = 4096
LOAD_FULL = 256

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Exit(msgspec.Struct, frozen=True):
    """A member that calls itself an exit, and the cost of the path there."""

    hashname: str
    services: tuple[str, ...]
    cost_us: int


class _ExpiringTable(Generic[Key, Value]):
    """A bounded table whose entries end by themselves, the oldest first if need be."""

    def __init__(self, lasting_s: float) -> None:
        self._lasting_s = lasting_s
        self._entries: dict[Key, tuple[float, Value]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key, now: float) -> Value | None:
        until, value = self._entries.get(key, (now, None))
        return value if now < until else None

    def put(self, key: Key, value: Value, now: float) -> None:
        self._entries.pop(key, None)
        if len(self._entries) >= ENTRIES_MAX:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = now + self._lasting_s, value

    def drop(self, key: Key) -> None:
        self._entries.pop(key, None)


class ExitMemory:
    """Shared by all connections of a node."""

    def __init__(self) -> None:
        self._succeeded: _ExpiringTable[Target, str] = _ExpiringTable(SUCCESS_S)
        self._failed: _ExpiringTable[tuple[str, Target | None], ProxyFault] = _ExpiringTable(
            FAILURE_S
        )
        self._loads: _ExpiringTable[str, int] = _ExpiringTable(LOAD_S)

    @property
    def size(self) -> int:
        return len(self._succeeded) + len(self._failed) + len(self._loads)

    def order(self, target: Target, exits: Iterable[Exit], now: float) -> list[str]:
        """Whom to ask, best first: of those that offer it, by path cost and load."""
        offering = [one for one in exits if any(offers(word, target) for word in one.services)]
        offering.sort(key=lambda one: (self._price(one, now), one.hashname))
        return self.arrange(target, [one.hashname for one in offering], now)

    def arrange(self, target: Target, hashnames: Sequence[str], now: float) -> list[str]:
        """The same exits: the one that worked first, those that failed last."""
        sticky = self._succeeded.get(target, now)

        def rank(hashname: str) -> int:
            if hashname == sticky:
                return 0
            return 2 if self.failure(target, hashname, now) is not None else 1

        return sorted(dict.fromkeys(hashnames), key=rank)

    def failure(self, target: Target, hashname: str, now: float) -> ProxyFault | None:
        """How it last failed us, if that is remembered."""
        return self._failed.get((hashname, None), now) or self._failed.get((hashname, target), now)

    def succeeded(self, target: Target, hashname: str, now: float) -> None:
        self._succeeded.put(target, hashname, now)
        self._failed.drop((hashname, target))
        self._failed.drop((hashname, None))

    def failed(self, target: Target, hashname: str, fault: ProxyFault, now: float) -> None:
        """It answered, and could not."""
        self._forget_success(target, hashname, now)
        self._failed.put((hashname, None if fault.is_the_exits else target), fault, now)

    def silent(self, target: Target, hashname: str, now: float) -> None:
        """It did not answer in time, or a later attempt was faster."""
        self._forget_success(target, hashname, now)
        self._failed.put((hashname, None), ProxyFault.TIMEOUT, now)

    def loaded(self, hashname: str, load: int, now: float) -> None:
        self._loads.put(hashname, load, now)

    def _forget_success(self, target: Target, hashname: str, now: float) -> None:
        if self._succeeded.get(target, now) == hashname:
            self._succeeded.drop(target)

    def _price(self, one: Exit, now: float) -> float:
        # As in a queue: the last free seats are by far the slowest ones.
        load = self._loads.get(one.hashname, now) or 0
        return one.cost_us * LOAD_FULL / (LOAD_FULL - load)


Cost = Callable[[NodeId], int | None]  # of the best route there; None when nothing leads there


def known_exits(
    members: Mapping[NodeId, Member], records: Mapping[NodeId, Record], cost_us: Cost
) -> list[Exit]:
    """The role comes from the certificate: a member cannot give it to itself."""
    found = []
    for node, record in records.items():
        member = members.get(node)
        if member is None or EXIT not in member.roles or not record.services:
            continue
        cost = cost_us(node)
        if cost is not None:
            found.append(Exit(member.hashname, record.services, cost))
    return found
