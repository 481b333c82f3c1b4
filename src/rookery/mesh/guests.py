"""Guests: strangers who may speak for a few seconds, to prove that they are members.

A member that was away knows nobody's certificate who joined meanwhile, so a stranger's link is
answered; but whoever has not shown a certificate in time is forgotten, and there are never more of
them than `GUESTS_MAX`.
"""

GUESTS_MAX = 64
STAY_S = 10.0


class Guests:
    """Hashnames, the one that has been here longest first."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._until)

    def __contains__(self, hashname: object) -> bool:
        return hashname in self._until

    def admit(self, hashname: str, now: float) -> bool:
        """False when there are too many already."""
        if hashname not in self._until:
            if len(self._until) >= GUESTS_MAX:
                return False
            self._until[hashname] = now + STAY_S
        return True

    def leave(self, hashname: str) -> None:
        self._until.pop(hashname, None)

    @property
    def deadline(self) -> float | None:
        return next(iter(self._until.values()), None)

    def take_overdue(self, now: float) -> list[str]:
        """Those whose time is over; they are guests no more."""
        overdue = [hashname for hashname, until in self._until.items() if until <= now]
        for hashname in overdue:
            del self._until[hashname]
        return overdue
