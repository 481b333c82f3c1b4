"""Faults of synthetic devices: which device has which, and when. Its role decides the kind.

0 nothing                       6 clock an hour ahead        12–17 a site without power
1 reboots                       7 a clone                    18–23 some of everything
2 outages                       8 counters of 32 bits; too hot on the last day of a week
3 reports that come late        9 dies for good              all: repeats, detours, poison
4 clock at 1970 after a boot   10 interface resets; too busy on the same day
5 clock at 2040                11 often overtaken
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from rookery.errors import UsageError
from rookery.lake.synthetic.noise import Flags, Ints, pair
from rookery.lake.synthetic.population import CLONED_ROLE, Population
from rookery.lake.synthetic.timeline import DAY_S, HOUR_S, SyntheticTimeline

SLOW_ROLE = 11
SITE_ROLES = range(12, 18)
HOT_ROLE, BUSY_ROLE = 8, 10
POISONS = ("load NaN", "mem above 1", "disk below 0", "up_s below 0", "received_bytes below 0")

Cause = Literal["power", "dead", "site", "not there"]
ClockKind = Literal["1970", "2040", "ahead"]
OverloadKind = Literal["temperature", "device load"]

_CUT_S = 45 * 60
_CUT_AT_S = 11 * HOUR_S + 20 * 60
_CLONE_S = 6 * HOUR_S
_MIXED_A_DAY = 0.3
_WEEK_DAYS = 7
_OVERLOAD_S = {"temperature": (13 * HOUR_S, 16 * HOUR_S), "device load": (20 * HOUR_S, 22 * HOUR_S)}
_TRIES = 1000


class SpanIndex:
    """Looks up by the million which span of a device covers a step; a device's never overlap."""

    def __init__(self, spans: Iterable[tuple[int, int, int]]) -> None:
        rows = np.array(list(spans), dtype=np.int64).reshape(-1, 3)
        self.order: Ints = np.lexsort((rows[:, 1], rows[:, 0]))
        self._device, self._first, self._last = rows[self.order].T
        self._keys = pair(self._device, self._first)

    def find(self, device: Ints, step: Ints) -> Ints:
        """The number of the span, as they were given, or -1."""
        if not len(self._keys):
            return np.full(len(device), -1, dtype=np.int64)
        index = np.searchsorted(self._keys, pair(device, step), side="right") - 1
        is_in = (index >= 0) & (self._device[index] == device) & (step < self._last[index])
        found: Ints = np.where(is_in, self.order[index], -1)
        return found


class DeviceSilence(NamedTuple):
    device: int
    first: int  # step
    last: int  # the first step with a report again
    cause: Cause


class ReportDelay(NamedTuple):
    """Reports that a device kept until it reached a hub."""

    device: int
    first: int
    last: int
    arrives_ms: int


class WrongClock(NamedTuple):
    device: int
    first: int
    last: int
    kind: ClockKind


class OverloadSpan(NamedTuple):
    """Whole hours in which a device is hotter or busier than usual."""

    device: int
    first: int
    last: int
    kind: OverloadKind


class FaultStep(NamedTuple):
    """Something at one step of a device."""

    device: int
    step: int


@dataclass
class DeviceFaults:
    """All faults, drawn once for all days. Silences and delays of a device do not overlap."""

    population: Population
    timeline: SyntheticTimeline
    repeats: float  # share of the reports
    poison: float
    silences: list[DeviceSilence] = field(default_factory=list)
    delays: list[ReportDelay] = field(default_factory=list)
    clocks: list[WrongClock] = field(default_factory=list)
    boots: list[FaultStep] = field(default_factory=list)
    resets: list[FaultStep] = field(default_factory=list)
    overloads: list[OverloadSpan] = field(default_factory=list)
    _taken: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = np.random.Generator(np.random.PCG64([self.population.seed, 7]))
        for device in range(self.population.devices):
            self.boots.append(FaultStep(device, -int(self.population.up_steps[device])))
        for device in range(self.population.originals):
            self._plan(device, int(self.population.role[device]))
        for clone in range(self.population.originals, self.population.devices):
            self._clone(clone)
        self.boots.sort()
        self._draw_repeats()

    def _plan(self, device: int, role: int) -> None:
        for day in range(self.timeline.days):
            match role:
                case 1:
                    self._reboot(device, day)
                    self._reboot(device, day)
                case 2:
                    self._outage(device, day)
                case 3:
                    self._delay(device, day)
                case 4 | 5 | 6 if day % 2 == 0:
                    self._wrong_clock(device, day, role)
                case 10:
                    step = self._step(device, day)
                    self.resets.append(FaultStep(device, step))
                case _ if role >= SITE_ROLES.stop:
                    self._mixed(device, day)
            if day % _WEEK_DAYS == _WEEK_DAYS - 1:
                self._overload(device, day, role)
        if role == 9:
            self._silence(device, int(self.timeline.steps * 0.6), self.timeline.steps, "dead")
        elif role in SITE_ROLES:
            first, last = self.cut
            self._silence(device, first, last, "site")

    @property
    def cut(self) -> tuple[int, int]:
        """First and last step of the power cut of the sites."""
        begin = (self.timeline.days // 2) * DAY_S + _CUT_AT_S
        return self.timeline.step(begin), self.timeline.step(begin + _CUT_S)

    def _mixed(self, device: int, day: int) -> None:
        for plan in (self._reboot, self._outage, self._delay):
            if self._random.random() < _MIXED_A_DAY:
                plan(device, day)

    def _step(self, device: int, day: int, steps: int = 1) -> int:
        """A step of the day after which so many more are free of other faults."""
        a_day = self.timeline.steps_a_day
        taken = self._taken.setdefault(device, [])
        for _ in range(_TRIES):
            first = day * a_day + 1 + int(self._random.integers(0, max(a_day - steps - 1, 1)))
            last = min(first + steps, self.timeline.steps)
            if all(last < begin or end < first for begin, end in taken):
                taken.append((first, last))
                return first
        raise UsageError("an interval this long leaves no room for the faults of a day")

    def _steps(self, low_s: int, high_s: int) -> int:
        return max(self.timeline.step(float(self._random.integers(low_s, high_s))), 1)

    def _reboot(self, device: int, day: int) -> None:
        self.boots.append(FaultStep(device, self._step(device, day)))

    def _outage(self, device: int, day: int) -> None:
        steps = self._steps(5 * 60, 3 * HOUR_S)
        first = self._step(device, day, steps)
        self._silence(device, first, first + steps, "power")

    def _silence(self, device: int, first: int, last: int, cause: Cause) -> None:
        self.silences.append(DeviceSilence(device, first, last, cause))
        if last < self.timeline.steps:
            self.boots.append(FaultStep(device, last))

    def _delay(self, device: int, day: int) -> None:
        steps = self._steps(10 * 60, 90 * 60)
        first = self._step(device, day, steps)
        hours = 60.0 if day == 0 else float(self._random.uniform(1.0, 20.0))
        seconds = (first + steps) * self.timeline.interval_s + hours * HOUR_S
        arrives_ms = min(self.timeline.ms(seconds), self.timeline.end_ms - 1000)
        self.delays.append(ReportDelay(device, first, first + steps, arrives_ms))

    def _wrong_clock(self, device: int, day: int, role: int) -> None:
        kind: ClockKind = "1970" if role == 4 else "2040" if role == 5 else "ahead"
        steps = max(self.timeline.step({"1970": 1800, "2040": 3600, "ahead": 7200}[kind]), 1)
        first = self._step(device, day, steps)
        self.clocks.append(WrongClock(device, first, first + steps, kind))
        if kind == "1970":
            self.boots.append(FaultStep(device, first))

    def _overload(self, device: int, day: int, role: int) -> None:
        kinds: dict[int, OverloadKind] = {HOT_ROLE: "temperature", BUSY_ROLE: "device load"}
        if role in kinds:
            since, until = (self.timeline.step(day * DAY_S + at) for at in _OVERLOAD_S[kinds[role]])
            self.overloads.append(OverloadSpan(device, since, until, kinds[role]))

    def _clone(self, device: int) -> None:
        steps = max(self.timeline.step(_CLONE_S), 1)
        first = self._step(device, self.timeline.days // 2, steps)
        self.silences.append(DeviceSilence(device, -(1 << 20), first, "not there"))
        self.silences.append(DeviceSilence(device, first + steps, 1 << 30, "not there"))

    def _draw_repeats(self) -> None:
        """Which reports come again, and how much later."""
        self.repeated = self._reports(self.repeats)
        delay_ms = self._random.integers(1_000, 3 * HOUR_S * 1000, len(self.repeated[0]))
        self.repeat_delay_ms: Ints = delay_ms

    def _reports(self, share: float) -> tuple[Ints, Ints]:
        """Devices and steps of a share of the reports that are sent in time, each once."""
        devices, steps = self.population.originals, self.timeline.steps
        number = round(share * devices * steps)
        keys = np.unique(self._random.integers(0, devices * steps, number, dtype=np.int64))
        device, step = keys % devices, keys // devices
        is_usual = ~self.is_away(device, step)
        return device[is_usual], step[is_usual]

    def is_away(self, device: Ints, step: Ints) -> Flags:
        """True where a device is silent or keeps its reports."""
        spans = SpanIndex((each.device, each.first, each.last) for each in self.spans())
        is_one: Flags = spans.find(device, step) >= 0
        return is_one

    def spans(self) -> list[DeviceSilence | ReportDelay]:
        """Steps of which no report arrives in time."""
        return [*self.silences, *self.delays]


def cloned(population: Population) -> dict[int, int]:
    """The clone of each device that has one."""
    pairs = range(population.originals, population.devices)
    owners = {int(population.owner[clone]): clone for clone in pairs}
    assert all(population.role[owner] == CLONED_ROLE for owner in owners)
    return owners
