"""Enrolment code: lets one device or server enrol, once."""

import msgspec

from rookery.fleet.entry import FleetKind


class EnrolmentCode(msgspec.Struct, frozen=True, kw_only=True):
    """As the database keeps it, without the code itself."""

    id: bytes  # the first 8 bytes of the key
    key: bytes
    kind: FleetKind
    owner: int | None  # account that is to own the device; None: no owner yet
    expires_at: float  # wall seconds
    used_by: str = ""  # hashname; it may use the code again if the hub has forgotten it

    def admits(self, kind: FleetKind, hashname: str, now: float) -> bool:
        """Whether that sender may enrol with it now."""
        return self.kind == kind and now < self.expires_at and self.used_by in ("", hashname)
