"""What looking for alerts needs of a site: a part of it, so that neither imports the other."""

from collections.abc import Callable
from typing import Protocol

from rookery.hub.hub import Hub
from rookery.store.audit import Audit
from rookery.store.devices import Devices
from rookery.web.lake_view import LakeView
from rookery.web.mesh_source import MeshSource
from rookery.web.vital_signs import VitalSigns


class SiteView(Protocol):
    """A site."""

    hub: Hub
    devices: Devices
    audit: Audit
    mesh: MeshSource | None
    lake: LakeView | None
    vitals: VitalSigns
    wall: Callable[[], float]
