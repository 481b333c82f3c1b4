"""Devices that operators' pages showed recently: only these are followed live.

A fleet of a hundred thousand sends five thousand reports a second; pages show a small part of them.
"""

from collections import OrderedDict
from collections.abc import Iterable

DEVICES_MAX = 1000


class ShownDevices:
    """The devices shown last, to any operator."""

    def __init__(self, devices_max: int = DEVICES_MAX) -> None:
        self._devices_max = devices_max
        self._macs: OrderedDict[bytes, None] = OrderedDict()

    def note(self, macs: Iterable[bytes]) -> None:
        """They are on a page now."""
        for mac in macs:
            self._macs[mac] = None
            self._macs.move_to_end(mac)
        while len(self._macs) > self._devices_max:
            self._macs.popitem(last=False)

    @property
    def macs(self) -> list[bytes]:
        return list(self._macs)
