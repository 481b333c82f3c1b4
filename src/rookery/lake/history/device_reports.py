"""Device reports: what each device says at each step, as columns.

A counter is the integral of a rate that follows the day, so its value at any step is known without
the steps before. What it counted before the device (or the interface) started is taken off, and
where it has 32 bits only those are left.
"""

import numpy as np
import pyarrow as pa

from rookery.lake.history.faults import POISONS, Faults, Single
from rookery.lake.history.link_quality import LinkQuality
from rookery.lake.history.noise import Flags, Floats, Ints, below, noise, pair, share, stepped
from rookery.lake.history.population import Population
from rookery.lake.history.texts import Codes
from rookery.lake.history.timeline import DAY_S, Timeline
from rookery.lake.schema.landing import DEVICE_LINK, INTERFACE

BOOT_LEAD_S = 15  # from the start of a device to its first report
INTERFACES = ("wan0", "lan0")

_CHANNEL = 10
_NARROW = np.int64(0xFFFFFFFF)
_SWING = 0.6  # of the rate, around its mean
_OMEGA = 2 * np.pi / DAY_S
_CLOCK_2040_MS = 2_208_988_800_000
_DIRECTIONS = (1.0, 0.25, 0.375, 1.125)  # wan0 received and sent, lan0 received and sent
_PACKET_BYTES = 700
_AGENTS = Codes(["0.1.0", "0.1.1", "0.2.0"])
_SYSTEMS = Codes(["OpenWrt 23.05", "OpenWrt 24.10"])
_PATHS = Codes(["udp4", "tcp4"])


class Starts:
    """When each device, or an interface of it, started last before a step."""

    def __init__(self, starts: list[Single]) -> None:
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
        self, population: Population, timeline: Timeline, faults: Faults, links: LinkQuality
    ) -> None:
        self._population = population
        self._timeline = timeline
        self._faults = faults
        self._links = links
        self._boots = Starts(faults.boots)
        self._resets = Starts([*faults.boots, *faults.resets])
        boot_bits = noise(population.seed, _CHANNEL, pair(self._boots.device, self._boots.step))
        self._boot_numbers = self._started_ms(self._boots) + below(boot_bits, 0, 1000)
        self._poison_keys = pair(*faults.poisoned)
        order = np.argsort(self._poison_keys)
        self._poison_keys, self._poison_kinds = self._poison_keys[order], faults.poison_kind[order]

    def _started_ms(self, starts: Starts) -> Ints:
        return self.sampled_ms(starts.device, starts.step) - BOOT_LEAD_S * 1000

    def sampled_ms(self, device: Ints, step: Ints) -> Ints:
        """When the report of a step was made."""
        interval_ms = self._timeline.interval_s * 1000
        offset_ms: Ints = (self._population.offset * interval_ms).astype(np.int64)
        sampled: Ints = self._timeline.start_ms + step * interval_ms + offset_ms[device]
        return sampled

    def lineage(self, device: Ints, step: Ints) -> tuple[Ints, Ints]:
        """Boot and sequence."""
        index = self._boots.before(device, step)
        return self._boot_numbers[index], step - self._boots.step[index] + 1

    def told_ms(self, device: Ints, step: Ints) -> Ints:
        """When it was made by the device's own clock."""
        told = self.sampled_ms(device, step)
        for clock in self._faults.clocks:
            is_wrong = (device == clock.device) & (step >= clock.first) & (step < clock.last)
            if not is_wrong.any():
                continue
            since = told[is_wrong] - self.sampled_ms(
                device[is_wrong], np.full(is_wrong.sum(), clock.first)
            )
            begin = {"1970": 0, "2040": _CLOCK_2040_MS, "ahead": None}[clock.kind]
            told[is_wrong] = told[is_wrong] + 3_600_000 if begin is None else begin + since
        return told

    def columns(self, device: Ints, step: Ints) -> dict[str, pa.Array]:
        """Behind the head, as landing has them."""
        population = self._population
        bits = noise(population.seed, _CHANNEL + 1, pair(device, step))
        seconds = (self.sampled_ms(device, step) - self._timeline.start_ms) / 1000.0
        swing = np.sin(seconds * _OMEGA + population.phase[device])
        boot_step = self._boots.step[self._boots.before(device, step)]
        up_s = (step - boot_step) * float(self._timeline.interval_s) + BOOT_LEAD_S
        load = stepped(0.25 + share(bits, 0) + 0.5 * (1.0 + swing), 256)
        mem = stepped(0.25 + 0.25 * share(bits, 1) + 0.125 * (1.0 + swing), 1024)
        disk = stepped(0.25 + 0.0625 * population.offset[device] + seconds / (400 * DAY_S), 4096)
        temp = stepped(population.warmth[device] + 4.0 * swing + 2.0 * share(bits, 2), 4)
        interfaces = self._counters(device, step, seconds)
        self._poison(pair(device, step), up_s, load, mem, disk, interfaces)
        return {
            "up_s": pa.array(up_s),
            "load": pa.array(load),
            "mem": pa.array(mem),
            "disk": pa.array(disk),
            "temp": pa.array(temp, mask=~population.has_sensor[device]),
            "agent": _AGENTS.take(population.agent[device]),
            "system": _SYSTEMS.take(population.system[device]),
            "dropped": pa.array(np.zeros(len(device), dtype=np.int64)),
            "interfaces": _interface_lists(interfaces),
            "links": self._link_lists(device, step, seconds),
        }

    def _volume(self, device: Ints, seconds: Floats) -> Floats:
        """Seconds of mean traffic until then."""
        phase = self._population.phase[device]
        volume: Floats = seconds - (_SWING / _OMEGA) * np.cos(seconds * _OMEGA + phase)
        return volume

    def _counters(self, device: Ints, step: Ints, seconds: Floats) -> Ints:
        """Bytes by report, interface and direction."""
        bits = noise(self._population.seed, _CHANNEL + 2, pair(device, step))
        mean = self._population.bytes_s[device]
        now = self._volume(device, seconds)
        wan = self._since(self._resets, device, step)
        lan = self._since(self._boots, device, step)
        values = np.empty((len(device), len(INTERFACES), 2), dtype=np.int64)
        for lane, direction in enumerate(_DIRECTIONS):
            # Smaller than what comes in an interval at least, so that no counter goes back.
            ripple = share(bits, lane) * (0.25 * self._timeline.interval_s)
            origin = wan if lane < 2 else lan
            values[:, lane // 2, lane % 2] = (now - origin + ripple) * (mean * direction)
        narrow = self._population.is_narrow[device]
        if narrow.any():
            values[narrow] &= _NARROW
        return values

    def _since(self, starts: Starts, device: Ints, step: Ints) -> Floats:
        at_s = (self._started_ms(starts) - self._timeline.start_ms) / 1000.0
        volumes = self._volume(starts.device, at_s)
        return volumes[starts.before(device, step)]

    def _poison(
        self, keys: Ints, up_s: Floats, load: Floats, mem: Floats, disk: Floats, counters: Ints
    ) -> None:
        index = np.searchsorted(self._poison_keys, keys)
        index[index == len(self._poison_keys)] = 0
        if not len(self._poison_keys):
            return
        is_poisoned = self._poison_keys[index] == keys
        kinds = np.where(is_poisoned, self._poison_kinds[index], -1)
        for kind, (column, value) in enumerate(
            ((load, np.nan), (mem, 1.5), (disk, -0.25), (up_s, -1.0))
        ):
            column[kinds == kind] = value
        counters[kinds == POISONS.index("received_bytes below 0"), 0, 0] = -1

    def _link_lists(self, device: Ints, step: Ints, seconds: Floats) -> pa.Array:
        starts, links = self._links.of_routers(self._population.devices)
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

    @property
    def is_narrow(self) -> Flags:
        return self._population.is_narrow


def _interface_lists(counters: Ints) -> pa.Array:
    reports = len(counters)
    received, sent = counters[:, :, 0].ravel(), counters[:, :, 1].ravel()
    packets = received // _PACKET_BYTES
    names = np.tile(np.arange(len(INTERFACES), dtype=np.int64), reports)
    values = [
        Codes(INTERFACES).take(names),
        pa.array(received),
        pa.array(sent),
        pa.array(packets),
        pa.array(sent // _PACKET_BYTES),
        pa.array(packets >> 16),
        pa.array(packets >> 14),
    ]
    offsets = np.arange(0, (reports + 1) * len(INTERFACES), len(INTERFACES), dtype=np.int32)
    return _lists(offsets, INTERFACE, values)


def _lists(offsets: Ints, struct: pa.DataType, values: list[pa.Array]) -> pa.Array:
    child = pa.StructArray.from_arrays(values, fields=list(struct))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), child)
