"""The race of one connection over several exits; who answers first has won.

    asked at    0 ms   250 ms   500 ms          a failure calls the next one in at once
                A ───────────────────────?      at most three are under way
                       B ──────────✗ C ──✓      the others are called off

Events and the time go in, orders come out: `BeginAttempt`, `CancelAttempt`. The race ends with the
first success, or when all attempts have failed.
"""

from collections import deque
from collections.abc import Sequence

import msgspec

from rookery.mesh.proxy.exit_memory import ExitMemory
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.opening import Target


class RaceSettings(msgspec.Struct, frozen=True):
    stagger_s: float = 0.25
    width: int = 3
    exits_max: int = 16
    attempt_s: float = 10.0  # for one exit
    whole_s: float = 30.0  # for all of them


class BeginAttempt(msgspec.Struct, frozen=True):
    exit: str


class CancelAttempt(msgspec.Struct, frozen=True):
    exit: str


RaceOrder = BeginAttempt | CancelAttempt

# What tells most about the target first.
_INFORMATIVE = (
    ProxyFault.REFUSED,
    ProxyFault.GONE,
    ProxyFault.IN_USE,
    ProxyFault.UNREACHABLE,
    ProxyFault.TIMEOUT,
    ProxyFault.DNS,
    ProxyFault.INVALID,
    ProxyFault.POLICY,
    ProxyFault.BUSY,
)


class ExitAttempts:
    """One connection's search; `exits` best first."""

    def __init__(
        self,
        target: Target,
        exits: Sequence[str],
        memory: ExitMemory,
        now: float,
        settings: RaceSettings | None = None,
    ) -> None:
        self._settings = settings or RaceSettings()
        self._target = target
        self._memory = memory
        self._waiting = deque(exits[: self._settings.exits_max])
        self._begun: dict[str, float] = {}
        self._answers: list[ProxyFault] = []
        self._silences: list[ProxyFault] = []
        self._next_at = now
        self._over_at = now + self._settings.whole_s
        self.winner: str | None = None

    @property
    def is_over(self) -> bool:
        return self.winner is not None or not (self._waiting or self._begun)

    @property
    def fault(self) -> ProxyFault:
        """Of a lost race, the answer that says most; exits that gave none say little."""
        faults = self._answers or self._silences
        return min(faults, key=_INFORMATIVE.index, default=ProxyFault.UNREACHABLE)

    @property
    def deadline(self) -> float | None:
        if self.is_over:
            return None
        times = [begun + self._settings.attempt_s for begun in self._begun.values()]
        if self._waiting and len(self._begun) < self._settings.width:
            times.append(self._next_at)
        return min(*times, self._over_at)

    def tick(self, now: float) -> list[RaceOrder]:
        """Whatever is due; the first call begins the race."""
        if self.is_over:
            return []
        orders: list[RaceOrder] = []
        if now >= self._over_at:
            self._waiting.clear()
        for exit_, begun in list(self._begun.items()):
            if now >= min(begun + self._settings.attempt_s, self._over_at):
                orders.append(self._timed_out(exit_, now))
        return orders + self._begin_due(now)

    def succeeded(self, exit_: str, load: int, now: float) -> list[RaceOrder]:
        """The first one wins; earlier attempts are remembered as slower."""
        begun = self._begun.pop(exit_, None)
        if begun is None or self.winner is not None:
            return [CancelAttempt(exit_)]
        self.winner = exit_
        self._memory.loaded(exit_, load, now)
        self._memory.succeeded(self._target, exit_, now)
        for other, since in self._begun.items():
            if since < begun:
                self._memory.silent(self._target, other, now)
        self._waiting.clear()
        others, self._begun = self._begun, {}
        return [CancelAttempt(other) for other in others]

    def failed(self, exit_: str, fault: ProxyFault, load: int, now: float) -> list[RaceOrder]:
        """An answer that says no."""
        if self._begun.pop(exit_, None) is None:
            return []
        self._memory.loaded(exit_, load, now)
        self._memory.failed(self._target, exit_, fault, now)
        self._answers.append(fault)
        return self._lost_one(now)

    def unreached(self, exit_: str, now: float) -> list[RaceOrder]:
        """No answer, and none will come: the exit itself is gone."""
        if self._begun.pop(exit_, None) is None:
            return []
        self._memory.silent(self._target, exit_, now)
        self._silences.append(ProxyFault.UNREACHABLE)
        return self._lost_one(now)

    def _timed_out(self, exit_: str, now: float) -> RaceOrder:
        del self._begun[exit_]
        self._memory.silent(self._target, exit_, now)
        self._silences.append(ProxyFault.TIMEOUT)
        self._next_at = now
        return CancelAttempt(exit_)

    def _lost_one(self, now: float) -> list[RaceOrder]:
        self._next_at = now
        return self._begin_due(now)

    def _begin_due(self, now: float) -> list[RaceOrder]:
        if not self._waiting or len(self._begun) >= self._settings.width or now < self._next_at:
            return []
        exit_ = self._waiting.popleft()
        self._begun[exit_] = now
        self._next_at = now + self._settings.stagger_s
        return [BeginAttempt(exit_)]
