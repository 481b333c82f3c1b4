"""The devices, servers and hubs of a synthetic dataset, by number."""

import hashlib

import numpy as np

from rookery.fleet.entry import server_id
from rookery.lake.synthetic.columns import FixedWidthTexts
from rookery.lake.synthetic.noise import Floats, Ints, below, noise, share, stepped
from rookery.lake.synthetic.roster import Roster, RosterDevice
from rookery.wire import base32
from rookery.wire.fleet.mac import mac_text

SITE_SIZE = 6  # devices at one place
ROLES = 24  # kinds of devices by their faults; see `faults`
NARROW_ROLE = 8  # interfaces that count in 32 bits
CLONED_ROLE = 7

_CHANNEL = 1
_WAN_BYTES_S = (4_000.0, 60_000.0)
_NARROW_BYTES_S = (150_000.0, 450_000.0)


def synthetic_hashname(seed: int, kind: str, number: int) -> str:
    """A hashname as keys would make it, without the keys."""
    return base32.encode(hashlib.sha256(f"{seed} {kind} {number}".encode()).digest())


def random_roster(seed: int, *, devices: int, servers: int, hubs: int) -> Roster:
    """As many as are wanted, with a role of each kind in turn."""
    return Roster(
        devices=tuple(
            RosterDevice(
                _mac(seed, number),
                synthetic_hashname(seed, "router", number),
                number // SITE_SIZE,
                number % ROLES,
            )
            for number in range(devices)
        ),
        servers=tuple(synthetic_hashname(seed, "server", number) for number in range(servers)),
        hubs=tuple(f"hub-{number + 1}" for number in range(hubs)),
        accounts=tuple(f"user-{number:03d}" for number in range(max(devices // 4, 1))),
        sites=tuple(f"site-{number}" for number in range(devices // SITE_SIZE + 1)),
    )


class Population:
    """Devices: the originals, then clones, which are other machines with the MAC of an original."""

    def __init__(self, seed: int, roster: Roster) -> None:
        self.seed = seed
        self.originals = len(roster.devices)
        roles = np.array([each.role for each in roster.devices], dtype=np.int64)
        (cloned,) = np.nonzero(roles == CLONED_ROLE)
        self.owner: Ints = np.concatenate([np.arange(self.originals, dtype=np.int64), cloned])
        self.role: Ints = roles[self.owner]  # of each device, which faults it has
        self.hashnames = [each.hashname for each in roster.devices]
        self.device_ids = FixedWidthTexts([each.device_id for each in roster.devices])
        self.servers = list(roster.servers)
        self.server_ids = [mac_text(server_id(each)) for each in self.servers]
        self.hubs = list(roster.hubs)
        self.accounts = list(roster.accounts)
        self.sites = list(roster.sites)
        self.site_of: Ints = np.array([each.site for each in roster.devices], dtype=np.int64)
        self._draw_devices()

    def _draw_devices(self) -> None:
        devices = np.arange(len(self.owner), dtype=np.int64)
        bits = noise(self.seed, _CHANNEL, devices)
        self.is_narrow = self.role == NARROW_ROLE
        low = np.where(self.is_narrow, _NARROW_BYTES_S[0], _WAN_BYTES_S[0])
        high = np.where(self.is_narrow, _NARROW_BYTES_S[1], _WAN_BYTES_S[1])
        self.bytes_s: Floats = stepped(low + (high - low) * share(bits, 0) ** 2, 1)
        self.phase: Floats = share(bits, 1) * 2.0 - 1.0  # of the day, in radians
        self.offset: Floats = share(bits, 2)  # of reports, in intervals
        self.warmth: Floats = stepped(35.0 + 20.0 * share(bits, 3), 4)
        more = noise(self.seed, _CHANNEL + 1, devices)
        self.has_sensor = below(more, 0, 8) > 0
        self.agent: Ints = below(more, 1, 3)
        self.system: Ints = below(more, 2, 2)
        self.up_steps: Ints = 1 + below(more, 3, 5000)  # of uptime when the dataset begins

    @property
    def devices(self) -> int:
        return len(self.owner)

    def device_id(self, device: int) -> str:
        return self.device_ids.texts[int(self.owner[device])]


def _mac(seed: int, number: int) -> str:
    return mac_text(bytes((0x02, 0xFC, seed & 0xFF)) + number.to_bytes(3, "big"))
