"""Synthetic device reports: the content of each device's report at each step, as columns.

A counter is the integral of a rate that follows the day, so its value at any step is known without
the steps before. What it counted before the device (or the interface) started is taken off, and
where it has 32 bits only those are left.
"""

from typing import get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rookery.lake.schema.landing import DEVICE_LINK, DEVICE_REPORTS, INTERFACE
from rookery.lake.synthetic.columns import FixedWidthTexts
from rookery.lake.synthetic.faults import POISONS, DeviceFaults, FaultStep, OverloadKind, SpanIndex
from rookery.lake.synthetic.link_quality import LinkQuality
from rookery.lake.synthetic.noise import Floats, Ints, below, noise, pair, share, stepped
from rookery.lake.synthetic.population import Population
from rookery.lake.synthetic.timeline import DAY_S, SyntheticTimeline
from rookery.wire.fleet.telemetry import DEVICE_FIELDS

BOOT_LEAD_S = 15  # from the start of a device to its first report
INTERFACES = ("wan0", "lan0")
CLOCK_MS = {"1970": 0, "2040": 2_208_988_800_000}  # what wrong clocks begin with

_CHANNEL = 10
_NARROW = np.int64(0xFFFFFFFF)
_SWING = 0.6  # of the rate, around its mean
_OMEGA = 2 * np.pi / DAY_S
_AHEAD_MS = 3_600_000
_DIRECTIONS = (1.0, 0.25, 0.375, 1.125)  # wan0 received and sent, lan0 received and sent
_PACKET_BYTES = 700
_HEAT, _BUSY = 20.0, 4.0  # what an overload adds: °C, processes
_AGENTS = FixedWidthTexts(["0.1.0", "0.1.1", "0.2.0"])
_SYSTEMS = FixedWidthTexts(["OpenWrt 23.05", "OpenWrt 24.10"])
_PATHS = FixedWidthTexts(["udp4", "tcp4"])


class DeviceStarts:
    """When each device, or an interface of it, started last before a step."""

    def __init__(self, starts: list[FaultStep]) -> None:
        table = np.array(sorted(set(starts)), dtype=np.int64).reshape(-1, 2)
        self.device, self.step = table.T
        self._keys = pair(self.device, self.step)

    def before(self, device: Ints, step: Ints) -> Ints:
        """The number of the last start at or before."""
        index: Ints = np.searchsorted(self._keys, pair(device, step), side="right") - 1
        return index


class DeviceReports:
    """Columns for any devices and steps, in the order that is asked for."""

    def __init__(
        self,
        population: Population,
        timeline: SyntheticTimeline,
        faults: DeviceFaults,
        links: LinkQuality,
    ) -> None:
        self._population = population
        self._timeline = timeline
        self._faults = faults
        self._links = links
        self._device_links = links.of_devices(population.devices)
        self._clocks = SpanIndex((each.device, each.first, each.last) for each in faults.clocks)
        self._overloads = {
            kind: SpanIndex(each[:3] for each in faults.overloads if each.kind == kind)
            for kind in get_args(OverloadKind)
        }
        self._boots = DeviceStarts(faults.boots)
        self._resets = DeviceStarts([*faults.boots, *faults.resets])
        boot_bits = noise(population.seed, _CHANNEL, pair(self._boots.device, self._boots.step))
        self._boot_numbers = self._started_ms(self._boots) + below(boot_bits, 0, 1000)
        self._boot_volumes = self._volumes(self._boots)
        self._reset_volumes = self._volumes(self._resets)
        self._has_wrong_clock = np.zeros(population.devices, dtype=bool)
        self._has_wrong_clock[[each.device for each in faults.clocks]] = True
        self._has_resets = np.zeros(population.devices, dtype=bool)
        self._has_resets[[each.device for each in faults.resets]] = True

    def _started_ms(self, starts: DeviceStarts) -> Ints:
        return self.sampled_ms(starts.device, starts.step) - BOOT_LEAD_S * 1000

    def sampled_ms(self, device: Ints, step: Ints) -> Ints:
        """When the report of a step was made."""
        interval_ms = self._timeline.interval_s * 1000
        offset_ms: Ints = (self._population.offset * interval_ms).astype(np.int64)
        sampled: Ints = self._timeline.start_ms + step * interval_ms + offset_ms[device]
        return sampled

    def starts(self, device: Ints, step: Ints) -> Ints:
        """The number of each report's start."""
        return self._boots.before(device, step)

    def boot_and_sequence(self, start: Ints, step: Ints) -> tuple[Ints, Ints]:
        """Boot and sequence."""
        return self._boot_numbers[start], step - self._boots.step[start] + 1

    def reported_ms(self, device: Ints, step: Ints) -> Ints:
        """When it was made, by the device's own clock."""
        reported = self.sampled_ms(device, step)
        (suspects,) = np.nonzero(self._has_wrong_clock[device])
        found = self._clocks.find(device[suspects], step[suspects])
        for index, number in zip(suspects[found >= 0], found[found >= 0], strict=True):  # few
            clock = self._faults.clocks[number]
            since_ms = (step[index] - clock.first) * self._timeline.interval_s * 1000
            reported[index] = (
                CLOCK_MS.get(clock.kind, reported[index] + _AHEAD_MS - since_ms) + since_ms
            )
        return reported

    def columns(self, device: Ints, step: Ints, start: Ints) -> dict[str, pa.Array]:
        """Behind the head, as landing has them."""
        population = self._population
        bits = noise(population.seed, _CHANNEL + 1, pair(device, step))
        seconds = self._seconds(device, step)
        swing = np.sin(seconds * _OMEGA + population.phase[device])
        up_s = (step - self._boots.step[start]) * float(self._timeline.interval_s) + BOOT_LEAD_S
        load = stepped(0.25 + share(bits, 0) + 0.5 * (1.0 + swing), 256)
        mem = stepped(0.25 + 0.25 * share(bits, 1) + 0.125 * (1.0 + swing), 1024)
        disk = stepped(0.25 + 0.0625 * population.offset[device] + seconds / (400 * DAY_S), 4096)
        temp = stepped(population.warmth[device] + 4.0 * swing + 2.0 * share(bits, 2), 4)
        temp += _HEAT * (self._overloads["temperature"].find(device, step) >= 0)
        load += _BUSY * (self._overloads["device load"].find(device, step) >= 0)
        counted = self.counted(device, step, start, seconds)
        reported = np.where(population.is_narrow[device][:, None, None], counted & _NARROW, counted)
        poisoned, kind = self.poisoned(device, step)
        for value, column, poison in ((0, load, np.nan), (1, mem, 1.5), (2, disk, -0.25)):
            column[poisoned[kind == value]] = poison
        up_s[poisoned[kind == 3]] = -1.0
        reported[poisoned[kind == 4], 0, 0] = -1
        unknown = {
            each.public_name: pa.nulls(
                len(device), DEVICE_REPORTS.arrow.field(each.public_name).type
            )
            for each in DEVICE_FIELDS
            if each.in_lake and each.is_optional
        }
        return unknown | {
            "up_s": pa.array(up_s),
            "load": pa.array(load),
            "mem": pa.array(mem),
            "disk": pa.array(disk),
            "temp": pa.array(temp, mask=~population.has_sensor[device]),
            "agent": _AGENTS.take(population.agent[device]),
            "system": _SYSTEMS.take(population.system[device]),
            "dropped": pa.array(np.zeros(len(device), dtype=np.int64)),
            "interfaces": _interface_lists(reported, counted // _PACKET_BYTES),
            "links": self._link_lists(device, step, seconds),
        }

    def _volume(self, device: Ints, seconds: Floats) -> Floats:
        """Seconds of mean traffic until then."""
        phase = self._population.phase[device]
        volume: Floats = seconds - (_SWING / _OMEGA) * np.cos(seconds * _OMEGA + phase)
        return volume

    def wraps(self, device: int) -> Ints:
        """Steps and interfaces at which one of its counters has begun again at zero."""
        if not self._population.is_narrow[device]:
            return np.zeros((0, 2), dtype=np.int64)
        step = np.arange(self._timeline.steps, dtype=np.int64)
        devices = np.full_like(step, device)
        start = self.starts(devices, step)
        rounds = self.counted(devices, step, start, self._seconds(devices, step)) >> 32
        is_new = (np.diff(rounds, axis=0) > 0).any(axis=2)
        step, interface = np.nonzero(is_new)
        return np.stack([step + 1, interface], axis=1)

    def _seconds(self, device: Ints, step: Ints) -> Floats:
        seconds: Floats = (self.sampled_ms(device, step) - self._timeline.start_ms) / 1000.0
        return seconds

    def counted(self, device: Ints, step: Ints, start: Ints, seconds: Floats) -> Ints:
        """Bytes by report, interface and direction, as wide as they get."""
        bits = noise(self._population.seed, _CHANNEL + 2, pair(device, step))
        mean = self._population.bytes_s[device]
        now = self._volume(device, seconds)
        lan = self._boot_volumes[start]
        wan = lan.copy()
        (reset,) = np.nonzero(self._has_resets[device])
        wan[reset] = self._reset_volumes[self._resets.before(device[reset], step[reset])]
        values = np.empty((len(device), len(INTERFACES), 2), dtype=np.int64)
        for column, direction in enumerate(_DIRECTIONS):
            # Smaller than what comes in an interval at least, so that no counter goes back.
            ripple = share(bits, column) * (0.25 * self._timeline.interval_s)
            origin = wan if column < 2 else lan
            values[:, column // 2, column % 2] = (now - origin + ripple) * (mean * direction)
        return values

    def _volumes(self, starts: DeviceStarts) -> Floats:
        at_s = (self._started_ms(starts) - self._timeline.start_ms) / 1000.0
        return self._volume(starts.device, at_s)

    def poisoned(self, device: Ints, step: Ints) -> tuple[Ints, Ints]:
        """Which of these reports have impossible values, and which of POISONS each has."""
        bits = noise(self._population.seed, _CHANNEL + 3, pair(device, step))
        (index,) = np.nonzero(share(bits, 0) < self._faults.poison)
        return index, below(bits[index], 1, len(POISONS))

    def _link_lists(self, device: Ints, step: Ints, seconds: Floats) -> pa.Array:
        starts, links = self._device_links
        counts = np.diff(starts)[device]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        row = np.repeat(np.arange(len(device)), counts)
        link = links[starts[:-1][device][row] + np.arange(len(row)) - offsets[:-1][row]]
        measured = self._links.measured(link, step[row], seconds[row])
        values = [
            self._links.peers(link),
            _PATHS.take(link % 2),
            pa.array(measured.rtt_ms),
            pa.array(measured.loss_in),
            pa.array(measured.rate_kbps),
        ]
        return _lists(offsets, DEVICE_LINK, values)


def _interface_lists(counters: Ints, packets: Ints) -> pa.Array:
    reports = len(counters)
    received = packets[:, :, 0].ravel()
    names = np.tile(np.arange(len(INTERFACES), dtype=np.int64), reports)
    values = [
        FixedWidthTexts(INTERFACES).take(names),
        pa.array(counters[:, :, 0].ravel()),
        pa.array(counters[:, :, 1].ravel()),
        pa.array(received),
        pa.array(packets[:, :, 1].ravel()),
        pa.array(received >> 16),
        pa.array(received >> 14),
    ]
    offsets = np.arange(0, (reports + 1) * len(INTERFACES), len(INTERFACES), dtype=np.int32)
    return _lists(offsets, INTERFACE, values)


def _lists(offsets: NDArray[np.int32], struct: pa.DataType, values: list[pa.Array]) -> pa.Array:
    child = pa.StructArray.from_arrays(values, fields=list(struct))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), child)
