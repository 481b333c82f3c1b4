"""Code: what lets one router or server enrol, once."""

import msgspec

from rookery.fleet.entry import ReporterKind


class EnrolmentCode(msgspec.Struct, frozen=True, kw_only=True):
    """As the database keeps it; the code itself it does not know."""

    id: bytes  # the first 8 bytes of the key
    key: bytes
    kind: ReporterKind
    owner: int | None  # account whose device the router becomes; None: nobody's yet
    expires_at: float  # wall seconds
    used_by: str = ""  # hashname; who used a code may use it again, should the hub forget it

    def admits(self, kind: ReporterKind, hashname: str, now: float) -> bool:
        """Whether that reporter may enrol with it now."""
        return self.kind == kind and now < self.expires_at and self.used_by in ("", hashname)
