"""Arrival: a datagram that has the form of a report or a hello, and where it came from.

What is telemetry by its form stays as it came: if all is well with it, nobody needs more of it than
the report lane looks at.
"""

from rookery.fleet.report_desk import ReportDesk
from rookery.fleet.report_lane import reporter_of
from rookery.fleet.report_outcome import Incoming
from rookery.hub.datagram_port import Address, Received, address_text

# The reporter, where from, the datagram, and what the desk has read in it, if it was asked already.
# Without names, as there is one for every report.
Arrival = tuple[bytes, Address, bytes, Incoming | None]


def read(desk: ReportDesk, received: Received, now: float) -> list[Arrival]:
    """Those that are one, in order."""
    arrivals: list[Arrival] = []
    datagrams, addresses = received
    for index, datagram in enumerate(datagrams):
        address = addresses[index]
        reporter = reporter_of(datagram)
        if reporter is not None:
            arrivals.append((reporter, address, datagram, None))
            continue
        incoming = desk.read(datagram, address_text(address), now)
        if incoming is not None:
            arrivals.append((incoming.reporter, address, datagram, incoming))
    return arrivals
