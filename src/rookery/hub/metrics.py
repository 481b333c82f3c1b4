"""Metrics of a hub for Prometheus, read from the counters of its parts on each request.

Counters are named `rookery_<noun>_<unit>_total`. No label names a device: there are too many.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from rookery.fleet.reports.report_validator import ReportValidator
from rookery.hub.audit_log import AuditLog
from rookery.hub.clock import HubClock
from rookery.hub.registry.entry_removal import EntryRemoval
from rookery.hub.registry.entry_writer import EntryWriter
from rookery.hub.registry.fleet_counts import FleetCounts
from rookery.hub.rendezvous.forecasts import Forecasts
from rookery.hub.rendezvous.lease_answers import LeaseService
from rookery.hub.rendezvous.matchmaker import Matchmaker
from rookery.hub.reports.report_flow import ReportFlow
from rookery.hub.reports.report_socket import ReportSocket
from rookery.hub.tcp_listener import HubListener
from rookery.runtime.artifact_file import ArtifactState
from rookery.store.spool.spool import Spool


class HubCounts(NamedTuple):
    """Counts since the hub started, in addition to those of reports, for the status page."""

    undecided_reports: Mapping[str, int]  # left to be sent again, by reason
    dropped_datagrams: int  # that the system's socket buffer had no room for
    failed_spool_writes: int
    clock_steps: int


class HubMetrics(Collector):
    """`text` is what `/metrics` answers."""

    def __init__(
        self,
        validator: ReportValidator,
        socket: ReportSocket,
        flow: ReportFlow,
        listener: HubListener,
        matchmaker: Matchmaker,
        entry_writer: EntryWriter,
        spool: Spool,
        fleet_counts: FleetCounts,
        audit_log: AuditLog,
        clock: HubClock,
        forecasts: Forecasts,
        leases: LeaseService,
        forgetting: EntryRemoval,
    ) -> None:
        self._validator = validator
        self._socket = socket
        self._flow = flow
        self._listener = listener
        self._matchmaker = matchmaker
        self._entry_writer = entry_writer
        self._spool = spool
        self._fleet_counts = fleet_counts
        self._audit_log = audit_log
        self._clock = clock
        self._forecasts = forecasts
        self._leases = leases
        self._forgetting = forgetting

    def text(self) -> bytes:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        yield from self._labelled()
        for name, text, count in self._totals():
            yield CounterMetricFamily(f"rookery_{name}", text, value=count)
        for name, text, value in self._gauges():
            yield GaugeMetricFamily(f"rookery_{name}", text, value=value)
        senders = GaugeMetricFamily(
            "rookery_reporters", "As of the last census.", labels=("kind", "state")
        )
        for labels, present in self._fleet_counts.counts.items():
            senders.add_metric(labels, present)
        yield senders
        forecast = GaugeMetricFamily(
            "rookery_forecast_state", "1 for what became of the forecast.", labels=("state",)
        )
        for state in ArtifactState:
            forecast.add_metric((state.value,), state is self._forecasts.state)
        yield forecast

    def _labelled(self) -> Iterator[Metric]:
        fates: dict[str, int] = msgspec.structs.asdict(self._validator.counters)
        for name, text, label, counts in (
            ("report_datagrams", "Reports and hellos, by fate.", "fate", fates),
            ("undecided_reports", "Reports left to come again.", "reason", self._flow.tally),
            ("door_connections", "Devices' connections by fate.", "fate", self._listener.tally),
            ("wish_steps", "Steps of wishes made here.", "step", self._matchmaker.tally),
            ("leases", "Answers to servers about leases.", "what", self._leases.tally),
        ):
            yield _counter(f"rookery_{name}", text, label, counts)

    def _totals(self) -> Iterator[tuple[str, str, int]]:
        yield "socket_dropped_datagrams", "That the system had no room for.", self._socket.dropped
        yield "socket_pauses", "Times that reading waited.", self._socket.pauses
        yield "database_written_entries", "Entries saved.", self._entry_writer.written
        yield "database_failed_writes", "Saves put off.", self._entry_writer.failures
        yield "spool_replayed_records", "Read again at the start.", self._entry_writer.replayed
        yield "spool_failed_writes", "Groups that the disk refused.", self._spool.failed_writes
        yield "audit_suppressed_rows", "Beyond what is kept.", self._audit_log.suppressed
        yield "forgotten_entries", "As somebody wanted it.", self._forgetting.forgotten
        yield "expired_entries", "Without an owner, and silent.", self._forgetting.expired
        yield "clock_steps", "Times that the wall clock was set.", self._clock.steps
        yield "forecast_refused_files", "Not signed by a forecaster.", self._forecasts.refused

    def _gauges(self) -> Iterator[tuple[str, str, float]]:
        yield "door_open_connections", "Of devices.", self._listener.connections
        yield "meetings", "Wishes being seen to here.", self._matchmaker.rendezvous_count
        yield "leased_seats", "Of servers that ask here.", self._leases.held
        yield "unsaved_entries", "Changed since they were saved.", len(self._flow.dirty)
        yield "forecast_expires_seconds", "Unix time; 0: none.", self._forecasts.expires_s
        yield "spool_size_bytes", "Kept for the lake.", self._spool.size
        yield "spool_is_full", "1 while it has no room for more.", self._spool.is_full
        if (landed := self._entry_writer.landed) is not None:
            behind = max(self._spool.position - landed, 0)
            yield "spool_unlanded_bytes", "Not in the lake yet.", behind


def _counter(name: str, text: str, label: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=(label,))
    for key, count in counts.items():
        family.add_metric((key,), count)
    return family
