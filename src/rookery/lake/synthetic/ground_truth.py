"""Ground truth: the faults of a synthetic dataset as plain values, to compare findings with."""

from collections import Counter
from datetime import datetime
from typing import NamedTuple

import numpy as np

from rookery.lake.synthetic.dataset import SyntheticDataset
from rookery.lake.synthetic.device_reports import INTERFACES
from rookery.lake.synthetic.faults import POISONS, SITE_ROLES, Cause, ClockKind, cloned
from rookery.lake.synthetic.mesh import FADE_S
from rookery.lake.synthetic.noise import Ints
from rookery.lake.synthetic.server_days import RECONNECT_STORM_S
from rookery.lake.synthetic.timeline import DAY_S, datetime_of


class PlantedReport(NamedTuple):
    """One device report."""

    device: str
    boot: int
    sequence: int


class PlantedReboot(NamedTuple):
    device: str
    boot: int
    at: datetime  # of its first report


class CounterReset(NamedTuple):
    """An interface starts to count anew, the device goes on; or a counter of 32 bits is full."""

    device: str
    interface: str
    at: datetime  # of the first report after


class FaultSpan(NamedTuple):
    """Of a device, from its first report that was missing, late or wrong to the first good one."""

    sender: str  # a device or server
    kind: Cause | ClockKind | str
    from_at: datetime
    to_at: datetime


class PlantedClone(NamedTuple):
    device: str
    boots: tuple[int, ...]  # of the clone, not of the original
    from_at: datetime
    to_at: datetime


class PlantedIncident(NamedTuple):
    """Devices that fell silent together."""

    devices: tuple[str, ...]
    from_at: datetime
    to_at: datetime


class LinkFaultSpan(NamedTuple):
    node: str  # hashname, the smaller number of the two
    peer: str
    from_at: datetime
    to_at: datetime


class GroundTruth:
    """Taken from the dataset's plan of faults, or computed from it."""

    def __init__(self, dataset: SyntheticDataset) -> None:
        self._dataset = dataset
        self._people, self._faults = dataset.population, dataset.faults
        self._mesh, self._timeline = dataset.mesh, dataset.timeline

    def reboots(self) -> list[PlantedReboot]:
        """Reboots that a report followed; starts before the dataset begins do not count."""
        found = []
        for device, step in self._faults.boots:
            if 0 < step < self._timeline.steps and device < self._people.originals:
                (boot,), _ = self._boot_and_sequence(np.array([device]), np.array([step]))
                found.append(
                    PlantedReboot(self._people.device_id(device), int(boot), self._at(device, step))
                )
        return found

    def resets(self) -> list[CounterReset]:
        return [
            CounterReset(self._people.device_id(device), INTERFACES[0], self._at(device, step))
            for device, step in self._faults.resets
        ]

    def narrow(self) -> list[str]:
        """Devices whose counters have 32 bits."""
        return [self._people.device_id(int(each)) for each in np.nonzero(self._people.is_narrow)[0]]

    def wraps(self) -> list[CounterReset]:
        """Overflows of counters of 32 bits, by interface."""
        return [
            CounterReset(
                self._people.device_id(device), INTERFACES[interface], self._at(device, step)
            )
            for device in range(self._people.originals)
            for step, interface in self._dataset.device_reports.wraps(device).tolist()
        ]

    def outages(self) -> list[FaultSpan]:
        return [
            FaultSpan(self._people.device_id(each.device), each.cause, *self._between(each[:3]))
            for each in self._faults.silences
            if each.cause != "not there"
        ]

    def delays(self) -> list[FaultSpan]:
        return [
            FaultSpan(self._people.device_id(each.device), "late", *self._between(each[:3]))
            for each in self._faults.delays
        ]

    def wrong_clocks(self) -> list[FaultSpan]:
        return [
            FaultSpan(self._people.device_id(each.device), each.kind, *self._between(each[:3]))
            for each in self._faults.clocks
        ]

    def overloads(self) -> list[FaultSpan]:
        """Hours in which a device was too busy, or too hot with a sensor that shows it."""
        return [
            FaultSpan(
                self._people.device_id(each.device), each.kind, *self._hours(each.first, each.last)
            )
            for each in self._faults.overloads
            if each.kind == "device load" or self._people.has_sensor[each.device]
        ]

    def clones(self) -> list[PlantedClone]:
        found = []
        for owner, clone in cloned(self._people).items():
            first, last = (each for each in sorted(self._faults.silences) if each.device == clone)
            (boot,), _ = self._boot_and_sequence(np.array([clone]), np.array([first.last]))
            span = self._between((clone, first.last, last.first))
            found.append(PlantedClone(self._people.device_id(owner), (int(boot),), *span))
        return found

    def incidents(self) -> list[PlantedIncident]:
        """Sites that lost power."""
        first, last = self._faults.cut
        sites: dict[int, list[int]] = {}
        for device in range(self._people.originals):
            if self._people.role[device] in SITE_ROLES:
                sites.setdefault(int(self._people.site_of[device]), []).append(device)
        return [
            PlantedIncident(
                tuple(self._people.device_id(device) for device in devices),
                min(self._at(device, first) for device in devices),
                max(self._at(device, last) for device in devices),
            )
            for devices in sites.values()
        ]

    def repeats(self) -> list[PlantedReport]:
        """Device reports that came twice."""
        return self._reports(*self._faults.repeated)

    def poisoned(self) -> dict[PlantedReport, str]:
        """Device reports with impossible values, and which those are."""
        step, device = np.divmod(
            np.arange(self._people.devices * self._timeline.steps), self._people.devices
        )
        index, kind = self._dataset.device_reports.poisoned(device, step)
        device, step = device[index], step[index]
        silences = {(each.device, each.first, each.last) for each in self._faults.silences}
        is_made = [
            not any(silent == one and first <= at < last for silent, first, last in silences)
            for one, at in zip(device.tolist(), step.tolist(), strict=True)
        ]
        reports = self._reports(device[is_made], step[is_made])
        return dict(zip(reports, (POISONS[each] for each in kind[is_made]), strict=True))

    def made(self) -> int:
        """Device reports, each counted once."""
        silent = sum(
            max(min(each.last, self._timeline.steps) - max(each.first, 0), 0)
            for each in self._faults.silences
        )
        return self._people.devices * self._timeline.steps - silent

    def repeated_rows(self) -> Counter[str]:
        """How many rows of each landing table come again, by the table's name."""
        found = Counter({"device_reports": len(self._faults.repeated[0])})
        for day in range(self._timeline.days):
            for batch in self._dataset.batches(day):
                again = batch.repeated(self._dataset.seed, self._dataset.repeats)
                found[batch.table.name] += len(again)
        return found

    def dead_links(self) -> list[LinkFaultSpan]:
        spans = [each for each in self._mesh.downs if each.link in self._mesh.dead]
        return [self._link(each.link, each.from_s, each.to_s) for each in spans]

    def fades(self) -> list[LinkFaultSpan]:
        """One for each night."""
        return [
            self._link(link, day * DAY_S + FADE_S[0], day * DAY_S + FADE_S[1])
            for day in range(self._timeline.days)
            for link in self._mesh.fading
        ]

    def articulation_points(self) -> dict[str, set[str]]:
        """By realm, while nothing is down: the relay, and the leaf's only neighbour."""
        return {
            realm: {
                self._mesh.hashnames[self._mesh.relays[number]],
                self._mesh.hashnames[self._mesh.anchor(number)],
            }
            for number, realm in enumerate(self._mesh.realms[: len(self._mesh.relays)])
        }

    def bridges(self) -> dict[str, set[tuple[str, str]]]:
        """By realm: the leaf's only link, the smaller name first."""
        found = {}
        for number, leaf in enumerate(self._mesh.leaves):
            names = self._mesh.hashnames
            ends = sorted((names[leaf], names[self._mesh.anchor(number)]))
            found[self._mesh.realms[number]] = {(ends[0], ends[1])}
        return found

    def relay_away(self) -> tuple[str, str, datetime, datetime] | None:
        """A realm that was split by the loss of its relay, the relay, and from when to when."""
        if not self._mesh.relays:
            return None
        first, last = (datetime_of(self._timeline.ms(at)) for at in self._mesh.away)
        return self._mesh.realms[-1], self._mesh.hashnames[self._mesh.relays[-1]], first, last

    def reconnect_storms(self) -> list[FaultSpan]:
        """Servers that many clients came to at once."""
        servers = self._people.server_ids
        return [
            FaultSpan(
                servers[day % len(servers)],
                "herd",
                *(datetime_of(self._timeline.ms(day * DAY_S + at)) for at in RECONNECT_STORM_S),
            )
            for day in range(self._timeline.days if servers else 0)
        ]

    def _boot_and_sequence(self, device: Ints, step: Ints) -> tuple[Ints, Ints]:
        reports = self._dataset.device_reports
        return reports.boot_and_sequence(reports.starts(device, step), step)

    def _reports(self, device: Ints, step: Ints) -> list[PlantedReport]:
        boots, sequences = self._boot_and_sequence(device, step)
        device_ids = [self._people.device_id(each) for each in device.tolist()]
        return list(map(PlantedReport, device_ids, boots.tolist(), sequences.tolist()))

    def _at(self, device: int, step: int) -> datetime:
        reports = self._dataset.device_reports
        return datetime_of(int(reports.sampled_ms(np.array([device]), np.array([step]))[0]))

    def _between(self, span: tuple[int, int, int]) -> tuple[datetime, datetime]:
        device, first, last = span
        return self._at(device, first), self._at(device, min(last, self._timeline.steps))

    def _hours(self, first: int, last: int) -> tuple[datetime, datetime]:
        steps = (first, last)
        interval_s = self._timeline.interval_s
        from_at, to_at = (datetime_of(self._timeline.ms(each * interval_s)) for each in steps)
        return from_at, to_at

    def _link(self, link: int, from_s: float, to_s: float) -> LinkFaultSpan:
        _, one, other = self._mesh.links[link]
        names, ms = self._mesh.hashnames, self._timeline.ms
        return LinkFaultSpan(
            names[one], names[other], datetime_of(ms(from_s)), datetime_of(ms(to_s))
        )
