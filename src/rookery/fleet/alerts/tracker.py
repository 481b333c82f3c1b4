"""Alert tracker: conditions found at each look become alerts: raised, changed and resolved.

                 found                     held raise_after_s
    (nothing) ──────────▶ pending ────────────────────────────▶ open ──┐ found: changed, if it is
        ▲                    │ not found                         │  ▲  │ not what it was
        └────────────────────┘                         not found │  └──┘
        ▲                                                        ▼  ▲ found again: the same alert
        └───────────────── absent for clear_after_s ────────── absent

What could not be looked at changes nothing: a node that does not answer is not a mesh in order.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from rookery.fleet.alerts.alert import (
    RANKS,
    AlertChanged,
    AlertCondition,
    AlertRaised,
    AlertResolved,
    AlertTransition,
    fitted,
)


class AlertTrackerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a condition has to last, and how many there may be."""

    raise_after_s: float = 15.0
    clear_after_s: float = 30.0
    change_s: float = 10.0  # between two changes of one alert, unless it gets worse
    open_max: int = 500
    pending_max: int = 1000


class _OpenAlert(msgspec.Struct):
    condition: AlertCondition
    changed_at: float
    absent_since: float | None = None


class AlertTracker:
    """`handle` each look; a tracker that takes over starts with the alerts left open."""

    def __init__(self, limits: AlertTrackerLimits, opened: Iterable[AlertCondition] = ()) -> None:
        self._limits = limits
        self._pending: dict[str, float] = {}  # since when
        self._open = {each.key: _OpenAlert(each, float("-inf")) for each in opened}
        self.suppressed = 0  # alerts that there was no room for

    @property
    def open_keys(self) -> frozenset[str]:
        """Keys of open alerts, for rules with hysteresis."""
        return frozenset(self._open)

    def handle(
        self, conditions: Sequence[AlertCondition], now: float, looked_at: Collection[str]
    ) -> list[AlertTransition]:
        """What is news after a look at these kinds of things."""
        found = {each.key: each for each in map(fitted, conditions)}
        transitions: list[AlertTransition] = []
        worst_first = sorted(found.values(), key=lambda each: -RANKS[each.severity])
        for condition in worst_first:
            transitions += self._found(condition, now)
        for key in self._pending.keys() - found.keys():
            del self._pending[key]
        absorbers = _absorbers(found)
        for key in self._open.keys() - found.keys():
            transitions += self._not_found(key, now, looked_at, absorbers.get(key))
        return transitions

    def _found(self, condition: AlertCondition, now: float) -> list[AlertTransition]:
        known = self._open.get(condition.key)
        if known is None:
            return self._pend(condition, now)
        known.absent_since = None
        how = _difference(known.condition, condition)
        if how is None:
            return []
        if how != "worse" and now - known.changed_at < self._limits.change_s:
            return []
        known.condition, known.changed_at = condition, now
        return [AlertChanged(condition, how)]

    def _pend(self, condition: AlertCondition, now: float) -> list[AlertTransition]:
        key = condition.key
        if key not in self._pending and len(self._pending) >= self._limits.pending_max:
            self.suppressed += 1
            return []
        first = self._pending.setdefault(key, now)
        if not condition.is_immediate and now - first < self._limits.raise_after_s:
            return []
        if len(self._open) >= self._limits.open_max:
            self.suppressed += 1
            return []
        del self._pending[key]
        self._open[key] = _OpenAlert(condition, now)
        return [AlertRaised(condition, first if condition.began_at is None else condition.began_at)]

    def _not_found(
        self, key: str, now: float, looked_at: Collection[str], absorber: AlertCondition | None
    ) -> list[AlertTransition]:
        known = self._open[key]
        if absorber is not None:
            known.absent_since = None
            if absorber.key not in self._open:  # it has to last as well
                return []
            del self._open[key]
            return [AlertResolved(key, now, f"part of: {absorber.title}")]
        if known.condition.kind not in looked_at:
            return []
        if known.absent_since is None:
            known.absent_since = now
        if now - known.absent_since < self._limits.clear_after_s:
            return []
        del self._open[key]
        return [AlertResolved(key, known.absent_since)]


def _absorbers(found: Mapping[str, AlertCondition]) -> dict[str, AlertCondition]:
    return {key: each for each in found.values() for key in each.absorbs}


def _difference(
    before: AlertCondition, after: AlertCondition
) -> Literal["worse", "grew", "otherwise"] | None:
    if RANKS[after.severity] > RANKS[before.severity]:
        return "worse"
    if set(after.entities) - set(before.entities):
        return "grew"
    return None if _wording(before) == _wording(after) else "otherwise"


def _wording(condition: AlertCondition) -> tuple[str, str, str, str, tuple[str, ...]]:
    """What people see of it."""
    each = condition
    return each.severity, each.title, each.cause, each.note, each.entities
