"""Site plan: three sites, eight devices with mesh nodes, four devices without.

    berlin    gw1 ═ gw2 ═ relay        relay ──  9 ms ── riga gw1     gw1 ── 25 ms ── riga gw1
                                       relay ── 12 ms ── riga gw2
    lisbon    gw1 ═ gw2 ═ relay        relay ── 20 ms, fades at night ── berlin relay
                                       relay ── 60 ms, loses packets ─── riga gw2
    riga      gw1 ═ gw2                gw2 ──── 45 ms ────────────────── berlin gw2
                                       gw1 ──── 70 ms, comes and goes ── riga gw1

Without berlin's relay every node still reaches every other, at a higher cost.
"""

from typing import NamedTuple

from rookery.sim.network.network import Conditions
from rookery.sim.network.weather import LinkFlap, Weather

SITES = ("berlin", "lisbon", "riga")
NEAR_MS = 0.4  # within a site, one way
LOSS = 0.12
FLAP = LinkFlap(up_s=50.0, down_s=25.0)

_MAC_PREFIX = bytes((0x02, 0xDE, 0x30, 0x00, 0x00))


class PlannedDevice(NamedTuple):
    """A device of the fleet; `role` selects its past faults, see `lake/synthetic`."""

    name: str
    role: int = 0

    @property
    def site(self) -> str:
        return self.name.partition("-")[0]


class PlannedLink(NamedTuple):
    one: str
    other: str
    delay_ms: float = NEAR_MS  # one way
    loss: float = 0.0
    is_flapping: bool = False
    is_fading: bool = False  # in the past, every night

    @property
    def weather(self) -> Weather:
        delay_s = self.delay_ms / 1000
        conditions = Conditions(delay_s=delay_s, jitter_s=delay_s / 10, loss=self.loss)
        return Weather(conditions=conditions, flap=FLAP if self.is_flapping else None)


# Devices with a mesh node.
NODES = (
    PlannedDevice("berlin-gw1"),
    PlannedDevice("berlin-gw2", 1),  # reboots
    PlannedDevice("berlin-relay"),
    PlannedDevice("lisbon-gw1", 3),  # reports come late
    PlannedDevice("lisbon-gw2", 8),  # counters of 32 bits
    PlannedDevice("lisbon-relay"),
    PlannedDevice("riga-gw1", 12),  # riga was without power once
    PlannedDevice("riga-gw2", 13),
)
ACCESS_POINTS = (
    PlannedDevice("berlin-ap1", 2),  # outages
    PlannedDevice("lisbon-ap1", 7),  # was cloned
    PlannedDevice("riga-ap1", 14),
    PlannedDevice("riga-ap2", 15),
)
DEVICES = (*NODES, *ACCESS_POINTS)
NUMBER = {planned.name: number for number, planned in enumerate(DEVICES)}

LINKS = (
    PlannedLink("berlin-gw1", "berlin-gw2"),
    PlannedLink("berlin-gw1", "berlin-relay"),
    PlannedLink("berlin-gw2", "berlin-relay"),
    PlannedLink("lisbon-gw1", "lisbon-gw2"),
    PlannedLink("lisbon-gw1", "lisbon-relay"),
    PlannedLink("lisbon-gw2", "lisbon-relay"),
    PlannedLink("riga-gw1", "riga-gw2"),
    PlannedLink("berlin-relay", "lisbon-relay", 20.0, is_fading=True),
    PlannedLink("berlin-relay", "riga-gw1", 9.0),
    PlannedLink("berlin-relay", "riga-gw2", 12.0),
    PlannedLink("berlin-gw1", "riga-gw1", 25.0),
    PlannedLink("berlin-gw2", "lisbon-gw2", 45.0),
    PlannedLink("lisbon-relay", "riga-gw2", 60.0, loss=LOSS),
    PlannedLink("lisbon-gw1", "riga-gw1", 70.0, is_flapping=True),
)
RELAY = "berlin-relay"  # the one that dies
WATCHED = ("riga-gw1", "lisbon-gw2")  # between whom its death is seen best
HUB_NODE = "berlin-gw1"  # beside the hub
SERVERS = ("server-1", "server-2")


def mac(planned: PlannedDevice) -> bytes:
    return _MAC_PREFIX + bytes([NUMBER[planned.name] + 1])
