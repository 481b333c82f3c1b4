"""A synthetic dataset: landing rows of a fleet and its mesh, chunk by chunk, in arrival order."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import UsageError
from rookery.lake.schema.landing import DEVICE_REPORTS
from rookery.lake.schema.table import Table
from rookery.lake.synthetic.arrivals import ArrivalOrder, ReportArrivals
from rookery.lake.synthetic.batch import SyntheticBatch
from rookery.lake.synthetic.columns import SpoolPositions, landing_rows
from rookery.lake.synthetic.device_reports import DeviceReports
from rookery.lake.synthetic.event_days import EventDays
from rookery.lake.synthetic.faults import DeviceFaults
from rookery.lake.synthetic.link_quality import LinkQuality
from rookery.lake.synthetic.mesh import RandomMesh, RosterMesh, SyntheticMesh
from rookery.lake.synthetic.mesh_days import MeshDays
from rookery.lake.synthetic.population import Population, random_roster
from rookery.lake.synthetic.roster import Roster
from rookery.lake.synthetic.server_days import ServerDays
from rookery.lake.synthetic.timeline import DAY_S, SyntheticTimeline

CHUNK_ROWS_MAX = 250_000

_INTERVAL_S_MAX = 900
_FIRST_MONDAY = date(2026, 3, 2)


@dataclass(frozen=True, kw_only=True)
class SyntheticDataset:
    """What to generate; the same arguments make the same rows."""

    seed: int = 1
    start: date = _FIRST_MONDAY
    days: int = 3
    devices: int = 24
    servers: int = 4
    nodes: int = 20
    realms: int = 2
    hubs: int = 2
    interval_s: int = 60  # between the reports of one device or server
    sample_s: int = 300  # between the samples of one link
    repeats: float = 0.005  # share of the device reports that come twice
    poison: float = 0.0005  # share of them with impossible values
    chunk_rows: int = CHUNK_ROWS_MAX
    roster: Roster | None = None  # instead of so many devices, servers and nodes
    until: datetime | None = None  # rows received later are left out

    def __post_init__(self) -> None:
        if self.days < 1 or self.devices < 1 or self.hubs < 1:
            raise UsageError("a dataset has at least one day, one device and one hub")
        for interval_s in (self.interval_s, self.sample_s):
            if not 0 < interval_s <= _INTERVAL_S_MAX or DAY_S % interval_s:
                raise UsageError("an interval is at most 900 s, and a day a multiple of it")

    @cached_property
    def timeline(self) -> SyntheticTimeline:
        return SyntheticTimeline(self.start, self.days, self.interval_s)

    @cached_property
    def population(self) -> Population:
        numbers = {"devices": self.devices, "servers": self.servers, "hubs": self.hubs}
        return Population(self.seed, self.roster or random_roster(self.seed, **numbers))

    @cached_property
    def mesh(self) -> SyntheticMesh:
        if self.roster is not None:
            return RosterMesh(self.population, self.timeline, self.roster)
        return RandomMesh(self.population, self.timeline, nodes=self.nodes, realms=self.realms)

    @cached_property
    def faults(self) -> DeviceFaults:
        return DeviceFaults(self.population, self.timeline, self.repeats, self.poison)

    @cached_property
    def links(self) -> LinkQuality:
        return LinkQuality(self.seed, self.mesh)

    @cached_property
    def device_reports(self) -> DeviceReports:
        return DeviceReports(self.population, self.timeline, self.faults, self.links)

    def chunks(self) -> Iterator[tuple[Table, pa.Table]]:
        """Landing rows, day by day; within a table in order of arrival. Memory stays bounded."""
        spools = SpoolPositions(self.timeline.start_ms << 20)
        order = ArrivalOrder(self.population, self.timeline, self.faults, self.device_reports)
        for day in range(self.days):
            for window in order.windows(day, self.chunk_rows):
                yield DEVICE_REPORTS, self._received(self._device_rows(spools, window))
            for batch in self.batches(day):
                yield batch.table, self._received(batch.rows(spools, self.seed, self.repeats))

    def _received(self, rows: pa.Table) -> pa.Table:
        """Rows that were received before `until`."""
        if self.until is None:
            return rows
        return rows.filter(pc.field("received_at") < pa.scalar(self.until))

    def batches(self, day: int) -> Iterator[SyntheticBatch]:
        """Everything of that day but the device reports."""
        for days in (self._servers, self._meshes, self._others):
            yield from days.batches(day)

    @cached_property
    def _servers(self) -> ServerDays:
        return ServerDays(self.population, self.timeline)

    @cached_property
    def _meshes(self) -> MeshDays:
        timeline = SyntheticTimeline(self.start, self.days, self.sample_s)
        return MeshDays(self.seed, self.mesh, timeline, self.links)

    @cached_property
    def _others(self) -> EventDays:
        return EventDays(self.population, self.timeline, self.faults, self.mesh)

    def _device_rows(self, spools: SpoolPositions, window: ReportArrivals) -> pa.Table:
        reports, device, step = self.device_reports, window.device, window.step
        start = reports.starts(device, step)
        boot, sequence = reports.boot_and_sequence(start, step)
        return landing_rows(
            DEVICE_REPORTS,
            spools,
            self.population.hubs,
            spool=window.spool,
            received_ms=window.received_ms,
            sender=self.population.device_ids.take(self.population.owner[device]),
            boot=boot,
            sequence=sequence,
            at_ms=reports.reported_ms(device, step),
            columns=reports.columns(device, step, start),
        )
