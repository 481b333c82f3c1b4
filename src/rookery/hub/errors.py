"""Why a client cannot have its device right now.

UnreachableError
├── UnknownDeviceError   no device with this MAC ever reported
├── SilentDeviceError    it did once, but not lately
└── StoreUnavailableError       a store does not answer; try again soon
"""

from rookery.errors import UnreachableError


class UnknownDeviceError(UnreachableError):
    """No device with this MAC has ever proved itself here."""


class SilentDeviceError(UnreachableError):
    """The device is known, but has not reported for too long."""

    def __init__(self, message: str, last_seen: float) -> None:
        super().__init__(message)
        self.last_seen = last_seen  # wall seconds


class StoreUnavailableError(UnreachableError):
    """The database or the hot store does not answer at the moment."""
