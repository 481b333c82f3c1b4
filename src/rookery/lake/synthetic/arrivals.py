"""Arrivals: when device reports are received, and into which spool they go."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rookery.lake.synthetic.device_reports import DeviceReports
from rookery.lake.synthetic.faults import SLOW_ROLE, DeviceFaults, ReportDelay
from rookery.lake.synthetic.noise import Ints, below, noise, pair, share
from rookery.lake.synthetic.population import Population
from rookery.lake.synthetic.timeline import SyntheticTimeline

_CHANNEL = 30
_DETOUR_SHARE = 0.01
_SLOW_SHARE = 0.2
_NEVER_MS = 1 << 62


class ReportArrivals(NamedTuple):
    """Reports, by device and step."""

    device: Ints
    step: Ints
    received_ms: Ints
    spool: Ints  # number of the hub

    def take(self, index: Ints) -> "ReportArrivals":
        return ReportArrivals(*(column[index] for column in self))

    def and_(self, other: "ReportArrivals") -> "ReportArrivals":
        return ReportArrivals(*(np.concatenate(both) for both in zip(self, other, strict=True)))


class ArrivalOrder:
    """All device reports, window by window, in order of arrival."""

    def __init__(
        self,
        population: Population,
        timeline: SyntheticTimeline,
        faults: DeviceFaults,
        reports: DeviceReports,
    ) -> None:
        self._population = population
        self._timeline = timeline
        self._faults = faults
        self._reports = reports
        spans = faults.spans()
        self._spans: Ints = np.array(
            [(each.device, each.first, each.last) for each in spans], dtype=np.int64
        ).reshape(-1, 3)
        self._waiting = no_arrivals()  # sent, not received yet
        self._strays = self._late(faults.delays).and_(self._repeats())

    def windows(self, day: int, reports_max: int) -> Iterator[ReportArrivals]:
        """Of one day after the other, each with about so many reports."""
        a_day = self._timeline.steps_a_day
        size = max(min(reports_max // self._population.devices, a_day), 1)
        for first in range(day * a_day, (day + 1) * a_day, size):
            last = min(first + size, (day + 1) * a_day)
            come = self._waiting.and_(self._regular(first, last)).and_(self._between(first, last))
            is_over = last == self._timeline.steps
            end_ms = _NEVER_MS if is_over else self._timeline.ms(last * self._timeline.interval_s)
            order = np.argsort(come.received_ms, kind="stable")
            ready = int(np.searchsorted(come.received_ms, end_ms, sorter=order))
            self._waiting = come.take(order[ready:])
            yield come.take(order[:ready])

    def _between(self, first: int, last: int) -> ReportArrivals:
        """Late and repeated reports that arrive during these steps."""
        begin, end = (self._timeline.ms(step * self._timeline.interval_s) for step in (first, last))
        end = _NEVER_MS if last == self._timeline.steps else end
        come = self._strays.received_ms
        return self._strays.take(np.nonzero((come >= begin) & (come < end))[0])

    def _regular(self, first: int, last: int) -> ReportArrivals:
        is_received = np.ones((last - first, self._population.devices), dtype=bool)
        is_near = (self._spans[:, 1] < last) & (self._spans[:, 2] > first)
        for device, begin, end in self._spans[is_near]:
            is_received[max(begin - first, 0) : end - first, device] = False
        step, device = np.nonzero(is_received)
        step += first
        received_ms = self._reports.sampled_ms(device, step) + self._latency_ms(device, step)
        return ReportArrivals(device, step, received_ms, self._hub(device))

    def _latency_ms(self, device: Ints, step: Ints) -> Ints:
        """Short, except for some reports that later ones overtake."""
        bits = noise(self._population.seed, _CHANNEL, pair(device, step))
        is_slow = self._population.role[device] == SLOW_ROLE
        is_detour = share(bits, 0) < np.where(is_slow, _SLOW_SHARE, _DETOUR_SHARE)
        interval_ms = self._timeline.interval_s * 1000
        detour_ms = interval_ms // 2 + below(bits, 1, 1 << 16) * interval_ms * 2 // (1 << 16)
        latency: Ints = 20 + below(bits, 2, 230) + np.where(is_detour, detour_ms, 0)
        return latency

    def _hub(self, device: Ints) -> Ints:
        return device % len(self._population.hubs)

    def _late(self, delays: list[ReportDelay]) -> ReportArrivals:
        spans = [np.arange(each.first, each.last, dtype=np.int64) for each in delays]
        counts = [len(each) for each in spans]
        empty = np.zeros(0, dtype=np.int64)
        step = np.concatenate([empty, *spans])
        device = np.repeat(np.array([each.device for each in delays], dtype=np.int64), counts)
        begin = np.repeat(np.array([each.arrives_ms for each in delays], dtype=np.int64), counts)
        nth = np.concatenate([empty, *(np.arange(count) for count in counts)])
        # Kept reports arrive in a burst, in order.
        return ReportArrivals(device, step, begin + nth * 2, self._hub(device))

    def _repeats(self) -> ReportArrivals:
        """Reports sent again because the answer was lost, to another hub if there is one."""
        device, step = self._faults.repeated
        first_ms = self._reports.sampled_ms(device, step) + self._latency_ms(device, step)
        received_ms = np.minimum(first_ms + self._faults.repeat_delay_ms, self._timeline.end_ms - 1)
        return ReportArrivals(device, step, received_ms, self._hub(device + 1))


def no_arrivals() -> ReportArrivals:
    empty = np.zeros(0, dtype=np.int64)
    return ReportArrivals(empty, empty, empty, empty)
