"""Dialling: which members to try next, so that a thousand of them cost no more than a few.

    wanted ──due, and there is room──▶ trying ──linked──▶ gone from here
       ▲                                 │
       └──── back-off, 1 s to 5 min ─────┘ failed, or nothing for 30 s

Starts are spread at random, no more than `AT_ONCE_MAX` are tried at a time and `PER_S_MAX` begun in
a second: all nodes of a realm restarted at once must not drown each other (R4).
"""

from heapq import heappop, heappush

from rookery.identity.cipher_set import RandomBytes
from rookery.wire.mesh.node_id import NodeId

AT_ONCE_MAX = 32
PER_S_MAX = 16
START_S = 1.0  # the first try comes at random within this time
BACKOFF_S_MIN = 1.0
BACKOFF_S_MAX = 300.0
TRY_S_MAX = 30.0
NEWS_S = 5.0  # new addresses of a member are worth a try, but not more often than this


class _DialTarget:
    __slots__ = ("backoff_s", "due", "tried_s", "trying_until")

    def __init__(self, due: float) -> None:
        self.due = due
        self.backoff_s = BACKOFF_S_MIN
        self.trying_until: float | None = None
        self.tried_s: float | None = None


class Dialling:
    """The members that should have a link and have none."""

    __slots__ = ("_heap", "_next_start", "_random", "_trying", "_wishes")

    def __init__(self, random: RandomBytes) -> None:
        self._random = random
        self._wishes: dict[NodeId, _DialTarget] = {}
        self._heap: list[tuple[float, NodeId]] = []
        self._trying = 0
        self._next_start = 0.0

    def __len__(self) -> int:
        return len(self._wishes)

    def __contains__(self, node: object) -> bool:
        return node in self._wishes

    @property
    def trying(self) -> int:
        return self._trying

    def want(self, node: NodeId, now: float) -> None:
        """Dial a member when it is its turn."""
        if node not in self._wishes:
            wish = self._wishes[node] = _DialTarget(now + START_S * self._chance())
            self._enter(node, wish.due)

    def news(self, node: NodeId, now: float) -> None:
        """Its addresses changed: try soon, without waiting for the back-off."""
        wish = self._wishes.get(node)
        if wish is None or wish.trying_until is not None:
            return
        earliest = now if wish.tried_s is None else max(now, wish.tried_s + NEWS_S)
        due = earliest + START_S * self._chance()
        if due < wish.due:
            wish.due, wish.backoff_s = due, BACKOFF_S_MIN
            self._enter(node, due)

    def done(self, node: NodeId) -> None:
        """The link is there, or no longer wanted."""
        wish = self._wishes.pop(node, None)
        if wish is not None and wish.trying_until is not None:
            self._trying -= 1

    def failed(self, node: NodeId, now: float) -> None:
        wish = self._wishes.get(node)
        if wish is None or wish.trying_until is None:
            return
        wish.trying_until = None
        self._trying -= 1
        wish.due = now + wish.backoff_s * (0.75 + self._chance() / 2)
        wish.backoff_s = min(2 * wish.backoff_s, BACKOFF_S_MAX)
        self._enter(node, wish.due)

    @property
    def deadline(self) -> float | None:
        """When `take_due` has something to do."""
        self._discard_outdated()
        return max(self._heap[0][0], self._next_start) if self._heap else None

    def take_due(self, now: float) -> list[NodeId]:
        """The members to dial now; each is tried until it is `done` or `failed`."""
        due: list[NodeId] = []
        while (deadline := self.deadline) is not None and deadline <= now:
            node = self._heap[0][1]
            wish = self._wishes[node]
            if wish.trying_until is not None:
                heappop(self._heap)
                self.failed(node, now)
            elif self._trying >= AT_ONCE_MAX:
                self._next_start = now + 1 / PER_S_MAX
                break
            else:
                heappop(self._heap)
                self._begin(node, wish, now)
                due.append(node)
        return due

    def _begin(self, node: NodeId, wish: _DialTarget, now: float) -> None:
        wish.tried_s, wish.trying_until = now, now + TRY_S_MAX
        self._trying += 1
        self._next_start = max(self._next_start, now - 1) + 1 / PER_S_MAX
        self._enter(node, wish.trying_until)

    def _enter(self, node: NodeId, due: float) -> None:
        heappush(self._heap, (due, node))

    def _discard_outdated(self) -> None:
        while self._heap:
            due, node = self._heap[0]
            wish = self._wishes.get(node)
            if wish is not None and due == (wish.trying_until or wish.due):
                return
            heappop(self._heap)

    def _chance(self) -> float:
        """Between 0 and 1."""
        return self._random(1)[0] / 255
