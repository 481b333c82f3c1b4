"""The part of a site that alert checks read, so that neither imports the other."""

from collections.abc import Callable
from typing import Protocol

from rookery.hub.hub import Hub
from rookery.store.accounts.audit import AuditTrail
from rookery.store.fleet.devices import Devices
from rookery.web.insights.lake_reader import HubLakeReader
from rookery.web.mesh.source import MeshSource
from rookery.web.system.report_rates import ReportRates


class AlertSources(Protocol):
    """Satisfied by `WebSite`."""

    hub: Hub
    devices: Devices
    audit: AuditTrail
    mesh: MeshSource | None
    lake: HubLakeReader | None
    report_rates: ReportRates
    wall: Callable[[], float]
