"""A group of reports that become durable together.

Entries are put into the hot store only after that: a registry that knew of a report which no disk
holds would acknowledge its repeat, and the report would be lost. Until then later reports of the
same reporters are decided by the entries in here.
"""

from collections.abc import Iterable

from rookery.fleet.entry import Entry
from rookery.fleet.report_outcome import Incoming
from rookery.hub.datagram_port import Address, Datagram

# Tuples without names, as there is one of each for every report.
Arrival = tuple[Incoming, Address]  # a datagram that was read, and where it came from
Decided = tuple[Arrival, bytes]  # and the answer to it once the group is durable


class ReportGroup:
    """Open while it takes reports, then settled as one."""

    __slots__ = ("calls", "changed", "decided", "enrolled", "failed_writes", "position")

    def __init__(self, position: int, failed_writes: int) -> None:
        self.position = position  # of the spool, up to which all of this is
        self.failed_writes = failed_writes  # of the spool, before the first of it
        self.changed: dict[bytes, Entry] = {}  # by reporter
        self.decided: list[Decided] = []
        self.enrolled: dict[bytes, Entry] = {}
        self.calls: list[bytes] = []  # records of calls, for the audit

    def forget(self, reporters: Iterable[bytes]) -> list[Arrival]:
        """Undecide these reporters; what they had sent."""
        gone = set(reporters)
        for reporter in gone:
            self.changed.pop(reporter, None)
            self.enrolled.pop(reporter, None)
        arrivals = [arrival for arrival, _ in self.decided if arrival[0].reporter in gone]
        if arrivals:
            self.decided = [each for each in self.decided if each[0][0].reporter not in gone]
        return arrivals

    def answers(self) -> list[Datagram]:
        return [(answer, address) for (_, address), answer in self.decided]
