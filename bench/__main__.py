"""`python -m bench [--quick] [--rows N] [--history FOLDER] [NAME …]`: measure all, or some.

Without names and in full, the table also goes to bench/results.md. `profile`, `fuzz` and `flood`
are no rows of the table and run only when named.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bench import (
    crow,
    crow_broker,
    failover,
    flood,
    forwarding,
    fuzz,
    handshakes,
    hub_fleet,
    hub_reports,
    idle_node,
    lake,
    lake_landing,
    memory,
    mesh,
    outbox,
    packets,
    profile,
    rendezvous,
    round_trip,
    routes,
    spool,
    stream,
    telehash_js,
    tunnel,
    web,
    world,
)
from bench.figure import FULL, QUICK, Effort, Figure
from bench.machine import ROOT, description
from bench.table import document, table

MEASUREMENTS: dict[str, tuple[str, Callable[[Effort], list[Figure]]]] = {
    "stream": (stream.TITLE, stream.measure),
    "packets": (packets.TITLE, packets.measure),
    "round_trip": (round_trip.TITLE, round_trip.measure),
    "handshakes": (handshakes.TITLE, handshakes.measure),
    "memory": (memory.TITLE, memory.measure),
    "telehash_js": (telehash_js.TITLE, telehash_js.measure),
    "crow": (crow.TITLE, crow.measure),
    "crow_broker": (crow_broker.TITLE, crow_broker.measure),
    "world": (world.TITLE, world.measure),
    "mesh": (mesh.TITLE, mesh.measure),
    "routes": (routes.TITLE, routes.measure),
    "forwarding": (forwarding.TITLE, forwarding.measure),
    "tunnel": (tunnel.TITLE, tunnel.measure),
    "failover": (failover.TITLE, failover.measure),
    "outbox": (outbox.TITLE, outbox.measure),
    "idle_node": (idle_node.TITLE, idle_node.measure),
    "spool": (spool.TITLE, spool.measure),
    "hub_reports": (hub_reports.TITLE, hub_reports.measure),
    "hub_fleet": (hub_fleet.TITLE, hub_fleet.measure),
    "rendezvous": (rendezvous.TITLE, rendezvous.measure),
    "web": (web.TITLE, web.measure),
    "lake_landing": (lake_landing.TITLE, lake_landing.measure),
    "lake": (lake.TITLE, lake.measure),
}
OTHERS: dict[str, Callable[[], None]] = {
    "profile": profile.write,
    "fuzz": fuzz.main,
    "flood": flood.main,
}
RESULTS = ROOT / "bench" / "results.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--quick", action="store_true", help="only see that it works")
    parser.add_argument("--rows", type=int, action="append", help="of the lake; may be repeated")
    parser.add_argument("--history", type=Path, help="keeps the lake's histories, for another time")
    options = parser.parse_args()
    names = options.names or list(MEASUREMENTS)
    known = [*MEASUREMENTS, *OTHERS]
    if unknown := sorted(set(names) - set(known)):
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names:
        if name in OTHERS:
            OTHERS[name]()
    names = [name for name in names if name in MEASUREMENTS]
    if not names:
        return
    machine = description()
    print(machine)
    effort = replace(QUICK if options.quick else FULL, history=options.history)
    if options.rows:
        effort = replace(effort, rows=tuple(options.rows))
    sections = _measure(names, effort)
    if not options.names and not options.quick:
        RESULTS.write_text(document(machine, sections))


def _measure(names: list[str], effort: Effort) -> dict[str, list[Figure]]:
    sections = {}
    for name in names:
        title, measure = MEASUREMENTS[name]
        sections[title] = measure(effort)
        print(f"\n{title}\n{table(sections[title])}", flush=True)
    return sections


if __name__ == "__main__":
    main()
