"""A group of reports that become durable together.

Entries are put into the hot store only after that: a registry that knew of a report which no disk
holds would acknowledge its repeat, and the report would be lost. Until then later reports of the
same reporters are decided by the entries in here.
"""

from collections.abc import Iterable

from rookery.fleet.entry import Entry
from rookery.hub.arrival import Arrival
from rookery.hub.datagram_port import Address


class ReportGroup:
    """Open while it takes reports, then settled as one."""

    __slots__ = ("answers", "calls", "changed", "decided", "enrolled", "failed_writes", "position")

    def __init__(self, position: int, failed_writes: int) -> None:
        self.position = position  # of the spool, up to which all of this is
        self.failed_writes = failed_writes  # of the spool, before the first of it
        self.changed: dict[bytes, Entry] = {}  # by reporter
        self.decided: list[Arrival] = []
        self.answers: list[bytes] = []  # to each of those, once all of this is durable
        self.enrolled: dict[bytes, Entry] = {}
        self.calls: list[bytes] = []  # records of calls, for the audit

    def forget(self, reporters: Iterable[bytes]) -> list[Arrival]:
        """Undecide these reporters; what they had sent."""
        gone = set(reporters)
        for reporter in gone:
            self.changed.pop(reporter, None)
            self.enrolled.pop(reporter, None)
        arrivals = [arrival for arrival in self.decided if arrival[0] in gone]
        if arrivals:
            pairs = zip(self.decided, self.answers, strict=True)
            kept = [each for each in pairs if each[0][0] not in gone]
            self.decided = [arrival for arrival, _ in kept]
            self.answers = [answer for _, answer in kept]
        return arrivals

    def addresses(self) -> list[Address]:
        """Where the answers go."""
        return [arrival[1] for arrival in self.decided]
